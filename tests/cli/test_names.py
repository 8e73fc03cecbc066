"""Names that shells complete, and that mistakes are near to."""

import os
import subprocess
import sys

import pytest

from evenhand.cli import _names
from evenhand.tables.schema import Kind


def test_kinds_are_those_of_schemas():
    assert tuple(Kind) == _names.KINDS


def test_the_nearest_name_is_advised():
    assert _names.closest("Wien", ("hi", "wine")) == "Did you mean 'wine'?"
    assert _names.closest("xyz", ("hi", "wine")) == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("evenhand compare wi", "wine"),
        ("evenhand reproduce table1", "table15"),
        ("evenhand results over", "overhead"),
        ("evenhand compare wine --methods imtlg,gradn", "imtlg,gradnorm"),
        ("evenhand compare wine --methods 'imtlg>>pc", "imtlg>>pcgrad"),
        ("evenhand reproduce table1 --datasets hi,wi", "hi,wine"),
        ("evenhand datasets fetch mni", "mnist"),
    ],
)
def test_shells_complete_names(words, expected):
    count = len(words.split())
    environment = os.environ | {
        "_EVENHAND_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(count - 1),
    }
    code = "from evenhand.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert expected in done.stdout.split()


def test_completion_of_lists_keeps_what_is_there():
    assert _names.complete_methods("imtlg>>pc") == ["imtlg>>pcgrad"]
    assert _names.complete_datasets("hi,mag") == ["hi,magic"]
    assert _names.complete_models("mv") == ["mvae"]
