"""The version is written once, and everything that repeats it agrees."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

import evenhand

ROOT = Path(__file__).parents[1]


def test_it_is_a_release():
    assert re.fullmatch(r"\d+\.\d+\.\d+", evenhand.__version__)
    assert "__version__" in evenhand.__all__


def test_it_is_read_without_torch():
    code = "import sys, evenhand; print(evenhand.__version__, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [evenhand.__version__, "False"]


def test_the_changelog_begins_with_it():
    number, date = re.search(r"^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).groups()
    assert number == evenhand.__version__
    assert date == citation()["date-released"]


def test_it_can_be_cited():
    about = citation()
    assert about["version"] == evenhand.__version__
    assert about["authors"] == [{"name": "The Evenhand developers"}]
    paper = about["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Javaloy", "Meghdadi", "Valera"]
    assert (paper["year"], paper["volume"], paper["start"], paper["end"]) == (2022, 162, 9938, 9964)


def citation():
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())
