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
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run_in_order(page, capsys):
    torch.set_default_dtype(torch.float32)
    namespace = {"__name__": "__page__"}
    for code in FENCE.findall(page.read_text()):
        exec(compile(code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
        assert (page.parent / target).exists(), target


def test_every_method_has_a_page():
    from evenhand import impartial

    named = "".join(p.read_text() for p in (ROOT / "docs" / "methods").glob("*.md"))
    for name in impartial.__all__:
        assert name in named + (ROOT / "docs" / "block.md").read_text() + (ROOT / "README.md").read_text(), name


EXAMPLES = {
    "heterogeneous_vae.py": ["--epochs", "1", "--figure", "FIGURE"],
    "multitask.py": [],
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
        "multitask.py": "error in units of the task's deviation",
        "diagnose.py": "A mixture of three experts:",
    }
    assert expected[name] in printed
    assert figure.exists() == ("FIGURE" in EXAMPLES[name])


def test_every_example_is_tested():
    assert {p.name for p in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)
