"""Columns of a few new rows whose types say less than those of the rows that were learnt from."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.tables.frames import fill, forms_of, read
from evenhand.tables.schema import Schema

N = 40
LEARNT = {
    "text": ["x", "y"] * (N // 2),
    "day": [dt.datetime(2020, 1, 1) + dt.timedelta(days=i) for i in range(N)],
    "span": [dt.timedelta(days=i) for i in range(N)],
    "flag": [True, False] * (N // 2),
    "real": [1.25 * i - 7 for i in range(N)],
    "size": [10 * i for i in range(N)],
}
KINDS = {"text": "categorical", "flag": "binary", "size": "count"}
MADE = [1.0, 18266.0, 3.0, 1.0, 1.5, 300.0]
WANTED = {
    "text": "y",
    "day": dt.datetime(2020, 1, 5),
    "span": dt.timedelta(days=3),
    "flag": True,
    "real": 1.5,
    "size": 300,
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def learnt(library):
    frame = FRAMES[library](LEARNT)
    schema = Schema.infer(frame, KINDS)
    return frame, schema, forms_of(frame, schema)


def filled(new, library="pandas", overrides=None):
    """New rows filled with MADE, with what is known of the learnt ones."""
    frame, schema, forms = learnt(library) if overrides is None else overrides
    observed = read(new, schema, unseen="missing").observed
    values = np.tile(MADE if overrides is None else [0.0] * len(schema), (len(observed), 1))
    return fill(new, schema, values, ~observed, forms, like=frame[:0])


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("name", LEARNT)
def test_a_column_of_nan_becomes_what_it_was(library, name):
    """A file without any cell in a column is read as one of floats."""
    rows = {key: cells[:3] for key, cells in LEARNT.items()}
    rows[name] = pd.array([np.nan] * 3) if library == "pandas" else [None] * 3
    new = FRAMES[library](rows)
    if library == "polars":
        new = new.with_columns(pl.lit(None, dtype=pl.Float64).alias(name))
    if library == "pyarrow":
        new = new.set_column(new.column_names.index(name), name, pa.array([None] * 3, pa.float64()))
    if library == "pandas":
        new.index = [7, 3, 5]
    result = filled(new, library)
    cells = (
        list(result[name])
        if library == "pandas"
        else result[name].to_pylist()
        if library == "pyarrow"
        else list(result[name])
    )
    assert cells == [WANTED[name]] * 3
    if library == "pandas":
        assert list(result.index) == [7, 3, 5]
        kinds = {"real": "f", "size": "fi"}
        assert result[name].dtype == pd.DataFrame(LEARNT)[name].dtype or result[name].dtype.kind in kinds.get(
            name, ""
        )


@pytest.mark.parametrize("name", ["span", "flag", "real", "text"])
def test_no_time_is_no_date(name):
    new = pd.DataFrame({**{key: cells[:2] for key, cells in LEARNT.items()}, name: pd.NaT})
    assert list(filled(new)[name]) == [WANTED[name]] * 2


def test_types_of_another_library_are_its_own():
    _, schema, forms = learnt("pandas")
    new = pl.DataFrame({**{key: cells[:2] for key, cells in LEARNT.items()}}).with_columns(
        pl.lit(None, dtype=pl.Float64).alias("text")
    )
    observed = read(new, schema).observed
    result = fill(new, schema, np.tile(MADE, (2, 1)), ~observed, forms, like=pd.DataFrame(LEARNT)[:0])
    assert result["text"].to_list() == ["y", "y"]


@pytest.mark.parametrize(
    ("dtype", "wider"),
    [("Int8", "Int64"), ("UInt8", "Int64"), ("int8[pyarrow]", "int64[pyarrow]"), ("Int64", "Int64")],
)
def test_integers_are_not_cut(dtype, wider):
    """300 is more than such a column can hold."""
    new = pd.DataFrame({key: cells[:2] for key, cells in LEARNT.items()})
    new["size"] = pd.array([None, 90], dtype=dtype)
    result = filled(new)["size"]
    assert result.tolist() == [300, 90]
    assert str(result.dtype) == wider


def test_decimals_are_not_rounded_because_neighbours_have_none():
    new = pd.DataFrame({key: cells[:2] for key, cells in LEARNT.items()})
    for cells in ([None, 3], [None, 3.25]):
        new["real"] = pd.array(cells, dtype="Int64" if cells[1] == 3 else "Float64")
        assert filled(new)["real"].tolist() == [1.5, cells[1]]
    other = pl.DataFrame({key: cells[:2] for key, cells in LEARNT.items()}).with_columns(
        pl.Series("real", [None, 3], dtype=pl.Int8)
    )
    assert filled(other, "polars")["real"].to_list() == [1.5, 3.0]


def levels(frame):
    schema = Schema.infer(frame, {"o": "ordinal", "a": "real"})
    return frame, schema, forms_of(frame, schema)


def test_a_category_that_is_not_declared_gets_its_place():
    """The rows at hand declare mid < hi, and one of them is filled with lo."""
    order = ["lo", "mid", "hi"]
    known = levels(pd.DataFrame({"a": np.arange(30.0), "o": pd.Categorical(order * 10, order, ordered=True)}))
    new = pd.DataFrame({"a": [0.5, 1.5, 2.5], "o": pd.Categorical(["hi", None, "mid"], order[1:], ordered=True)})
    result = filled(new, overrides=known)["o"]
    assert result.tolist() == ["hi", "lo", "mid"]
    assert list(result.cat.categories) == order
    assert result.cat.ordered
    other = new.assign(o=pd.Categorical(["hi", None, "new"], ["new", "hi"], ordered=True))
    with pytest.warns(UserWarning, match="new"):
        kept = filled(other, overrides=known)["o"]
    assert list(kept.cat.categories) == ["new", "hi", "lo"]  # what it declares does not fit into the schema


def test_an_enum_that_lacks_a_category():
    known = levels(
        pl.DataFrame({"a": np.arange(30.0), "o": pl.Series(["lo", "hi"] * 15, dtype=pl.Enum(["lo", "hi"]))})
    )
    new = pl.DataFrame({"a": [2.0, -2.0], "o": pl.Series(["hi", None], dtype=pl.Enum(["hi"]))})
    result = filled(new, overrides=known)["o"]
    assert result.to_list() == ["hi", "lo"]
    assert result.dtype == pl.Enum(["lo", "hi"])


def test_sparse_columns_stay_sparse():
    dense = pd.DataFrame({"a": np.arange(30.0), "s": np.where(np.arange(30) % 3, np.nan, np.arange(30) / 2)})
    schema = Schema.infer(dense, {"s": "real"})
    sparse = dense.astype({"s": pd.SparseDtype(float)})
    result = fill(sparse, schema, np.ones((30, 2)), ~read(sparse, schema).observed, forms_of(dense, schema))
    assert result["s"].dtype == sparse["s"].dtype
    assert result["s"].tolist() == np.where(np.arange(30) % 3, 1.0, np.arange(30) / 2).tolist()


def test_booleans_become_what_numbers_were():
    """Categories 1 and 2: a boolean cannot say 2."""
    frame = pd.DataFrame({"a": np.arange(30.0), "o": [1, 2] * 15})
    schema = Schema.infer(frame, {"a": "real", "o": "binary"})
    new = pd.DataFrame({"a": [1.0, -1.0], "o": [True, False]})
    with pytest.warns(UserWarning, match="0"):
        observed = read(new, schema, unseen="missing").observed
    assert fill(new, schema, np.ones((2, 2)), ~observed, forms_of(frame, schema))["o"].tolist() == [1, 2]
