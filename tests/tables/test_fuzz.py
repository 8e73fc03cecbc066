"""Random tables through schema, fit, impute, sample, save and load: nothing is lost, and errors name what is wrong.

Short here; `make fuzz` tries thousands of tables. See docs/reliability.md.
"""

import re
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, event, given, settings

from evenhand.tables import Schema, TabularVAE, read_file, write_file
from evenhand.tables.cells import cells, columns_of, is_missing, n_rows
from evenhand.tables.frames import read

from ._fuzz import LIBRARIES, tables

pytestmark = [pytest.mark.fuzz, pytest.mark.filterwarnings("ignore")]
NAMED = re.compile(r"(X|schema|frame|given|column ['\"].*|.*\.csv) (should|holds|cannot|mixes|has) ", re.DOTALL)
TINY = {"method": "sum", "kl_weight": 0.5, "n_hidden": 4, "n_layers": 1, "n_latent": 2, "max_epochs": 1, "n_draws": 2}
ALLOWED = (  # warnings that are ours
    "treated as missing",
    "categories that the schema lacks",
    "missing cells are left",
    "should be counted from",
    "taken for 1",
)


def check_own(error):
    """The error is raised by us, on purpose, and names what is wrong."""
    assert isinstance(error, ValueError | TypeError), repr(error)
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    assert "/evenhand/" in where, f"{error!r} comes from {where}"
    assert NAMED.match(str(error)), str(error)


def plain(frame):
    """Columns by name as lists of Python values, None where a cell is missing."""
    found = {}
    for name, native in columns_of(frame).items():
        values = (
            native.to_pylist()
            if hasattr(native, "to_pylist")
            else native.tolist()
            if hasattr(native, "tolist")
            else native.to_list()
        )
        found[name] = [None if is_missing(value) else value for value in values]
    return found


def dtypes(frame):
    if isinstance(frame, np.ndarray):
        return frame.dtype
    if isinstance(frame, pd.DataFrame):
        return [str(dtype) for dtype in frame.dtypes]
    return frame.schema


def turned(frame):
    """The columns the other way round."""
    if isinstance(frame, pd.DataFrame):
        return frame[frame.columns[::-1]]
    return frame.select(list(frame.columns if isinstance(frame, pl.DataFrame) else frame.column_names)[::-1])


def check_filled(frame, filled, schema, words):
    before, after = plain(frame), plain(filled)
    assert list(before) == list(after)
    assert type(filled) is type(frame)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_index_equal(filled.index, frame.index)
        pd.testing.assert_index_equal(filled.columns, frame.columns)
    assert dtypes(filled) == dtypes(frame) or empty_of_type(frame)
    for name, old in before.items():
        for was, now in zip(old, after[name], strict=True):
            if was is None:
                assert now is not None or name in schema.ignored, (name, "a hole is left")
            elif not (words and isinstance(was, str) and name in schema and schema[name].kind.numeric):
                assert type(now) is type(was), (name, was, now)
                assert now == was or repr(now) == repr(was), (name, was, now)


def empty_of_type(frame):
    """Whether a column without any cell has no type to keep."""
    return not isinstance(frame, pd.DataFrame | np.ndarray) and any(
        "null" in str(t).lower() for t in (frame.dtypes if isinstance(frame, pl.DataFrame) else frame.schema.types)
    )


def check_new(new, frame, schema):
    """Rows of the schema's columns, in the frame's order, inside the values that were seen."""
    if isinstance(new, np.ndarray) and schema.ignored:  # whose columns have other numbers then
        assert new.shape[1] == len(schema)
        return
    made = columns_of(new)
    assert list(made) == [name for name in columns_of(frame) if name in schema]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw, old = read(new, schema), read(frame, schema)
    assert raw.observed.all()
    for d, column in enumerate(schema):
        seen = old.values[old.observed[:, d], d]
        slack = 1e-6 * max(1e-300, np.abs(seen).max()) + (1.0 if column.unit else 0.0)
        assert raw.values[:, d].min() >= seen.min() - slack, column
        assert raw.values[:, d].max() <= seen.max() + slack or column.kind.nominal, column


def live(frame, folder):
    """From the table to the file and back."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            schema = Schema.infer(frame, unsupported="ignore")
        except (ValueError, TypeError) as error:
            check_own(error)
            event("refused by the schema")
            return
        assert Schema.from_toml(schema.to_toml()) == schema
        try:
            estimator = TabularVAE(**TINY, unsupported="ignore", random_state=0, device="cpu").fit(frame)
        except (ValueError, TypeError) as error:
            check_own(error)
            event("refused by the fit")
            return
        event("fitted")
        filled = estimator.transform(frame)
        (drawn,) = estimator.sample_posterior(frame, 1)
        new = estimator.sample(7)
        scores = estimator.score_samples(frame, 3)
        estimator.save(folder / "model")
        loaded = TabularVAE.load(folder / "model")
        again, anew, rescored = loaded.transform(frame), loaded.sample(7), loaded.score_samples(frame, 3)
        by_name = None if isinstance(frame, np.ndarray) else turned(estimator.transform(turned(frame)))
    messages = [str(w.message) for w in told]
    assert all(any(words in message for words in ALLOWED) for message in messages), messages
    words = any("treated as missing" in message for message in messages)
    for table in (filled, drawn):
        check_filled(frame, table, estimator.schema_, words)
    left = sum(v is None for values in plain(filled).values() for v in values)
    assert (left > 0) == any("missing cells are left" in message for message in messages)
    check_new(new, frame, estimator.schema_)
    assert np.isfinite(scores).all()
    assert plain(again) == plain(filled)
    assert plain(anew) == plain(new)
    assert dtypes(anew) == dtypes(new)
    np.testing.assert_array_equal(scores, rescored)
    assert by_name is None or plain(by_name) == plain(filled)


@given(tables([library for library in LIBRARIES if library != "csv"]))
@settings(suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_every_table_lives_or_is_refused_by_name(table):
    try:
        frame = table.frame()
    except (TypeError, ValueError, OverflowError, pa_error(), pl.exceptions.PolarsError):
        return  # the library has no such column
    with tempfile.TemporaryDirectory() as folder:
        live(frame, Path(folder))


@given(tables(["csv"]))
@settings(suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_every_file_lives_or_is_refused_by_name(table):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(table.content())
        try:
            file = read_file(path)
        except ValueError as error:
            check_own(error)
            event("refused by the reader")
            return
        taken = any("taken as data" in note for note in file.conversions)
        blank = sum(
            all(str("" if c is None else c).strip() == "" for c in row)
            for row in zip(*table.cells().values(), strict=True)
        )
        assert table.n - blank - 1 <= n_rows(file.frame) - (taken and table.header) <= table.n
        live(file.frame, Path(folder))
        write_file(file.frame, Path(folder) / "again.csv")
        again = read_file(Path(folder) / "again.csv", header=True).frame
        assert again.shape == file.frame.shape


def pa_error():
    import pyarrow

    return pyarrow.ArrowException


def test_cells_are_counted():
    """The helpers of this file see what they should."""
    frame = pd.DataFrame({"a": [1.0, None]})
    assert plain(frame) == {"a": [1.0, None]}
    assert cells(frame["a"]).observed.tolist() == [True, False]
    with pytest.raises(AssertionError):
        check_own(RuntimeError("X should be fine."))
    with pytest.raises(AssertionError):
        check_filled(frame, frame.fillna(2.0) + 1, Schema.infer(pd.DataFrame({"a": [1.0, 2.0, 3.5]})), False)
