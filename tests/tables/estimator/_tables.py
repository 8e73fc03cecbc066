"""Small tables of every library, with holes, and estimators that are fitted to them in a moment."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from evenhand.tables.estimator import TabularVAE

TINY = {
    "method": "sum",
    "trees": False,
    "kl_weight": 0.5,
    "n_hidden": 8,
    "n_layers": 1,
    "n_latent": 2,
    "max_epochs": 2,
    "n_draws": 4,
}
FRAMES = ("pandas", "polars", "pyarrow")
LIBRARIES = (*FRAMES, "floats", "objects")
COLOURS, SIZES = ["blue", "green", "red"], ["small", "medium", "large", "huge"]


def tiny(**changes):
    """An estimator that is fitted in a moment."""
    return TabularVAE(**{**TINY, "random_state": 0, **changes})


def columns(n=90, seed=0, holes=0.15):
    """Columns of all sorts, as lists with None in holes; all depend on one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    days = np.datetime64("2020-03-01", "us") + np.rint(20 * hidden).astype("m8[D]")
    made = {
        "real": hidden + 0.3 * rng.normal(size=n),
        "positive": np.exp(hidden + 0.3 * rng.normal(size=n)),
        "count": rng.poisson(np.exp(1 + 0.5 * hidden)),
        "flag": hidden + 0.5 * rng.normal(size=n) > 0,
        "colour": np.array(COLOURS)[np.digitize(hidden + 0.3 * rng.normal(size=n), [-0.5, 0.5])],
        "size": np.array(SIZES)[np.digitize(hidden + 0.3 * rng.normal(size=n), [-1, 0, 1])],
        "text": np.array(["no", "yes", "perhaps"])[np.digitize(hidden + rng.normal(size=n), [-0.5, 0.5])],
        "day": days,
    }
    hidden_cells = rng.random((n, len(made))) < holes
    return {
        name: [None if hole else cell for cell, hole in zip(values.tolist(), gone, strict=True)]
        for (name, values), gone in zip(made.items(), hidden_cells.T, strict=True)
    }


def as_pandas(data):
    types = {
        "count": "float64",
        "flag": "boolean",
        "colour": pd.CategoricalDtype(COLOURS),
        "size": pd.CategoricalDtype(SIZES, ordered=True),
        "text": "string",
        "day": "datetime64[us]",
    }
    frame = pd.DataFrame(data).astype(types)
    frame["whole"] = frame["count"].astype("Int64") + 1
    return frame.set_index(pd.Index([f"row {i}" for i in range(len(frame))], name="who"))


def as_polars(data):
    types = {"flag": pl.Boolean, "colour": pl.Categorical, "size": pl.Enum(SIZES), "day": pl.Date}
    return pl.DataFrame(data).cast({"day": pl.Datetime("us")}).cast(types)


def as_pyarrow(data):
    table = pa.table(data)
    colours = pa.chunked_array([pa.array(data["colour"]).dictionary_encode()])
    return table.set_column(table.column_names.index("colour"), "colour", colours)


def as_floats(data):
    numbers = [data["real"], data["positive"], data["count"], data["flag"]]
    return np.array([[np.nan if cell is None else float(cell) for cell in column] for column in numbers]).T


def as_objects(data):
    frame = np.empty((len(data["real"]), len(data)), dtype=object)
    for j, cells in enumerate(data.values()):
        frame[:, j] = cells
    return frame


MAKERS = {
    "pandas": as_pandas,
    "polars": as_polars,
    "pyarrow": as_pyarrow,
    "floats": as_floats,
    "objects": as_objects,
}


def table(library="pandas", **options):
    """The columns as a frame or an array."""
    return MAKERS[library](columns(**options))


@functools.cache
def _fitted(library, changes):
    return tiny(**dict(changes)).fit(table(library))


def fitted(library="pandas", **changes):
    """A fitted estimator, which tests share and therefore do not change."""
    return _fitted(library, tuple(changes.items()))


def dependent(n=400, seed=0, missing=0.0):
    """Two numbers and a category that say the same, nearly."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "a": hidden + 0.1 * rng.normal(size=n),
            "b": -hidden + 0.1 * rng.normal(size=n),
            "sign": np.where(hidden > 0, "above", "below"),
        }
    )
    return frame.mask(rng.random(frame.shape) < missing) if missing else frame


@functools.cache
def well_trained():
    """An estimator that has learnt the dependence of these columns."""
    options = {"n_hidden": 32, "n_layers": 2, "kl_weight": 0.3, "max_epochs": 60, "lr": 1e-2, "batch_size": 64}
    return tiny(**options).fit(dependent())


def holes(frame):
    """Which cells are missing."""
    if isinstance(frame, np.ndarray):
        return pd.isna(frame)
    if isinstance(frame, pd.DataFrame):
        return frame.isna().to_numpy()
    names = frame.columns if isinstance(frame, pl.DataFrame) else frame.column_names
    lists = [frame[name].to_list() if isinstance(frame, pl.DataFrame) else frame[name].to_pylist() for name in names]
    return np.array([[cell is None for cell in column] for column in lists]).T


def cells(frame):
    """All cells as Python values, row by row."""
    if isinstance(frame, np.ndarray):
        return frame.tolist()
    if isinstance(frame, pd.DataFrame):
        return [list(row) for row in zip(*[frame.iloc[:, j].tolist() for j in range(frame.shape[1])], strict=True)]
    return (
        [list(row) for row in frame.rows()]
        if isinstance(frame, pl.DataFrame)
        else [list(r.values()) for r in frame.to_pylist()]
    )


def types(frame):
    """The types of the columns."""
    if isinstance(frame, np.ndarray):
        return frame.dtype
    return dict(frame.dtypes) if isinstance(frame, pd.DataFrame) else frame.schema


def same(a, b):
    """Whether two frames or arrays are equal, types and index included."""
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
        return True
    if isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b)
        return a.dtype == b.dtype
    return a.equals(b)


def untouched(frame, filled):
    """Whether all cells that are not missing came back as they were."""
    triples = zip(cells(frame), cells(filled), holes(frame), strict=True)
    return all(old == new for rows in triples for old, new, gone in zip(*rows, strict=True) if not gone)
