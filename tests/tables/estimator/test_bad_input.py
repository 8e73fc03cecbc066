"""What cannot be learnt from is named, and a fitted model survives it."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from evenhand.tables.schema import Schema

from ._tables import columns, fitted, same, table, tiny

NUMBERS = pd.DataFrame({"a": [1.5, 2.5, 3.0], "b": [0.1, 0.2, -0.3]})
BAD = {
    "no rows": (NUMBERS[:0], ValueError, "Found 0 sample"),
    "no rows of polars": (pl.from_pandas(NUMBERS[:0]), ValueError, "Found 0 sample"),
    "no rows of pyarrow": (pa.table({"a": pa.array([], pa.float64())}), ValueError, "Found 0 sample"),
    "no rows of numpy": (np.empty((0, 3)), ValueError, "0 sample"),
    "no columns": (NUMBERS[[]], ValueError, "0 feature"),
    "no columns of numpy": (np.empty((3, 0)), ValueError, "0 feature"),
    "one row": (NUMBERS[:1], ValueError, "at least 2 rows .* n_samples=1"),
    "all missing": (NUMBERS.assign(b=np.nan), ValueError, "'b' is empty"),
    "all missing text": (NUMBERS.assign(b=pd.Series([None] * 3, dtype=object)), ValueError, "'b' is empty"),
    "constant": (NUMBERS.assign(b=7), ValueError, "'b' is constant, all its cells are 7"),
    "too large an integer": (
        NUMBERS.assign(b=[1, 2, 2**60]),
        ValueError,
        "'b' holds the whole number 1152921504606846976",
    ),
    "infinite": (NUMBERS.assign(b=[1.0, np.inf, 2.0]), ValueError, "'b' holds infinite values"),
    "infinite in numpy": (
        np.array([[1.5, -np.inf], [2.5, 3.0], [1.0, 2.2]]),
        ValueError,
        "'x1' holds infinite values",
    ),
    "two of one name in pyarrow": (
        pa.table([[1.5, 2.5], [0.1, 0.2]], names=["a", "a"]),
        ValueError,
        "X should have columns with distinct names. Found 'a' twice. Rename one",
    ),
    "beyond what can be learnt": (
        NUMBERS.assign(b=[1.0, 1e300, 2.0]),
        ValueError,
        "X should hold numbers up to 1e.30. Found 1e.300 in column 'b'",
    ),
    "two of one name": (
        NUMBERS.set_axis(["a", "a"], axis=1),
        ValueError,
        "X should have columns with distinct names. Found 'a' twice",
    ),
    "mixed types": (
        NUMBERS.assign(b=pd.Series([1, "two", 3], dtype=object)),
        ValueError,
        "'b' mixes values of type int, str",
    ),
    "lists in cells": (
        NUMBERS.assign(b=pd.Series([[1], [2], [3]], dtype=object)),
        ValueError,
        "'b' holds values of type list",
    ),
    "mixed names": (
        NUMBERS.set_axis(["a", 1], axis=1),
        TypeError,
        "only supported if all input features have string names",
    ),
    "dictionary": ({"a": [1, 2], "b": [3, 4]}, TypeError, "Found a dict: make a DataFrame of it"),
    "one axis": (np.arange(5.0), ValueError, "Expected 2D array, got 1D array"),
    "three axes": (np.zeros((2, 2, 2)), ValueError, "dim 3"),
    "one column": (NUMBERS["a"], ValueError, "Expected 2D array, got 1D array|Expected a 2-dimensional container"),
    "a number": (3.0, ValueError, "Expected 2D array, got scalar"),
    "nothing": (None, ValueError, "NoneType|2D array"),
    "a text": ("table.csv", ValueError, "Expected 2D array, got scalar"),
    "complex": (np.array([[1j, 2], [3, 4]]), ValueError, "Complex data not supported"),
    "sparse": (scipy.sparse.csr_array(np.eye(3)), TypeError, "[Ss]parse"),
    "lazy": (pl.from_pandas(NUMBERS).lazy(), TypeError, "call collect\\(\\) first"),
    "ragged": ([[1, 2], [3]], ValueError, "inhomogeneous|sequence"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_named_and_the_earlier_model_survives(name):
    X, error, message = BAD[name]
    estimator = copy.deepcopy(fitted())
    expected = estimator.transform(table())
    with pytest.raises(error, match=message):
        estimator.fit(X)
    assert same(estimator.transform(table()), expected)
    assert vars(estimator).keys() == vars(fitted()).keys()
    fresh = tiny()
    with pytest.raises(error, match=message):
        fresh.fit(X)
    assert set(vars(fresh)) == set(fresh.get_params())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X: X.drop(columns=["real", "size"]), ValueError, "real"),
        (lambda X: X.assign(height=1.0), ValueError, "height"),
        (lambda X: X.rename(columns={"real": "unreal"}), ValueError, "unreal"),
        (lambda X: X.assign(real=np.inf), ValueError, "'real' holds infinite values"),
        (lambda X: X.assign(real="text"), ValueError, "'real' should hold numbers"),
        (lambda X: X.assign(count=0.5), ValueError, "'count' cannot be a count, it holds 0.5"),
        (lambda X: X.assign(positive=-1.0), ValueError, "'positive' should hold positive numbers only. Found -1"),
        (lambda X: X.assign(day=3), ValueError, "'day' should hold dates"),
        (lambda X: X.assign(whole=2**60), ValueError, "'whole' holds the whole number"),
        (lambda X: X.to_dict("list"), TypeError, "Found a dict"),
        (lambda X: X[:0], ValueError, "Found 0 sample"),
        (lambda X: X.iloc[0], ValueError, "2D array|2-dimensional"),
    ],
    ids=[
        "fewer",
        "more",
        "renamed",
        "inf",
        "text",
        "count",
        "negative",
        "day",
        "large",
        "dict",
        "no rows",
        "row",
    ],
)
@pytest.mark.parametrize("method", ["transform", "score_samples", "encode", "reconstruct", "sample_posterior"])
def test_bad_rows_are_named_and_the_model_survives(change, error, message, method):
    estimator = fitted()
    with pytest.raises(error, match=message):
        getattr(estimator, method)(change(table()))
    assert not estimator.transform(table()).isna().any(axis=None)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_that_lack_or_are_too_many_are_named(library):
    X = table(library)
    names = list(columns())
    fewer = X.select(names[1:])
    with pytest.raises(ValueError, match="Found none called 'real'"):
        fitted(library).transform(fewer)
    more = X.with_columns(height=1) if library == "polars" else X.append_column("height", pa.array([1] * len(X)))
    with pytest.raises(ValueError, match="Found 'height'"):
        fitted(library).transform(more)


def test_arrays_of_another_width_are_refused():
    with pytest.raises(ValueError, match="X has 3 features, but TabularVAE is expecting 4"):
        fitted("floats").transform(table("floats")[:, :3])


def test_a_lazy_frame_is_refused_after_the_fit_too():
    with pytest.raises(TypeError, match="call collect"):
        fitted("polars").transform(table("polars").lazy())


def test_lists_are_taken_as_arrays():
    numbers = [[1.5, 0.0, 3.0], [2.5, None, 1.0], [0.5, 1.0, 4.0], [1.1, 0.0, np.nan]]
    filled = tiny(max_epochs=1).fit_transform(numbers)
    assert filled.shape == (4, 3)
    assert not np.isnan(filled.astype(float)).any()


def test_numbers_beside_texts_in_lists_stay_numbers():
    rows = [[1.5, "yes"], [2.5, "no"], [np.nan, "no"], [0.5, None], [3.5, "yes"]]
    estimator = tiny(max_epochs=1).fit(rows)
    assert [str(kind) for kind in estimator.schema_.kinds] == ["positive", "binary"]
    filled = estimator.transform(rows)
    assert filled[0].tolist() == [1.5, "yes"]
    assert isinstance(filled[2, 0], float)
    assert filled[3, 1] in ("yes", "no")


@pytest.mark.parametrize(
    "method", ["transform", "score_samples", "score", "encode", "reconstruct", "sample_posterior"]
)
def test_nothing_works_before_the_fit(method):
    with pytest.raises(NotFittedError):
        getattr(tiny(), method)(table())


@pytest.mark.parametrize("method", ["sample", "report", "get_feature_names_out"])
def test_nothing_comes_out_before_the_fit(method):
    with pytest.raises(NotFittedError):
        getattr(tiny(), method)()


def test_a_schema_of_another_table_is_refused():
    with pytest.raises(ValueError, match="Found none called 'a'"):
        tiny(schema=Schema.infer(NUMBERS)).fit(table())
    with pytest.raises(ValueError, match="Found none in b"):
        tiny(schema=Schema.infer(NUMBERS)).fit(NUMBERS.assign(b=np.nan))


@pytest.mark.parametrize("n", [2, 3, 12])
def test_few_rows_are_enough(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    estimator = tiny().fit(X)
    assert estimator.sample(3).shape == (3, 3)
    assert np.isfinite(estimator.score(X))


def test_a_column_may_be_seen_in_held_out_rows_alone():
    X = np.random.default_rng(0).normal(size=(200, 3))
    seen = X[:, 2].copy()
    X[:, 2] = np.nan
    X[:3, 2] = seen[:3]
    for seed in range(6):
        estimator = tiny(random_state=seed, validation_fraction=0.9).fit(X)
        assert not np.isnan(estimator.transform(X)).any()
        assert np.isfinite(estimator.sample(5)).all()


def test_extreme_values_do_not_break_training():
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[0] = 1e12
    X[:, 1] *= 1e-12
    estimator = tiny(max_epochs=5).fit(X)
    assert np.isfinite(estimator.score_samples(X)).all()
    assert np.isfinite(estimator.sample(10)).all()
