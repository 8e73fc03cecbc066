"""Data flows one way: a stop imports only what stands before it."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "evenhand"

# Which stops a stop may import. `impartial` stands alone: it can be taken with torch only.
MAY_IMPORT = {
    "impartial": set(),
    "schema": set(),
    "nn": set(),
    "data": {"schema"},
    "likelihoods": {"schema", "data", "nn"},
    "models": {"schema", "data", "nn", "likelihoods"},
    "objectives": {"schema", "data", "nn", "likelihoods", "models"},
    "training": {"schema", "data", "nn", "likelihoods", "models", "objectives", "impartial"},
}
MAY_IMPORT["evaluation"] = MAY_IMPORT["training"] | {"training"}
MAY_IMPORT["estimators"] = MAY_IMPORT["evaluation"] | {"evaluation"}
MAY_IMPORT["experiments"] = MAY_IMPORT["estimators"] | {"estimators"}
MAY_IMPORT["cli"] = MAY_IMPORT["experiments"] | {"experiments"}
MAY_IMPORT["__main__"] = {"cli"}


def stops_imported_by(file: Path) -> set[str]:
    """The first-level parts of evenhand that a file imports, at any depth of its code."""
    stops = set()
    package = ["evenhand", *file.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            names = [".".join([*base, *([node.module] if node.module else []), a.name]) for a in node.names]
        else:
            continue
        stops |= {name.split(".")[1] for name in names if name.startswith("evenhand.")}
    return stops


def imports():
    for file in sorted(PACKAGE.rglob("*.py")):
        stop = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if stop != "__init__":
            yield pytest.param(stop, file, id=str(file.relative_to(PACKAGE)))


@pytest.mark.parametrize(("stop", "file"), list(imports()))
def test_a_stop_imports_only_what_stands_before_it(stop, file):
    assert stop in MAY_IMPORT, f"{stop} is not on the map"
    assert stops_imported_by(file) <= MAY_IMPORT[stop] | {stop}


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
    (tmp_path / "models").mkdir()
    file = tmp_path / "models" / "_vae.py"
    file.write_text("from ..impartial._block import Block\nimport evenhand.nn\nfrom . import _other\n")
    assert stops_imported_by(file) == {"impartial", "nn", "models"}
