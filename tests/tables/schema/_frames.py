"""The same columns as frames of every library."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def as_array(columns):
    frame = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for j, values in enumerate(columns.values()):
        frame[:, j] = values
    return frame


LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "numpy": as_array}
FRAMES = {name: make for name, make in LIBRARIES.items() if name != "numpy"}


def types_of(frame):
    """What must stay as it is when a frame is filled."""
    if isinstance(frame, np.ndarray):
        return frame.dtype
    return list(frame.dtypes) if isinstance(frame, pd.DataFrame) else frame.schema


def to_lists(frame):
    if isinstance(frame, np.ndarray):
        return [list(column) for column in frame.T]
    frame = nw.from_native(frame, eager_only=True)
    return [frame[name].to_list() for name in frame.columns]
