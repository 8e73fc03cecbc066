"""Every code block of the documentation runs, and every example runs small."""

import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run_in_order(page, capsys):
    torch.set_default_dtype(torch.float32)
    namespace = {"__name__": "__page__"}
    for code in FENCE.findall(page.read_text()):
        exec(compile(code, str(page), "exec"), namespace)
        assert_printed(expected_lines(code), capsys.readouterr().out.splitlines())


def expected_lines(code: str) -> list[str]:
    """The comments right below a print: what the page says it prints."""
    lines, below = [], False
    for line in code.splitlines():
        comment = line.startswith("# ")
        below = line.strip().startswith("print(") or (below and comment)
        if below and comment:
            lines.append(line[2:])
    return lines


def assert_printed(expected: list[str], printed: list[str]) -> None:
    """The words are the same and the numbers nearly so; a line may be cut with an ellipsis."""
    if not expected:
        return
    assert len(expected) == len(printed), printed
    for said, seen in zip(expected, printed, strict=True):
        words = said.partition("…")[0].split()
        seen_words = seen.split()[: len(words)] if "…" in said else seen.split()
        assert [NUMBER.sub("#", w) for w in words] == [NUMBER.sub("#", w) for w in seen_words], (said, seen)
        numbers = [[float(n) for n in NUMBER.findall(" ".join(w))] for w in (words, seen_words)]
        assert numbers[0] == pytest.approx(numbers[1], rel=2e-3, abs=2e-4), (said, seen)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
        assert (page.parent / target).exists(), target


def test_every_method_has_a_page():
    from evenhand import impartial

    named = "".join(p.read_text() for p in (ROOT / "docs" / "methods").glob("*.md"))
    for name in impartial.__all__:
        assert name in named + (ROOT / "docs" / "block.md").read_text() + (ROOT / "README.md").read_text(), name


def test_the_guide_of_experiments_has_all_settings_with_their_defaults():
    from evenhand.lab import MultimodalExperiment, SurvivalExperiment, from_dict, to_dict
    from evenhand.tables.schema._toml import toml_value

    text = (ROOT / "docs" / "experiments.md").read_text()
    tables = re.split(
        r"\*\*A panel\*\*|\*\*Several modalities\*\*|\*\*Which experts live\*\*",
        text[text.index("**A table**") : text.index("## The directory of a run")],
    )
    table = to_dict(from_dict({"experiment": "table", "data": {"name": "hi"}}))
    table["data"]["name"] = ""  # either this or a path has to be given
    panel = to_dict(from_dict({"experiment": "panel", "data": {"name": "hi", "id": "a", "time": "b"}}))
    for names, defaults in re.findall(r"^\| (`\w+\.\w+`.*?) \| (`.*?`) \|", tables.pop(1), re.MULTILINE):
        settings = [name.split(".") for name in names.strip("`").split("`, `")]
        assert defaults == ", ".join(f"`{toml_value(panel[section][name])}`" for section, name in settings)
    documents = (table, to_dict(MultimodalExperiment()), to_dict(SurvivalExperiment()))
    for rows, document in zip(tables, documents, strict=True):
        said = dict(re.findall(r"^\| `(\w+\.\w+)` \| (.*?) \|", rows, re.MULTILINE))
        expected = {
            f"{s}.{k}": f"`{toml_value(x)}`" for s, o in document.items() if s != "experiment" for k, x in o.items()
        }
        if "runs.methods" in expected:
            expected["runs.methods"] = f"the paper's {len(document['runs']['methods'])}"
        assert said == expected


EXAMPLES = {
    "heterogeneous_vae.py": ["--epochs", "1", "--figure", "FIGURE"],
    "impute.py": ["--epochs", "1", "--rows", "500"],
    "longitudinal.py": ["--epochs", "1", "--men", "60"],
    "multimodal.py": ["--epochs", "1", "--rows", "200"],
    "multitask.py": ["--epochs", "2"],
    "not_at_random.py": ["--epochs", "1", "--rows", "400"],
    "diagnose.py": [],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, capsys, monkeypatch, tmp_path):
    torch.set_default_dtype(torch.float32)
    figure = tmp_path / "shares.png"
    arguments = [str(figure) if a == "FIGURE" else a for a in EXAMPLES[name]]
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    printed = capsys.readouterr().out
    expected = {
        "heterogeneous_vae.py": "Who was neglected by plain training?",
        "impute.py": "Error on the removed cells",
        "longitudinal.py": "The next interview of three men",
        "multimodal.py": "image from table",
        "multitask.py": "error in units of the task's deviation",
        "not_at_random.py": "because of other columns not_at_random",
        "diagnose.py": "A mixture of three experts:",
    }
    assert expected[name] in printed
    assert figure.exists() == ("FIGURE" in EXAMPLES[name])


def test_every_example_is_tested():
    assert {p.name for p in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)
