import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.tables.frames import build, fill, forms_of, read
from evenhand.tables.schema import Column, Schema

from ..schema._frames import LIBRARIES, to_lists, types_of

DAYS = [dt.date(2020, 1, day) for day in (1, 5, 9)]
TIMES = [dt.datetime(2020, 1, day, 3, 4, 5, 6) for day in (1, 5, 9)]
SOME = pd.Series([TIMES[0], None, TIMES[2]])
COLUMNS = {
    "count": [3, None, 9],
    "real": [-1.5, None, 0.1],
    "flag": [True, None, False],
    "text": ["a", None, "b"],
    "other": ["b", None, "c"],
    "day": [DAYS[0], None, DAYS[2]],
    "time": [TIMES[0], None, TIMES[2]],
    "span": [dt.timedelta(hours=1), None, dt.timedelta(hours=5)],
    "whole": [1.5, 2.5, 3.5],
}
SCHEMA = Schema(
    (
        Column("count", "count"),
        Column("real", "real"),
        Column("flag", "binary", (False, True)),
        Column("text", "binary", ("a", "b")),
        Column("other", "categorical", ("a", "b", "c")),
        Column("day", "real", unit="days"),
        Column("time", "real", unit="days"),
        Column("span", "real", unit="days"),
        Column("whole", "real"),
    )
)
NEW = [[4.6, -7.25, 1, 1, 0, 18266.3, 18266.5, 2.5, 9]] * 3
WANTED = [5, -7.25, True, "b", "a", dt.date(2020, 1, 5), dt.datetime(2020, 1, 5, 12), dt.timedelta(days=2.5)]


def renamed(schema, library):
    if library != "numpy":
        return schema
    fields = [(c.kind, c.categories, c.zero_offset, c.unit) for c in schema]
    return Schema(tuple(Column(f"x{j}", *rest) for j, rest in enumerate(fields)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_holes_are_filled_and_nothing_else_changes(library):
    frame, schema = LIBRARIES[library](COLUMNS), renamed(SCHEMA, library)
    before = to_lists(frame)
    filled = fill(frame, schema, np.array(NEW), ~read(frame, schema).observed)
    assert type(filled) is type(frame)
    assert types_of(filled) == types_of(frame)
    after = to_lists(filled)
    assert [column[1] for column in after[:8]] == WANTED
    assert [(c[0], c[2]) for c in after] == [(c[0], c[2]) for c in before]
    assert after[8] == [1.5, 2.5, 3.5]
    again = to_lists(frame)  # the frame given is untouched
    assert [pd.isna(column[1]) for column in again] == [True] * 8 + [False]


PANDAS = {
    "float with whole numbers": (pd.Series([1.0, np.nan, 3.0]), "count", 2.4, 2.0),
    "Int64": (pd.Series([1, None, 3], dtype="Int64"), "count", 2.4, 2),
    "Int8 as real": (pd.Series([1, None, 3], dtype="Int8"), "real", 2.6, 3),
    "Int8 beyond its range": (pd.Series([1, None, 3], dtype="Int8"), "real", 2000.0, 127),
    "UInt8 below its range": (pd.Series([1, None, 3], dtype="UInt8"), "real", -5.0, 0),
    "Float32": (pd.Series([1.5, None, 3], dtype="Float32"), "real", 2.5, 2.5),
    "float32": (pd.Series([1.5, None, 3], dtype="float32"), "real", 2.5, 2.5),
    "int64[pyarrow]": (pd.Series([1, None, 3], dtype="int64[pyarrow]"), "count", 2.4, 2),
    "boolean": (pd.Series([True, None, False], dtype="boolean"), (False, True), 1, True),
    "bool[pyarrow]": (pd.Series([True, None, False], dtype="bool[pyarrow]"), (False, True), 1, True),
    "boolean as number": (pd.Series([True, None, False], dtype="boolean"), "real", 0.7, True),
    "objects true or false": (pd.Series([True, None, False], dtype=object), (False, True), 1, True),
    "objects whole": (pd.Series([1, None, 3], dtype=object), "count", 2.4, 2),
    "objects date": (pd.Series([DAYS[0], None, DAYS[2]], dtype=object), "days", 18266.3, DAYS[1]),
    "str": (pd.Series(["a", None, "b"], dtype="str"), ("a", "b"), 1, "b"),
    "string": (pd.Series(["a", None, "b"], dtype="string"), ("a", "b"), 1, "b"),
    "object": (pd.Series(["a", None, "b"], dtype=object), ("a", "b"), 1, "b"),
    "numbers as categories": (pd.Series([0.0, np.nan, 1.0]), (0, 1), 1, 1.0),
    "category": (pd.Series(pd.Categorical(["a", None, "b"], ["z", "b", "a"])), ("z", "b", "a"), 0, "z"),
    "category of numbers": (pd.Series(pd.Categorical([1.0, None, 2.0])), (1, 2), 1, 2.0),
    "ordered": (pd.Series(pd.Categorical(["a", None, "b"], ["b", "a"], ordered=True)), ("b", "a"), 0, "b"),
    "datetime64[ns]": (SOME.astype("datetime64[ns]"), "days", 0.5, pd.Timestamp("1970-01-01 12:00")),
    "beyond datetime64[ns]": (SOME.astype("datetime64[ns]"), "days", 1e9, pd.Timestamp("2260-03-21")),
    "beyond Python": (SOME, "days", 1e9, pd.Timestamp("9997-07-18")),
    "at midnight": (pd.Series(pd.to_datetime([DAYS[0], None, DAYS[2]])), "days", 18266.3, pd.Timestamp("2020-01-05")),
    "time zone": (SOME.dt.tz_localize("CET"), "days", 0.5, pd.Timestamp("1970-01-01 13:00", tz="CET")),
    "date32": (pd.Series([DAYS[0], None, DAYS[2]], dtype=pd.ArrowDtype(pa.date32())), "days", 18266.3, DAYS[1]),
}  # fmt: skip


def column_for(told):
    if isinstance(told, tuple):
        return Column("x", "binary" if len(told) == 2 else "categorical", told)
    return Column("x", "real", unit="days") if told == "days" else Column("x", told)


@pytest.mark.parametrize("case", PANDAS)
def test_every_type_of_pandas_stays(case):
    series, told, value, expected = PANDAS[case]
    frame, schema = pd.DataFrame({"x": series}), Schema((column_for(told),))
    missing = ~read(frame, schema).observed
    assert missing[:, 0].tolist() == [False, True, False]
    filled = fill(frame, schema, np.full((3, 1), float(value)), missing)
    assert filled["x"].dtype == series.dtype
    assert filled["x"][1] == expected
    assert type(filled["x"].array) is type(series.array)
    pd.testing.assert_series_equal(filled["x"].drop(1), frame["x"].drop(1))


@pytest.mark.parametrize("case", PANDAS)
def test_every_type_of_pandas_is_built(case):
    series, told, value, expected = PANDAS[case]
    like = pd.DataFrame({"x": series})
    built = build(Schema((column_for(told),)), np.full((5, 1), float(value)), like)
    assert built["x"].dtype == series.dtype
    assert len(built) == 5
    assert built["x"][4] == expected
    empty = build(Schema((column_for(told),)), np.full((5, 1), float(value)), like.iloc[:0])
    assert empty["x"].dtype == series.dtype


POLARS = {
    "i8": (pl.Series([1, None, 3], dtype=pl.Int8), "count", 2.4, 2),
    "f32": (pl.Series([1.5, None, 3], dtype=pl.Float32), "real", 2.5, 2.5),
    "nan": (pl.Series([1.5, float("nan"), 3.0]), "real", 2.5, 2.5),
    "categorical": (pl.Series(["a", None, "b"], dtype=pl.Categorical), ("a", "b"), 1, "b"),
    "enum": (pl.Series(["a", None, "b"], dtype=pl.Enum(["z", "b", "a"])), ("z", "b", "a"), 0, "z"),
    "ms": (pl.Series([TIMES[0], None, TIMES[2]], dtype=pl.Datetime("ms")), "days", 0.5, dt.datetime(1970, 1, 1, 12)),
}  # fmt: skip


@pytest.mark.parametrize("case", POLARS)
def test_every_type_of_polars_stays(case):
    series, told, value, expected = POLARS[case]
    frame, schema = pl.DataFrame({"x": series}), Schema((column_for(told),))
    values = np.full((3, 1), float(value))
    filled = fill(frame, schema, values, ~read(frame, schema).observed)
    assert filled.schema == frame.schema
    assert filled["x"].to_list() == [series[0], expected, series[2]]
    built = build(schema, values, frame.clear())
    assert built.schema == frame.schema
    assert built["x"].to_list() == [expected] * 3


ARROW = {
    "int8": (pa.chunked_array([[1, None], [3]], pa.int8()), "count", 2.4, 2),
    "dictionary": (pa.chunked_array([pa.array(["a", None, "b"]).dictionary_encode()]), ("a", "b"), 1, "b"),
    "large": (pa.chunked_array([["a", None, "b"]], pa.large_string()), ("a", "b"), 1, "b"),
    "zone": (
        pa.chunked_array([pa.array([0, None, 1], pa.timestamp("s", "Europe/Berlin"))]),
        "days", 0.5, dt.datetime(1970, 1, 1, 12, tzinfo=dt.UTC),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ARROW)
def test_every_type_of_pyarrow_stays(case):
    column, told, value, expected = ARROW[case]
    frame, schema = pa.table({"x": column}), Schema((column_for(told),))
    values = np.full((3, 1), float(value))
    filled = fill(frame, schema, values, ~read(frame, schema).observed)
    assert filled.schema == frame.schema
    assert filled["x"].to_pylist() == [column[0].as_py(), expected, column[2].as_py()]
    built = build(schema, values, frame.slice(0, 0))
    assert built.schema == frame.schema
    assert built["x"].to_pylist() == [expected] * 3


def test_dictionaries_of_pyarrow_keep_their_order():
    words = pa.DictionaryArray.from_arrays(pa.array([2, None, 1]), pa.array(["z", "b", "a"]), ordered=True)
    frame = pa.table({"x": pa.chunked_array([words, words])})
    schema = Schema.infer(frame)
    assert schema["x"] == Column("x", "ordinal", ("z", "b", "a"))
    filled = fill(frame, schema, np.zeros((6, 1)), ~read(frame, schema).observed)
    assert filled["x"].to_pylist() == ["a", "z", "b"] * 2
    assert Schema.infer(filled) == schema


@pytest.mark.parametrize(
    ("array", "kind", "value", "expected"),
    [
        (np.array([[1.5], [np.nan]], dtype=np.float32), "real", 2.5, 2.5),
        (np.array([[1.0], [np.nan]]), "count", 2.4, 2.0),
        (np.array([[1], [2]], dtype=np.uint8), "real", 300.0, 255),
        (np.array([[True], [False]]), (False, True), 1, True),
        (np.array([["a"], ["b"]]), ("a", "b"), 0, "a"),
        (np.array([["2020-01-01"], ["NaT"]], dtype="M8[D]"), "days", 18266.3, np.datetime64("2020-01-05")),
        (np.array([[1], ["NaT"]], dtype="m8[h]"), "days", 0.5, np.timedelta64(12, "h")),
    ],
)
def test_arrays_stay_arrays(array, kind, value, expected):
    schema = renamed(Schema((column_for(kind),)), "numpy")
    values = np.full((2, 1), float(value))
    filled = fill(array, schema, values, np.array([[False], [True]]))
    assert filled.dtype == array.dtype
    assert filled[0, 0] == array[0, 0]
    assert filled[1, 0] == expected
    built = build(schema, values, array[:0])
    assert built.dtype == array.dtype
    assert built.shape == (2, 1)
    assert built[1, 0] == expected or array.dtype.kind == "m"  # where nothing tells whole days from hours


@given(st.lists(st.none() | st.floats(-1e300, 1e300), min_size=1, max_size=8))
def test_observed_cells_are_identical_to_the_bit(values):
    frame, schema = pd.DataFrame({"x": pd.Series(values, dtype=float)}), Schema((Column("x", "real"),))
    observed = read(frame, schema).observed
    filled = fill(frame, schema, np.ones(observed.shape), ~observed)["x"].to_numpy()
    assert filled[observed[:, 0]].tobytes() == frame["x"].to_numpy()[observed[:, 0]].tobytes()
    assert (filled[~observed[:, 0]] == 1).all()


def test_index_order_names_and_ignored_columns_stay():
    frame = pd.DataFrame(
        {
            "b": [1.5, None],
            7: ["x", None],
            "id": ["u", "v"],
            "a": pd.Series([None, 2.5], index=["p", "p"]).to_numpy(),
        },
        index=pd.Index(["p", "p"], name="key"),
    )
    schema = Schema((Column("a", "real"), Column("7", "binary", ("x", "y")), Column("b", "real")), {"id": "Ids."})
    filled = fill(frame, schema, np.array([[9.0, 1.0, 8.0]] * 2), ~read(frame, schema).observed)
    assert list(filled.columns) == ["b", 7, "id", "a"]
    assert filled.index.equals(frame.index)
    assert filled.index.name == "key"
    assert filled.to_numpy().tolist() == [[1.5, "x", "u", 9.0], [8.0, "y", "v", 2.5]]
    built = build(schema, np.array([[9.0, 1.0, 8.0]] * 3), frame)
    assert list(built.columns) == ["b", 7, "a"]
    assert built.to_numpy().tolist() == [[8.0, "y", 9.0]] * 3


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_to_fill(library):
    frame, schema = LIBRARIES[library](COLUMNS), renamed(SCHEMA, library)
    filled = fill(frame, schema, np.array(NEW), np.zeros((3, 9), dtype=bool))
    assert str(to_lists(filled)) == str(to_lists(frame))
    nothing = build(schema, np.zeros((0, 9)), frame)
    assert read(nothing, schema).values.shape == (0, 9)


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_which_nothing_is_seen(library):
    frame, schema = (
        LIBRARIES[library]({"x0": [None, None], "x1": [1.5, 2.5]}),
        Schema((Column("x0", "real"), Column("x1", "real"))),
    )
    filled = fill(frame, schema, np.full((2, 2), 0.5), ~read(frame, schema).observed)
    assert to_lists(filled) == [[0.5, 0.5], [1.5, 2.5]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_built_frames_read_as_they_were_built(library):
    frame, schema = LIBRARIES[library](COLUMNS), renamed(SCHEMA, library)
    values = np.array([[4, -7.25, 1, 1, 0, 18266, 18266.5, 2.5, 9], [0, 1e-3, 0, 0, 2, 1, 1.25, 0.125, -9]])
    built = build(schema, values, frame)
    assert type(built) is type(frame)
    assert read(built, schema).values.tolist() == values.tolist()


def test_mistakes_are_named():
    frame, schema = pd.DataFrame({"x": [1.5, None]}), Schema((Column("x", "real"),))
    good, mask = np.ones((2, 1)), np.array([[False], [True]])
    with pytest.raises(ValueError, match=r"values should have the shape \[2, 1\]. Found \[3, 1\]"):
        fill(frame, schema, np.ones((3, 1)), mask)
    with pytest.raises(ValueError, match=r"missing should have the shape \[2, 1\]. Found \[2\]"):
        fill(frame, schema, good, mask[:, 0])
    with pytest.raises(ValueError, match="finite where they are used. Found NaN or infinity in column 'x'"):
        fill(frame, schema, good * np.nan, mask)
    fill(frame, schema, np.array([[np.nan], [1.0]]), mask)  # where it is not used, anything goes
    with pytest.raises(ValueError, match="Found none called 'y'"):
        fill(frame, Schema((Column("y", "real"),)), good, mask)
    with pytest.raises(ValueError, match="Found NaN or infinity in column 'x'"):
        build(schema, good * np.inf, frame)
    with pytest.raises(ValueError, match=r"values should have the shape \[2, 1\]. Found \[2, 3\]"):
        build(schema, np.ones((2, 3)), frame)


@pytest.mark.parametrize("n", [5, 50])
def test_integers_with_holes_are_filled_with_whole_numbers(n):
    """pandas stores them as floats; a few whole numbers may be so by chance."""
    frame = pd.DataFrame({"weight": np.where(np.arange(n) % 5, np.arange(n) + 1000.0, np.nan)})
    schema = Schema((Column("weight", "positive"),))
    holes = frame.isna().to_numpy()
    filled = fill(frame, schema, np.full((n, 1), 1234.5678), holes)["weight"].to_numpy()
    assert (filled[holes[:, 0]] == (1235 if n == 50 else 1234.5678)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame({"x": [1.0, np.nan]}), np.array([[1.0], [np.nan]])])
def test_integers_that_holes_have_made_floats_are_filled_with_whole_numbers(frame):
    schema = Schema((Column("x" if isinstance(frame, pd.DataFrame) else "x0", "real"),))
    known = pd.DataFrame({schema.names[0]: [1, 5, 40_000]})
    found = fill(frame, schema, np.array([[1.0], [7.4]]), np.array([[False], [True]]), forms=forms_of(known, schema))
    assert np.asarray(found).ravel().tolist() == [1.0, 7.0]
