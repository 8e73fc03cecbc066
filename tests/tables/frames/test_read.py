import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.tables.frames import read
from evenhand.tables.schema import Column, Schema

from ..schema._frames import FRAMES, LIBRARIES

SCHEMA = Schema(
    (
        Column("x0", "count"),
        Column("x1", "categorical", ("c", "a", "b")),
        Column("x2", "binary", (False, True)),
        Column("x3", "real", unit="days"),
        Column("x4", "binary", (1, 2)),
    )
)
COLUMNS = {
    "x0": [3, None, 0, 7],
    "x1": ["a", "c", None, "b"],
    "x2": [True, None, False, True],
    "x3": [dt.datetime(1970, 1, 2), dt.datetime(1969, 12, 31, 12), None, dt.datetime(2020, 1, 1)],
    "x4": [2, None, 1, 1],
}
VALUES = [[3, 1, 1, 1, 1], [0, 0, 0, -0.5, 0], [0, 0, 0, 0, 0], [7, 2, 1, 18262, 0]]
OBSERVED = [[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_cells_become_numbers_and_codes(library):
    table = read(LIBRARIES[library](COLUMNS), SCHEMA)
    assert table.values.tolist() == VALUES
    assert table.observed.tolist() == OBSERVED


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_are_found_by_name(make):
    frame = make(dict(reversed(COLUMNS.items())))
    assert read(frame, SCHEMA).values.tolist() == VALUES


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_missing_and_extra_columns(make):
    with pytest.raises(ValueError, match="should have the columns of the schema. Found none called 'x3', 'x4'"):
        read(make({name: COLUMNS[name] for name in ("x0", "x1", "x2")}), SCHEMA)
    frame = make({**COLUMNS, "extra": [1, 2, 3, 4], "more": ["a", "b", "c", "d"]})
    with pytest.raises(
        ValueError, match=r"no columns that the schema does not know. Found 'extra', 'more'. Drop them"
    ):
        read(frame, SCHEMA)
    ignoring = Schema(SCHEMA.columns, {"extra": "Constant.", "more": "Free text.", "absent": "Empty."})
    assert read(frame, ignoring).values.tolist() == VALUES
    with pytest.raises(ValueError, match="Found 'x5'"):
        read(np.zeros((2, 6)), SCHEMA)


@pytest.mark.parametrize("library", LIBRARIES)
def test_unseen_categories(library):
    frame = LIBRARIES[library]({**COLUMNS, "x1": ["a", "z", None, "y"]})
    with pytest.raises(
        ValueError, match="column 'x1' should hold the categories of the schema only. Found 'y', 'z'; add"
    ):
        read(frame, SCHEMA)
    with pytest.warns(UserWarning, match="column 'x1' has categories that the schema lacks, .*: 'y', 'z'") as caught:
        table = read(frame, SCHEMA, unseen="missing")
    assert len(caught) == 1
    assert table.observed[:, 1].tolist() == [True, False, False, False]
    assert table.values[:, 1].tolist() == [1, 0, 0, 0]
    with pytest.raises(ValueError, match="unseen should be 'error' or 'missing'. Found 'ignore'"):
        read(frame, SCHEMA, unseen="ignore")


def test_long_lists_are_cut():
    frame = pd.DataFrame({"x": [f"t{i}" for i in range(9)]})
    with pytest.raises(ValueError, match="Found 't0', 't1', 't2', 't3', 't4' and 4 more; add"):
        read(frame, Schema((Column("x", "categorical", ("a", "b", "c")),)))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (Column("x", "count"), [1, 2.5], "column 'x' cannot be a count, it holds 2.5"),
        (Column("x", "count"), [1, -1], "cannot be a count, it holds -1"),
        (Column("x", "real"), [1, np.inf], "column 'x' holds infinite values"),
        (Column("x", "real"), ["a", "b"], "should hold numbers, because its kind is real. Found 'a'"),
        (Column("x", "real"), pd.Categorical(["a", "b"]), "should hold numbers, because its kind is real"),
        (
            Column("x", "real"),
            pd.to_datetime(["2020", "2021"]),
            "should hold numbers, as its unit in the schema says",
        ),
        (Column("x", "real", unit="days"), [1.0, 2.0], "should hold dates or durations, as its unit"),
        (
            Column("x", "binary", ("a", "b")),
            pd.to_datetime(["2020", "2021"]),
            "should hold categories, .* Found dates",
        ),
        (Column("x", "real"), [2**60, 1], "column 'x' holds the whole number 1152921504606846976"),
        (Column("x", "categorical", ("a", "b", "c")), ["a", 1], "column 'x' mixes values of type int, str"),
    ],
)
def test_cells_of_the_wrong_kind(column, values, message):
    with pytest.raises(ValueError, match=message):
        read(pd.DataFrame({"x": values}), Schema((column,)))


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, None, 0], dtype="Int64"),
        pd.Series([1.0, np.nan, 0.0]),
        pd.Series([1, None, 0], dtype="int8[pyarrow]"),
        pd.Series([1, pd.NA, 0], dtype=object),
        pd.Series([True, None, False], dtype=object),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series(pd.Categorical([1, None, 0], categories=[2, 1, 0])),
        pd.Series(pd.Categorical([1.0, None, 0.0])),
    ],
    ids=lambda s: str(s.dtype),
)
@pytest.mark.parametrize("categories", [(0, 1), (False, True), (0.0, 1.0)])
def test_numbers_as_categories_in_every_type(series, categories):
    table = read(pd.DataFrame({"x": series}), Schema((Column("x", "binary", categories),)))
    assert table.values[:, 0].tolist() == [1, 0, 0]
    assert table.observed[:, 0].tolist() == [True, False, True]


def test_nan_is_missing_in_polars_and_pyarrow():
    values = [1.5, float("nan"), None]
    for frame in (pl.DataFrame({"x": values}), pa.table({"x": values})):
        assert read(frame, Schema((Column("x", "real"),))).observed[:, 0].tolist() == [True, False, False]


def test_times():
    schema = Schema((Column("x", "real", unit="days"),))
    noon = dt.datetime(1970, 1, 2, 12)
    zoned = dt.datetime(1970, 1, 2, 12, tzinfo=dt.timezone(dt.timedelta(hours=6)))
    for values, days in [
        (pd.Series([noon, pd.NaT]), 1.5),
        (pd.Series([noon, pd.NaT]).astype("datetime64[ns]"), 1.5),
        (pd.Series([zoned, pd.NaT]), 1.25),
        (pd.Series([zoned, None], dtype=object), 1.25),
        (pd.Series([noon.date(), None], dtype=object), 1.0),
        (pd.Series([dt.timedelta(hours=36), pd.NaT]), 1.5),
        (pd.Series([dt.timedelta(hours=36), None], dtype=object), 1.5),
    ]:
        table = read(pd.DataFrame({"x": values}), schema)
        assert table.values[:, 0].tolist() == [days, 0]
        assert table.observed[:, 0].tolist() == [True, False]
    for dtype in ("M8[ns]", "M8[D]", "m8[h]"):
        array = np.array([["1970-01-02"], ["NaT"]], "M8[D]") if dtype[0] == "M" else np.array([[24], ["NaT"]], dtype)
        table = read(array.astype(dtype), Schema((Column("x0", "real", unit="days"),)))
        assert table.values[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_few_rows(make):
    row = {name: values[:1] for name, values in COLUMNS.items()}
    assert read(make(row), SCHEMA).values.tolist() == VALUES[:1]
    nothing = {name: [] for name in COLUMNS}
    assert read(make(nothing), SCHEMA).values.shape == (0, 5)
    empty = {name: [None] for name in COLUMNS}
    assert read(make(empty), SCHEMA).observed.tolist() == [[False] * 5]


def test_arrays_are_not_shared():
    array = np.arange(6.0).reshape(3, 2)
    table = read(array, Schema((Column("x0", "real"), Column("x1", "real"))))
    table.values[:] = -1
    assert array.tolist() == [[0, 1], [2, 3], [4, 5]]
