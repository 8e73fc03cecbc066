import numpy as np
import pytest

from evenhand.tables.schema import Column, Kind


def test_kinds_are_numeric_or_nominal():
    assert [kind for kind in Kind if kind.numeric] == ["real", "positive", "count"]
    assert [kind for kind in Kind if kind.nominal] == ["binary", "categorical", "ordinal"]
    with pytest.raises(ValueError, match="kind should be one of real, positive, .*Found 'number'"):
        Kind("number")


def test_sizes():
    assert Column("a", Kind.COUNT).size == 1
    assert Column("a", "binary", (0, 1)).size == 2
    assert Column("a", "ordinal", ["low", "middle", "high"]).size == 3


def test_columns_are_plain_and_comparable():
    column = Column("a", "categorical", np.array([1, 2, 3]), reason="a guess")
    assert column.kind is Kind.CATEGORICAL
    assert column.categories == (1, 2, 3)
    assert [type(c) for c in column.categories] == [int] * 3
    assert column == Column("a", Kind.CATEGORICAL, (1, 2, 3))  # whatever the reason
    assert hash(column) == hash(Column("a", Kind.CATEGORICAL, (1, 2, 3)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"kind": "real", "categories": (1, 2)},
            "categories of column 'a' should be empty, .* kind is real. Found 2",
        ),
        ({"kind": "binary", "categories": (1, 2, 3)}, "should be two, because its kind is binary. Found 3"),
        ({"kind": "binary"}, "should be two, because its kind is binary. Found 0"),
        ({"kind": "ordinal", "categories": ("a",)}, "should be at least two, .* Found 1"),
        ({"kind": "categorical", "categories": ("a", "b", "a")}, "should be distinct. Found 'a' twice"),
        ({"kind": "categorical", "categories": (0, False, 2)}, "should be distinct. Found False twice"),
        (
            {"kind": "categorical", "categories": ("a", None, "b")},
            r"text, numbers or booleans. Found None \(NoneType\)",
        ),
        ({"kind": "categorical", "categories": (1.0, float("nan"))}, "Found nan"),
        ({"kind": "real", "zero_offset": 0.1}, "zero_offset of column 'a' should be None, .* Found 0.1"),
        ({"kind": "positive", "zero_offset": 0}, "should be a number above 0, 'published' or None. Found 0"),
        ({"kind": "positive", "zero_offset": "paper"}, "Found 'paper'"),
        ({"kind": "positive", "zero_offset": True}, "Found True"),
        ({"kind": "real", "unit": "hours"}, "unit of column 'a' should be '' or, for numbers, 'days'. Found 'hours'"),
        ({"kind": "binary", "categories": (0, 1), "unit": "days"}, "Found 'days' for a column of kind binary"),
        ({"kind": "number"}, "kind should be one of"),
        ({"name": 3, "kind": "real"}, "name should be a string. Found 3"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Column(**{"name": "a", **arguments})
