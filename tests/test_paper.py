"""The folder paper: its pages and figures follow from its reports."""

import json
import re
import sys
from pathlib import Path

import pytest

from evenhand.lab import from_dict, read_config, read_reports

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "paper"
LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGES = sorted(PAPER.rglob("*.md"))
CONFIGS = sorted(PAPER.rglob("*.toml"))


@pytest.fixture(scope="module")
def update():
    """The script, as a module."""
    sys.path.insert(0, str(PAPER))
    try:
        import update as module

        yield module
    finally:
        sys.path.remove(str(PAPER))


def test_pages_and_figures_are_up_to_date(update, monkeypatch):
    monkeypatch.chdir(ROOT)
    old = [str(path) for path, text in update.everything().items() if update.outdated(path, text)]
    assert not old, "python paper/update.py"


def test_check_changes_nothing_and_fails(update, monkeypatch, capsys):
    path = PAPER / "table6" / "README.md"
    before = path.read_text()
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(update, "everything", lambda: {path: before + "more"})
    monkeypatch.setattr(sys, "argv", ["update.py", "--check"])
    with pytest.raises(SystemExit, match="python paper/update.py"):
        update.main()
    assert capsys.readouterr().out == "out of date: paper/table6/README.md\n"
    assert path.read_text() == before
    monkeypatch.setattr(update, "everything", lambda: {path: before})
    update.main()


def test_a_part_is_what_its_command_prints(update):
    page = "above\n<!-- begin: python paper/summaries.py costs -->\nold\n<!-- end -->\nbelow\n"
    made = update.filled(page)
    assert made.startswith("above\n<!-- begin: python paper/summaries.py costs -->\n\n**Seconds of training")
    assert made.endswith("\n\n<!-- end -->\nbelow\n")
    assert "old" not in made
    assert update.filled(made) == made


def test_seconds_that_jobs_share_count_once(update):
    import summaries

    def job(end, training, evaluation=0.0):
        seconds = {"training": training, "evaluation": evaluation}
        return {"finished": f"2026-01-01T00:00:{end}+00:00", "seconds": seconds}

    jobs = [job(50, 5.0), job(20, 8.0, 2.0), job(25, 10.0), job(18, 1.0), job(30, 5.0)]
    assert summaries.wall(jobs) == 20 + 5  # from 10 to 30 without a pause, and from 45 to 50


def test_a_part_with_a_wrong_command_is_an_error(update):
    with pytest.raises(ValueError, match="command that works. Found 'evenhand results table99'"):
        update.filled("<!-- begin: evenhand results table99 -->\n<!-- end -->")


def report_in_five(coherence, goals=(), seed=0):
    """A report on three modalities whose coherence is a function of what is given and of the target."""
    names = ["a", "b", "c"]
    subsets = [names[:1], names[1:2], names[2:], names[:2], names[1:], names[::2], names]
    records = [{"given": s, "target": d, "value": coherence(s, d)} for s in subsets for d in names]
    return {
        "config": {"model": {"experts": "mopoe"}, "impartial": {"goals": list(goals), "preserve_norm": bool(goals)},
                   "training": {"seed": seed}},
        "scores": {
            "names": names, "subsets": subsets, "rates": [1, 2, 3, 10, 10, 10, 20], "coherence": records,
            "joint_coherence": 0.5, "classifiers": dict.fromkeys(names, 0.9),
        },
        "bounds": {"test": -1.0}, "experts": {"share": [[0.5, 0.5]], "rate": [[1.0, 1.0]]},
    }  # fmt: skip


def test_digits_in_five_are_averaged_by_how_many_are_given(update, monkeypatch):
    monkeypatch.setattr(update.in_five, "GIVEN", (1, 2))
    plain = [report_in_five(lambda s, d: 0.1 * len(s) + 0.3 * (d in s), seed=seed) for seed in range(2)]
    better = [report_in_five(lambda s, d: 0.2 * len(s) + 0.3 * (d in s), ("LI",), seed) for seed in range(2)]
    first, second = update.in_five.by_given([*better, *plain]).rows
    assert [str(cell) for cell in first] == [
        "MoPoE", "none", "", "40.0", "10.0", "20.0", "60.0", "50.0", "2.0", "20.0", "-1.0", "2 of 2", "2",
    ]  # fmt: skip
    assert [str(cell) for cell in second[1:8]] == ["LI", "restored", "50.0", "20.0", "40.0", "90.0", "50.0"]
    assert [cell.bold for cell in second[3:8]] == [True, True, True, True, False]


def test_what_is_out_of_date(update, tmp_path):
    path = tmp_path / "figure.svg"
    assert update.outdated(path, "")
    path.write_text("<svg>3.1</svg>")
    assert not update.outdated(path, "<svg>3.1</svg>")
    assert update.outdated(path, "<svg>3.2</svg>")


@pytest.mark.parametrize("folder", sorted(PAPER.rglob("reports")), ids=lambda f: str(f.relative_to(PAPER)))
def test_reports_load(folder):
    files = sorted(folder.glob("*.json"))
    for path, report in zip(files, read_reports(folder), strict=True):
        assert path.stem == report["name"] == from_dict(report["config"]).name
        assert json.loads(path.read_text())["command"]


def test_configs_are_read_and_bear_their_names():
    assert len(list((PAPER / "table1" / "configs").iterdir())) == 48
    for path in CONFIGS:
        config = read_config(path)
        names = ("digits.toml", "default.toml", "fashion.toml", "digits_in_five.toml")
        assert path.name in names or path.stem == config.name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(PAPER)))
def test_links_resolve(page):
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    for target in targets:
        name, _, anchor = target.partition("#")
        place = page.parent / name if name else page
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), target


def anchors(page):
    """What headings of a page are called in links."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def test_every_table_and_figure_has_a_page_in_the_map():
    text = (PAPER / "README.md").read_text()
    for folder in (
        path.parent.relative_to(PAPER) for path in PAGES if path.name == "README.md" and path.parent != PAPER
    ):
        assert f"]({folder})" in text
