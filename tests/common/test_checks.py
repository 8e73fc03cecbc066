"""Arguments are refused by name, with what was expected and what was found."""

import pickle

import numpy as np
import pytest

from evenhand.common import ArgumentError, check_choice, check_integer, check_number


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_integers_pass(value):
    check_integer("n", value)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None, np.float64(2)])
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(ArgumentError, match=r"^n should be an integer >= 1\. Found "):
        check_integer("n", value)


def test_none_passes_where_it_is_optional():
    check_integer("n", None, optional=True)
    with pytest.raises(ValueError, match="n should be an integer >= 2 or None. Found 1."):
        check_integer("n", 1, 2, optional=True)


@pytest.mark.parametrize(
    ("value", "options", "fine"),
    [
        (0, {}, True),
        (-0.1, {}, False),
        (float("nan"), {}, False),
        (float("inf"), {}, False),
        (True, {}, False),
        (0, {"above": True}, False),
        (1, {"high": 1}, True),
        (1, {"high": 1, "below": True}, False),
        (np.float32(0.5), {"high": 1}, True),
        ("0.5", {}, False),
    ],
)
def test_numbers_of_a_range(value, options, fine):
    if fine:
        check_number("lr", value, **options)
    else:
        with pytest.raises(ArgumentError, match=r"^lr should be a number >"):
            check_number("lr", value, **options)


def test_choices():
    check_choice("latent", "prior", ("prior", "mixture"))
    with pytest.raises(ArgumentError, match=r"latent should be one of 'prior', 'mixture'\. Found 'post'\."):
        check_choice("latent", "post", ("prior", "mixture"))


def test_an_error_speaks_of_other_arguments_and_survives_processes():
    error = ArgumentError("path", "end in .csv", "'x.doc'", "Rename it.")
    assert str(error.about("--out")) == "--out should end in .csv. Found 'x.doc'. Rename it."
    assert str(error.advised("")) == "path should end in .csv. Found 'x.doc'."
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.argument, copy.advice) == (str(error), "path", "Rename it.")
