"""The catalogue names every method, and needs no torch for it."""
# ruff: noqa: RUF001  # the paper's letter is α

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand.impartial
from evenhand.impartial import (
    CATALOGUE,
    IMTLG,
    MGDA,
    PAPER_METHODS,
    THOROUGH_METHODS,
    CAGrad,
    Compose,
    GradNorm,
    Method,
    PCGrad,
    Scaling,
    method_label,
    method_of,
    short_method_label,
)

# In the order of the paper's table 7, then what `method="thorough"` tries besides.
CHOICES = [
    ("sum", "vanilla", "vanilla", "Sum()"),
    ("graddrop", "GradDrop", "GD", "GradDrop(leak=0.0)"),
    ("pcgrad", "PCGrad", "PG", "PCGrad()"),
    ("gradnorm", "GradNorm 0", "GN (α=0)", "GradNorm(alpha=0.0)"),
    ("gradnorm>>graddrop", "GradNorm 0 >> GradDrop", "GN-GD (α=0)", "GradNorm(alpha=0.0) >> GradDrop(leak=0.0)"),
    ("gradnorm>>pcgrad", "GradNorm 0 >> PCGrad", "GN-PG (α=0)", "GradNorm(alpha=0.0) >> PCGrad()"),
    ("gradnorm-1", "GradNorm 1", "GN (α=1)", "GradNorm(alpha=1.0)"),
    ("gradnorm-1>>graddrop", "GradNorm 1 >> GradDrop", "GN-GD (α=1)", "GradNorm(alpha=1.0) >> GradDrop(leak=0.0)"),
    ("gradnorm-1>>pcgrad", "GradNorm 1 >> PCGrad", "GN-PG (α=1)", "GradNorm(alpha=1.0) >> PCGrad()"),
    ("mgda", "MGDA", "MGDA", "MGDA()"),
    ("mgda>>graddrop", "MGDA >> GradDrop", "MGDA-GD", "MGDA() >> GradDrop(leak=0.0)"),
    ("mgda>>pcgrad", "MGDA >> PCGrad", "MGDA-PG", "MGDA() >> PCGrad()"),
    ("imtlg", "IMTL-G", "IMTL-G", "IMTLG()"),
    ("imtlg>>graddrop", "IMTL-G >> GradDrop", "IMTL-G-GD", "IMTLG() >> GradDrop(leak=0.0)"),
    ("imtlg>>pcgrad", "IMTL-G >> PCGrad", "IMTL-G-PG", "IMTLG() >> PCGrad()"),
    ("cagrad", "CAGrad", "CG", "CAGrad(c=0.4)"),
    ("nash", "Nash-MTL", "Nash-MTL", "NashMTL()"),
    ("aligned", "Aligned-MTL", "Aligned-MTL", "AlignedMTL()"),
    ("upgrad", "UPGrad", "UPGrad", "UPGrad()"),
]
NOT_METHODS_BY_NAME = {"Compose", "FromTorchJD", "Method", "Mixing", "PerReplica", "Scaling"}


def test_choices_of_the_paper_and_of_auto():
    assert tuple(name for name, *_ in CHOICES[:15]) == PAPER_METHODS
    assert tuple(name for name, *_ in CHOICES) == THOROUGH_METHODS


@pytest.mark.parametrize(("name", "label", "short", "method"), CHOICES)
def test_every_choice_has_its_labels_and_its_method(name, label, short, method):
    assert method_label(name) == label
    assert short_method_label(name) == short
    assert repr(method_of(name)) == method


def test_labels_of_what_is_not_in_the_catalogue():
    assert method_label("CAGrad(c=0.1) >> pcgrad") == "CAGrad(c=0.1) >> PCGrad"
    assert short_method_label("my-own") == "my-own"
    assert short_method_label("cagrad", 0.1) == "CG (α=0.1)"
    assert short_method_label("gradnorm-1", 0.5) == "GN (α=0.5)"


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_entry_makes_a_method(name):
    entry = CATALOGUE[name]
    first, second = entry.make(), entry.make()
    assert entry.name == name
    assert type(first) is getattr(evenhand.impartial, entry.class_name)
    assert isinstance(first, Method)
    assert first is not second
    assert repr(first) == repr(method_of(name))


def test_entries_are_distinct():
    for field in ("name", "label"):
        assert len({getattr(entry, field) for entry in CATALOGUE.values()}) == len(CATALOGUE)
    made = {repr(entry.make()) for entry in CATALOGUE.values()}
    assert len(made) == len(CATALOGUE)


def test_every_method_of_the_library_is_in_the_catalogue():
    public = {name: getattr(evenhand.impartial, name) for name in evenhand.impartial.__all__}
    methods = {name for name, value in public.items() if isinstance(value, type) and issubclass(value, Method)}
    assert methods - NOT_METHODS_BY_NAME == {entry.class_name for entry in CATALOGUE.values()}


def test_scale_aware_entries_scale():
    for entry in CATALOGUE.values():
        if entry.kind == "scale":
            assert isinstance(entry.make(), Scaling), entry.name


def test_arguments_can_be_replaced():
    assert CATALOGUE["gradnorm-1"].make(0.5).alpha == 0.5
    assert CATALOGUE["gradnorm-1"].make().alpha == 1.0


def test_methods_from_names_and_from_methods():
    method = IMTLG()
    assert method_of(method) is method
    chain = method_of(" gradnorm >> imtlg>>pcgrad")
    assert isinstance(chain, Compose)
    assert [type(step).__name__ for step in chain.steps] == ["GradNorm", "IMTLG", "PCGrad"]
    assert isinstance(method_of("gradnorm"), GradNorm)


@pytest.mark.parametrize("name", ["", "imtlq", "imtlg>>", ">>", "imtlg>>x", "auto", 3, None, IMTLG])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="method should be .* one of sum, gradnorm, .* or a chain such as"):
        method_of(name)


# Lazy names


@pytest.mark.parametrize(
    "use",
    [
        "from evenhand.impartial import THOROUGH_METHODS, CATALOGUE, PAPER_METHODS, Entry",
        "from evenhand.impartial import method_label; assert method_label('imtlg') == 'IMTL-G'",
        "import evenhand.impartial; assert 'IMTLG' in dir(evenhand.impartial)",
        "from evenhand.cli._names import complete_methods; assert 'imtlg>>pcgrad' in complete_methods('imtlg>>p')",
    ],
)
def test_names_need_no_torch(use):
    code = f"import sys; {use}; print(sorted({{'torch', 'numpy'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there():
    assert len(set(evenhand.impartial.__all__)) == len(evenhand.impartial.__all__)
    for name in evenhand.impartial.__all__:
        assert getattr(evenhand.impartial, name) is not None
    with pytest.raises(AttributeError, match="module 'evenhand.impartial' has no attribute 'IMTLQ'"):
        _ = evenhand.impartial.IMTLQ


def test_type_checkers_see_the_same_names():
    """What is imported for them is what `__getattr__` finds, in the same modules."""
    tree = ast.parse(Path(evenhand.impartial.__file__).read_text())
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level]
    modules = {alias.asname: node.module for node in imports for alias in node.names}
    assert modules == {**evenhand.impartial._MODULES, "CATALOGUE": "_catalogue"}


@pytest.mark.parametrize("method", [GradNorm(0.5), CAGrad(0.3), IMTLG() >> PCGrad(), MGDA()], ids=repr)
def test_a_method_is_made_of_what_it_prints(method):
    assert repr(method_of(repr(method))) == repr(method)


@pytest.mark.parametrize(
    "text", ["GradNorm(alpha=open)", "GradNorm(beta=1)", "Nothing()", "GradNorm(", "GradNorm.x()", "__import__('os')"]
)
def test_no_other_text_is_a_method(text):
    with pytest.raises(ValueError, match="method should be"):
        method_of(text)
