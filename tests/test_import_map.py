"""The map of the house: a room imports only what stands before it, and only public names of other folders."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "evenhand"

# Which rooms a room may import. `impartial` stands alone: it can be taken with torch only.
MAY_IMPORT = {
    "impartial": set(),
    "common": set(),
    "tables": {"impartial", "common"},
}
MAY_IMPORT["modalities"] = MAY_IMPORT["tables"] | {"tables"}
MAY_IMPORT["datasets"] = MAY_IMPORT["modalities"] | {"modalities"}
MAY_IMPORT["lab"] = MAY_IMPORT["datasets"] | {"datasets"}
MAY_IMPORT["cli"] = MAY_IMPORT["lab"] | {"lab"}
MAY_IMPORT["__main__"] = {"cli"}

# Files of no room: every room may use them.
ROOT = ("__init__", "_lazy", "_version", "__version__")

# In these rooms data flow one way too.
TABLES = (
    "cells",
    "written",
    "schema",
    "frames",
    "trees",
    "kinds",
    "families",
    "objectives",
    "stack",
    "inference",
    "estimator",
    "longitudinal",
)
MODALITIES = ("rows", "likelihoods", "networks", "models", "objectives", "training", "inference", "estimator")

LAB = (
    "_config", "judges", "results", "figures", "page", "_findings", "_catalogue", "_folder", "_follow", "_splits",
    "_measured", "_new_rows", "_weights_of_columns", "_tabular", "_panels", "_multimodal", "_survival", "_run",
    "_execute", "_paper", "_paper_multimodal", "_paper_survival", "_paper_equal_rate", "_plans",
)  # fmt: skip


def modules_imported_by(file: Path) -> set[tuple[str, ...]]:
    """What a file imports of evenhand, at any depth of its code: the path of every name inside of the package."""
    found = set()
    package = ["evenhand", *file.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            names = [".".join([*base, *([node.module] if node.module else []), a.name]) for a in node.names]
        else:
            continue
        found |= {tuple(name.split(".")[1:]) for name in names if name.startswith("evenhand.")}
    return {path for path in found if path[0] not in ROOT}


def of_others(file: Path) -> list[tuple[str, ...]]:
    """Private things that a file imports from folders that it is not in."""
    own = file.relative_to(PACKAGE).parts[:-1]
    found = []
    for path in modules_imported_by(file):
        first = next((i for i, part in enumerate(path) if part.startswith("_")), None)
        if first is not None and path[:first] != own[:first]:
            found.append(path)
    return found


def files():
    for file in sorted(PACKAGE.rglob("*.py")):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room not in ROOT:
            yield pytest.param(room, file, id=str(file.relative_to(PACKAGE)))


@pytest.mark.parametrize(("room", "file"), list(files()))
def test_a_room_imports_only_what_stands_before_it(room, file):
    assert room in MAY_IMPORT, f"{room} is not on the map"
    assert {path[0] for path in modules_imported_by(file)} <= MAY_IMPORT[room] | {room}


@pytest.mark.parametrize(("room", "file"), list(files()))
def test_a_folder_imports_only_public_names_of_others(room, file):
    assert not of_others(file)


@pytest.mark.parametrize(("room", "order"), [("tables", TABLES), ("modalities", MODALITIES), ("lab", LAB)])
def test_data_flow_one_way_in_a_room(room, order):
    for file in sorted((PACKAGE / room).rglob("*.py")):
        stop = file.relative_to(PACKAGE / room).parts[0].removesuffix(".py")
        if stop == "__init__":
            continue
        assert stop in order, f"{room}/{stop} is not on the map"
        before = order[: order.index(stop) + 1]
        used = {path[1] for path in modules_imported_by(file) if path[0] == room and len(path) > 1}
        assert used <= set(before), f"{file.name}: {used - set(before)}"


def test_impartial_needs_torch_alone():
    allowed = {"torch", "evenhand"} | {"triton", "matplotlib"}  # the last two if installed: on a GPU, for a figure
    for file in (PACKAGE / "impartial").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                assert top in allowed or top in __import__("sys").stdlib_module_names, f"{file.name}: {name}"


def test_the_walk_sees_imports(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    (tmp_path / "tables" / "stack").mkdir(parents=True)
    file = tmp_path / "tables" / "stack" / "_stack.py"
    file.write_text(
        "from ...impartial._block import Block\nimport evenhand.common\nfrom . import _noise\n"
        "from ..kinds import Kind\n"
        "def f():\n    from .._shared import g\n    from ..kinds._real import Real\n"
    )
    assert {path[0] for path in modules_imported_by(file)} == {"impartial", "common", "tables"}
    assert sorted(of_others(file)) == [("impartial", "_block", "Block"), ("tables", "kinds", "_real", "Real")]
