import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.common import ArgumentError
from evenhand.tables.schema import Column, Kind, Schema

from ._frames import FRAMES, LIBRARIES

N = 300
HOLES = range(3, N, 7)


def holes(values):
    return [None if i in HOLES else v for i, v in enumerate(values)]


def cycle(*values):
    return [values[i % len(values)] for i in range(N)]


DAY = dt.date(2020, 1, 1)
CASES = {
    "real": ([i / 10 - 3 for i in range(N)], Column("x", "real"), "Numbers from -3 to 26.9."),
    "positive": ([i / 10 + 1 for i in range(N)], Column("x", "positive"), "Numbers from 1 to 30.9, all above zero."),
    "with zeros": (
        [i / 10 for i in range(N)],
        Column("x", "real"),
        "None is below zero: positive with a zero_offset",
    ),
    "count": (cycle(*range(50)), Column("x", "count"), "Whole numbers from 0 to 49."),
    "few values": (cycle(0, 1, 2), Column("x", "count"), "If its 3 values are labels, categorical may be meant."),
    "large": ([1 + 10 * i for i in range(N)], Column("x", "positive"), "1 to 2991, too large for a count."),
    "large and zero": ([10 * i for i in range(N)], Column("x", "real"), "too large for a count. None is below zero"),
    "negative": (list(range(-5, N - 5)), Column("x", "real"), "Whole numbers from -5 to 294, some below zero."),
    "negative labels": (cycle(-1, 0, 1), Column("x", "real"), "If its 3 values are labels"),
    "zero or one": (cycle(0, 1), Column("x", "binary", (0, 1)), "Two values, 0 and 1."),
    "two numbers": (cycle(1.5, -2.0), Column("x", "binary", (-2, 1.5)), "Two values, -2 and 1.5."),
    "boolean": (cycle(True, False), Column("x", "binary", (False, True)), "True or false."),
    "text": (cycle("c", "a", "b"), Column("x", "categorical", ("a", "b", "c")), "3 different texts."),
    "two texts": (cycle("yes", "no"), Column("x", "binary", ("no", "yes")), "Two categories, 'no' and 'yes'."),
    "date": ([DAY + dt.timedelta(i) for i in range(N)], Column("x", "real", unit="days"), "taken in days"),
    "two dates": (cycle(DAY, DAY + dt.timedelta(1)), Column("x", "real", unit="days"), "taken in days"),
    "datetime": (
        [dt.datetime(2020, 1, 1) + dt.timedelta(hours=i) for i in range(N)],
        Column("x", "real", unit="days"),
        "taken in days",
    ),
    "duration": ([dt.timedelta(hours=i) for i in range(N)], Column("x", "real", unit="days"), "taken in days"),
}


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "with holes"])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", CASES)
def test_rules(case, library, missing):
    values, expected, reason = CASES[case]
    frame = LIBRARIES[library]({"x0": holes(values) if missing else values})
    (column,) = Schema.infer(frame)
    assert (column.kind, column.categories, column.unit) == (expected.kind, expected.categories, expected.unit)
    assert [type(c) for c in column.categories] == [type(c) for c in expected.categories]
    assert column.reason.endswith(".")
    if not missing:
        assert reason in column.reason


def test_many_values_are_no_labels():
    assert "labels" not in Schema.infer(np.array([[i % 11] for i in range(N)]))["x0"].reason
    assert "labels" not in Schema.infer(np.array([[i % 3] for i in range(60)]))["x0"].reason  # 5 % of the rows
    assert "labels" in Schema.infer(np.array([[i % 3] for i in range(61)]))["x0"].reason


def test_whole_numbers_may_be_floating_point():
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan, 7.0] * 9})
    assert Schema.infer(frame)["x"].kind == Kind.COUNT
    assert Schema.infer(pd.DataFrame({"x": [0.0, 1.0, np.nan] * 9}))["x"].categories == (0, 1)


def test_the_largest_count():
    assert Schema.infer(np.array([[0], [1], [1000]]))["x0"].kind == Kind.COUNT
    assert Schema.infer(np.array([[0], [1], [1001]]))["x0"].kind == Kind.REAL


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [
        ([1, None, 5, 2], "Int64", "count"),
        ([1, None, 5, 2], "int16[pyarrow]", "count"),
        ([1.5, None, 5, 2], "Float32", "positive"),
        ([True, None, False, True], "boolean", "binary"),
        ([True, None, False, True], "bool[pyarrow]", "binary"),
        ([True, None, False, True], object, "binary"),
        (["a", None, "b", "c"], "string", "categorical"),
        (["a", pd.NA, "b", "c"], object, "categorical"),
        (["a", np.nan, "b", "c"], "str", "categorical"),
        ([1, pd.NA, 2, 5], object, "count"),
        ([pd.Timestamp("2020-01-01"), pd.NaT, pd.Timestamp("2021-01-01")], "datetime64[ns]", "real"),
        ([pd.Timestamp("2020-01-01", tz="CET"), None, pd.Timestamp("2021-01-01", tz="CET")], None, "real"),
        ([dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)], object, "real"),
        ([dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)], pd.ArrowDtype(pa.date32()), "real"),
        ([dt.timedelta(1), pd.NaT, dt.timedelta(3)], object, "real"),
    ],
)
def test_types_of_pandas(values, dtype, kind):
    assert Schema.infer(pd.DataFrame({"x": pd.Series(values, dtype=dtype)}))["x"].kind == kind


def test_declared_categories_are_kept_in_their_order():
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(["S", "L", None], categories=["S", "M", "L"], ordered=True),
            "colour": pd.Categorical(["red", "blue", None], categories=["red", "green", "blue"]),
            "two": pd.Categorical(["a", "b", None], categories=["b", "a"], ordered=True),
            "whole": pd.Categorical([1.0, 2.0, None], categories=[3.0, 1.0, 2.0]),
        }
    )
    schema = Schema.infer(frame)
    assert schema["size"] == Column("size", "ordinal", ("S", "M", "L"))
    assert schema["colour"] == Column("colour", "categorical", ("red", "green", "blue"))
    assert schema["two"] == Column("two", "binary", ("b", "a"))
    assert schema["whole"] == Column("whole", "categorical", (3, 1, 2))


def test_categories_of_polars():
    frame = pl.DataFrame(
        {
            "enum": pl.Series(["b", "a", None], dtype=pl.Enum(["c", "b", "a"])),
            "categorical": pl.Series(["b", "a", "x"], dtype=pl.Categorical),
            "other": pl.Series(["u", "v", "w"], dtype=pl.Categorical),  # shares its pool with the one before
        }
    )
    schema = Schema.infer(frame)
    assert schema["enum"] == Column("enum", "categorical", ("c", "b", "a"))
    assert schema["categorical"] == Column("categorical", "categorical", ("a", "b", "x"))
    assert schema["other"] == Column("other", "categorical", ("u", "v", "w"))


@pytest.mark.parametrize("ordered", [False, True])
def test_dictionaries_of_pyarrow(ordered):
    codes, words = pa.array([0, None, 1], pa.int8()), pa.array(["b", "a", "c"])
    frame = pa.table({"x": pa.DictionaryArray.from_arrays(codes, words, ordered=ordered)})
    assert Schema.infer(frame)["x"] == Column("x", "ordinal" if ordered else "categorical", ("b", "a", "c"))


def test_names_that_are_no_strings_become_strings():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 2)), columns=[2020, ("a", 1)])
    assert Schema.infer(frame).names == ("2020", "('a', 1)")
    assert Schema.infer(frame.to_numpy()).names == ("x0", "x1")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["1", 1]),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_names_must_be_distinct(frame):
    with pytest.raises(ValueError, match="frame should have columns with distinct names. Found '[a1]' twice"):
        Schema.infer(frame)


EVEN = list(range(0, 60, 2))  # every whole number once would be the numbers of the rows
BROKEN = {
    "mixed": (["a", 1, "b"] * 10, "mixes values of type int, str; convert it to one type"),
    "infinite": ([1.0, np.inf, 2.0] * 10, "holds infinite values"),
    "lists": ([[1], [2], [3]] * 10, "holds values of type"),
    "dicts": ([{"a": 1}] * 30, "holds values of type"),
    "beyond": ([2**53 + 1, 1, 2] * 10, "holds the whole number 9007199254740993, beyond 2\\*\\*53"),
}
USELESS = {
    "empty": ([None] * 30, "is empty, all its cells are missing"),
    "constant": ([3] * 29 + [None], "is constant, all its cells are 3"),
    "same": (["x"] * 30, "is constant, all its cells are 'x'"),
    "ids": ([f"id{i}" for i in range(30)], "has 30 categories in 30 cells, which look like ids or free text"),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", [*BROKEN, *USELESS])
def test_what_cannot_be_modelled_is_named(case, library):
    if library in ("polars", "pyarrow") and case == "mixed":
        pytest.skip("these frames have one type per column")
    values, message = {**BROKEN, **USELESS}[case]
    frame = LIBRARIES[library]({"x0": values, "x1": EVEN})
    with pytest.raises(ValueError, match=f"(?s)that a model can describe. Found otherwise:.*column 'x0' {message}"):
        Schema.infer(frame)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", USELESS)
def test_useless_columns_may_be_ignored(case, library):
    values, message = USELESS[case]
    schema = Schema.infer(LIBRARIES[library]({"x0": values, "x1": EVEN}), unsupported="ignore")
    assert schema.names == ("x1",)
    assert message in f"{schema.ignored['x0'][0].lower()}{schema.ignored['x0'][1:]}"
    assert schema.ignored["x0"].endswith(".")
    assert "x0      ignored  " in schema.explain()


@pytest.mark.parametrize("case", BROKEN)
def test_broken_columns_may_not(case):
    with pytest.raises(ValueError, match=BROKEN[case][1]):
        Schema.infer(pd.DataFrame({"x": BROKEN[case][0]}), unsupported="ignore")


def test_something_must_be_left():
    with pytest.raises(ArgumentError, match="frame should have a column to model. Found 2, all of them ignored") as e:
        Schema.infer(pd.DataFrame({"a": [1, 1], "b": [None, None]}), unsupported="ignore")
    assert "'a' (Is constant, all its cells are 1), 'b' (Is empty, all its cells are missing)." in str(e.value)
    assert "in schema of TabularVAE" in e.value.advice


def test_all_problems_come_at_once():
    frame = pd.DataFrame({"id": [f"id{i}" for i in range(30)], "one": 1, "fine": EVEN, "mix": ["a", 1] * 15})
    with pytest.raises(ValueError, match="otherwise") as caught:
        Schema.infer(frame)
    lines = str(caught.value).splitlines()
    assert [line.split("'")[1] for line in lines[1:-1]] == ["id", "one", "mix"]
    assert all("; " in line and line.endswith(".") for line in lines[1:])  # what to do
    assert lines[-1].startswith("Kinds are named like {'x': 'real'}: in overrides of Schema.infer, in schema of Tab")


def test_more_kinds_of_broken_columns():
    decimals = [Decimal(1), Decimal(2), Decimal(3)]
    for values in (
        pd.Series([1j, 2j, 3j]),
        pd.period_range("2020", periods=3, freq="D"),
        [b"a", b"b", b"c"],
        decimals,
        pd.array(decimals, dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    ):
        with pytest.raises(ValueError, match="which no kind describes; drop or convert it"):
            Schema.infer(pd.DataFrame({"x": values}))
    with pytest.raises(ValueError, match="has categories of type Interval, where text"):
        Schema.infer(pd.DataFrame({"x": pd.cut(np.arange(9.0), 3)}))
    with pytest.raises(ValueError, match="which no kind describes"):
        Schema.infer(pl.DataFrame({"x": [dt.time(1), dt.time(2)]}))
    with pytest.raises(ValueError, match="which no kind describes"):
        Schema.infer(np.array([[1j], [2j]]))


def test_large_numbers_in_every_form():
    for values in ([2**60, 1, 2], [-(2**60), 1, 2]):
        for column in (values, pd.Series(values, dtype=object), pd.array([*values[:2], None], dtype="Int64")):
            with pytest.raises(ValueError, match="beyond 2"):
                Schema.infer(pd.DataFrame({"x": column}))
    assert Schema.infer(pd.DataFrame({"x": [1e300, 1.5, 2]}))["x"].kind == Kind.POSITIVE  # floating point may


@pytest.mark.parametrize("n", [20, 21, 200, 201])
def test_how_many_texts_are_categories(n):
    texts = [f"t{i}" for i in range(n)]
    some = Schema.infer(pd.DataFrame({"x": texts * 2, "y": np.arange(2 * n) / 2}), unsupported="ignore")
    assert ("x" in some) == (n <= 200)
    once = Schema.infer(pd.DataFrame({"x": texts, "y": np.arange(n) / 2}), unsupported="ignore")
    assert ("x" in once) == (n <= 20)
    declared = Schema.infer(pd.DataFrame({"x": pd.Categorical(texts), "y": np.arange(n) / 2}), unsupported="ignore")
    assert ("x" in declared) == (n <= 200)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_without_rows_or_columns(make):
    with pytest.raises(ValueError, match="frame should have rows and columns. Found 0 rows and 1 columns"):
        Schema.infer(make({"x": []}))
    with pytest.raises(ValueError, match="Found 0 rows and 0 columns"):
        Schema.infer(make({}))
    with pytest.raises(ValueError, match="'x' is constant, all its cells are 1"):
        Schema.infer(make({"x": [1]}))


def test_things_that_are_no_frames():
    with pytest.raises(ValueError, match=r"Found polars\..*LazyFrame; call .collect\(\) first"):
        Schema.infer(pl.DataFrame({"x": [1]}).lazy())
    with pytest.raises(ValueError, match="Found builtins.list"):
        Schema.infer([[1, 2]])
    with pytest.raises(ValueError, match=r"two axes. Found shape \[3\]"):
        Schema.infer(np.zeros(3))
    with pytest.raises(ValueError, match="unsupported should be 'error' or 'ignore'. Found 'drop'"):
        Schema.infer(np.eye(3), unsupported="drop")


FRAME = pd.DataFrame(
    {
        "code": cycle(1, 2, 3),
        "pay": cycle(0.0, 1.5, 2.5),
        "text": cycle("b", "a", "c"),
        "id": [f"id{i}" for i in range(N)],
        "day": [DAY + dt.timedelta(i) for i in range(N)],
        "flag": cycle(True, False),
    }
)
KNOWN = {"id": "categorical"}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ({"code": "categorical"}, Column("code", "categorical", (1, 2, 3))),
        ({"code": Kind.REAL}, Column("code", "real")),
        ({"code": {"kind": "ordinal", "categories": (3, 2, 1, 0)}}, Column("code", "ordinal", (3, 2, 1, 0))),
        ({"pay": {"kind": "positive", "zero_offset": 0.5}}, Column("pay", "positive", zero_offset=0.5)),
        ({"text": "ordinal"}, Column("text", "ordinal", ("a", "b", "c"))),
        ({"text": {"categories": ("c", "b", "a")}}, Column("text", "categorical", ("c", "b", "a"))),
        ({"day": {"kind": "positive", "zero_offset": 1}}, Column("day", "positive", zero_offset=1, unit="days")),
        ({"flag": "count"}, Column("flag", "count")),
        ({"text": Column("text", "categorical", ("a", "b", "c", "d"))}, Column("text", "categorical", tuple("abcd"))),
    ],
)
def test_overrides(override, expected):
    (name,) = override
    schema = Schema.infer(FRAME, {**KNOWN, **override})
    assert schema[name] == expected
    assert schema.names == tuple(FRAME.columns)


def test_overrides_may_name_ids_and_fill_empty_columns():
    assert Schema.infer(FRAME, KNOWN)["id"].size == N
    assert Schema.infer(FRAME, KNOWN)["id"].reason == "Set to categorical by hand."
    column = Column("x", "categorical", ("a", "b", "c"))
    assert Schema.infer(pd.DataFrame({"x": [None, None]}), {"x": column})["x"] == column


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"text": "real"}, "'text' cannot be real, it holds categories such as 'b'"),
        ({"day": "categorical"}, "'day' cannot be categorical, it holds dates or durations"),
        ({"pay": "positive"}, "'pay' cannot be positive, it holds 0; give it a zero_offset or make it real"),
        ({"pay": "count"}, "'pay' cannot be a count, it holds 1.5"),
        ({"code": "binary"}, "should be two, because its kind is binary. Found 3"),
        ({"nobody": "real"}, r"overrides should name columns of the frame \(code, .*Found 'nobody'"),
        ({"code": Column("x", "real")}, "'code' has an override that should bear its name, not 'x'"),
        ({"code": "number"}, "kind should be one of"),
    ],
)
def test_impossible_overrides_are_refused(override, message):
    with pytest.raises(ValueError, match=message):
        Schema.infer(FRAME, {**KNOWN, **override})


IDS = list(range(7, 37))
NUMBERED = "holds every whole number from 7 to 36 once, which look like the numbers of the rows"
NAMED = "holds 30 different whole numbers and is named like an id"


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_numbers_of_rows_are_ids(make):
    frame = make({"row": np.random.default_rng(0).permutation(IDS), "x": EVEN})
    with pytest.raises(ValueError, match=f"column 'row' {NUMBERED}; drop it, pass unsupported='ignore', or name its"):
        Schema.infer(frame)
    schema = Schema.infer(frame, unsupported="ignore")
    assert schema.names == ("x",)
    assert schema.ignored == {"row": f"H{NUMBERED[1:]}."}
    for override in ("count", {"kind": "real"}, Column("row", "count"), {"reason": "Not an id."}):
        assert Schema.infer(frame, {"row": override}).names == ("row", "x")


@pytest.mark.parametrize(
    "values",
    [
        IDS[:19],
        [*IDS, IDS[0]],
        [*IDS, 99],
        pd.array([None, *IDS], dtype="Int64"),
        [-1, 0, *range(1, 29)],
        [float(i) for i in IDS],
    ],
    ids=["few", "one twice", "a gap", "a hole", "below zero", "floating point"],
)
def test_what_is_not_the_number_of_a_row(values):
    assert Schema.infer(pd.DataFrame({"x": values})).names == ("x",)


def test_arrays_and_columns_without_a_name_are_no_ids():
    array = np.arange(60).reshape(30, 2)[:, :1] // 2
    assert len(Schema.infer(array)) == len(Schema.infer(pd.DataFrame(array))) == 1
    with pytest.raises(ValueError, match="numbers of the rows"):
        Schema.infer(pd.DataFrame(array, columns=["x"]))


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "Index",
        "KEY",
        "rowid",
        "uuid",
        "customer_id",
        "Customer ID",
        "customerId",
        "x2Id",
        "userID",
        "id_no",
    ],
)
def test_names_of_ids(name):
    for values in (EVEN, [None, *EVEN], pd.array([None, *EVEN], dtype="Int64")):
        frame = pd.DataFrame({name: values})
        with pytest.raises(ValueError, match=f"column '{name}' {NAMED}; drop it"):
            Schema.infer(frame)
        assert Schema.infer(frame, {name: "real"})[name].kind == Kind.REAL


@pytest.mark.parametrize("name", ["paid", "grid", "idle", "period", "indexed", "Id2", "monkey", "PAID"])
def test_other_names(name):
    assert Schema.infer(pd.DataFrame({name: EVEN})).names == (name,)


def test_what_is_named_like_an_id_and_is_none():
    assert Schema.infer(pd.DataFrame({"id": [*EVEN, 0]})).names == ("id",)  # one twice
    assert Schema.infer(pd.DataFrame({"id": EVEN[:19]})).names == ("id",)  # few
    assert Schema.infer(pd.DataFrame({"id": [i + 0.5 for i in EVEN]})).names == ("id",)  # fractions


@pytest.mark.parametrize("length", [40, 41])
@pytest.mark.parametrize("n", [20, 21])
def test_long_texts_are_free_text(n, length):
    texts = [f"{i:0{length}}" for i in range(n)] * 5
    schema = Schema.infer(pd.DataFrame({"x": texts, "y": cycle(1, 2, 3)[: 5 * n]}), unsupported="ignore")
    free = n > 20 and length > 40
    assert ("x" in schema) != free
    if free:
        why = "Has 21 different texts of 41 characters on average, which look like free text."
        assert schema.ignored == {"x": why}
        assert Schema.infer(pd.DataFrame({"x": texts}), {"x": "categorical"})["x"].size == n
    declared = pd.DataFrame({"x": pd.Categorical(texts)})
    assert Schema.infer(declared)["x"].size == n


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", [*BROKEN, *USELESS, "sound"])
def test_columns_may_be_ignored_by_hand(case, library):
    if library in ("polars", "pyarrow") and case == "mixed":
        pytest.skip("these frames have one type per column")
    values = cycle(1, 2, 3)[:30] if case == "sound" else {**BROKEN, **USELESS}[case][0]
    schema = Schema.infer(LIBRARIES[library]({"x0": values, "x1": EVEN}), {"x0": "ignore"})
    assert schema.names == ("x1",)
    assert schema.ignored == {"x0": "Ignored by hand."}
