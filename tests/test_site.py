"""Notebooks run, the site has all pages, and what checks it can complain."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_small(path, tmp_path):
    from notebooks import as_jupyter, executed

    torch.set_default_dtype(torch.float32)
    text, n = re.subn(r"^EPOCHS = \d+$", "EPOCHS = 1", path.read_text(), flags=re.MULTILINE)
    small = tmp_path / path.name
    small.write_text(text)
    page = executed(small)
    assert n == 1
    assert page.startswith("# ")
    assert '<div class="frame">' in page
    assert ".output }" in page
    assert all(cell["source"] for cell in json.loads(as_jupyter(text))["cells"])


def test_a_notebook_shows_what_is_printed_returned_and_drawn(tmp_path):
    from notebooks import executed

    pytest.importorskip("matplotlib")
    path = tmp_path / "small.py"
    path.write_text(
        "# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nx = 2\nprint('seen')\nx + 1\n\n"
        "# %%\nfrom matplotlib import pyplot\npyplot.plot([1, 2])\n"
    )
    page = executed(path)
    assert page.startswith("# Title\n\n[As a Jupyter notebook](small.ipynb)")
    assert "``` { .text .output }\nseen\n```\n\n``` { .text .output }\n3\n```" in page
    assert page.count("data:image/png;base64,") == 1
    assert "Line2D" not in page


def test_a_notebook_that_fails_fails_the_build(tmp_path):
    from notebooks import executed

    path = tmp_path / "broken.py"
    path.write_text("# %% [markdown]\n# # Title\n\n# %%\n1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        executed(path)


def test_all_pages_are_in_the_navigation():
    from pages import ROOMS, navigation, notebooks, pages, reference

    text = (ROOT / "mkdocs.yml").read_text()
    entries = navigation(re.findall(r"^ +- (?:.+: )?(\S+\.md)$", text, re.MULTILINE))
    made = [
        *(path.relative_to(ROOT).with_suffix(".md").as_posix() for path in notebooks()),
        *(p for p, _ in reference()),
    ]
    assert sorted(entries) == sorted([*pages(), *made])
    assert "docs/methods/imtlg.md" in entries
    for room in ROOMS:
        assert importlib.import_module(room).__all__


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('<script src="https://cdn.example/x.js"></script>', "fetches https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "fetches //cdn.example/x.css"),
        ('<iframe src="gone.html"></iframe>', "lacks gone.html"),
        ('<a href="gone.html#there">x</a>', "lacks gone.html#there"),
    ],
)
def test_the_check_complains(text, complaint, tmp_path):
    from check import scanned

    (tmp_path / "here.html").write_text('<a href="https://example.org">elsewhere</a><a href="here.html#x">here</a>')
    assert list(scanned(tmp_path)) == []
    (tmp_path / "bad.html").write_text(text)
    assert [found.partition(": ")[2] for found in scanned(tmp_path)] == [complaint]


def test_the_check_reads_styles(tmp_path):
    from check import scanned

    (tmp_path / "x.css").write_text(
        "@font-face{src:url(https://fonts.example/a.woff2)} a{b:url(data:image/png;base64,x)}"
    )
    assert [found.partition(": ")[2] for found in scanned(tmp_path)] == ["fetches https://fonts.example/a.woff2"]


def test_formulas_of_pages_and_docstrings():
    markdown = pytest.importorskip("markdown")
    sys.modules.pop("markup", None)
    from markup import Markup

    text = (
        "A $`x_1 < y_1`$ b.\n\n```math\na_b\n```\n\n.. math:: c^2\n      + d\n\nAnd :math:`e*f*g`.\n\n>>> 1 + 1\n2\n"
    )
    html = markdown.markdown(text, extensions=["fenced_code", Markup()])
    assert '<span class="formula">x_1 &lt; y_1</span>' in html
    assert '<div class="formula">a_b</div>' in html
    assert '<div class="formula">c^2 + d</div>' in html
    assert '<span class="formula">e*f*g</span>' in html
    assert '<code class="language-pycon">&gt;&gt;&gt; 1 + 1\n2' in html
