"""The kind, columns and types of a frame, as JSON can hold them."""

from __future__ import annotations

import base64
import io
from typing import Any

import narwhals as nw
import numpy as np


def describe_template(frame: Any) -> dict[str, Any]:
    """An empty frame: its library and the types of its columns."""
    if isinstance(frame, np.ndarray):
        return {"library": "numpy", "dtype": frame.dtype.str, "columns": frame.shape[1]}
    if nw.dependencies.is_pandas_dataframe(frame):
        return {"library": "pandas", "columns": [_describe_pandas(frame[name], name) for name in frame.columns]}
    buffer = io.BytesIO()
    if nw.dependencies.is_polars_dataframe(frame):
        frame.write_ipc(buffer)
        library = "polars"
    else:
        arrow = nw.dependencies.get_pyarrow()
        with arrow.ipc.new_file(buffer, frame.schema) as writer:
            writer.write_table(frame)
        library = "pyarrow"
    return {"library": library, "ipc": base64.b64encode(buffer.getvalue()).decode()}


def _describe_pandas(column: Any, name: Any) -> dict[str, Any]:
    about: dict[str, Any] = {"name": name, "dtype": str(column.dtype)}
    if about["dtype"] == "category":
        about |= {"categories": column.cat.categories.tolist(), "ordered": bool(column.cat.ordered)}
    return about


def make_template(about: dict[str, Any]) -> Any:
    """The empty frame that `describe_template` described."""
    if about["library"] == "numpy":
        return np.empty((0, about["columns"]), dtype=np.dtype(about["dtype"]))
    if about["library"] == "pandas":
        import pandas as pd

        columns = {}
        for c in about["columns"]:
            dtype = pd.CategoricalDtype(c["categories"], c["ordered"]) if "categories" in c else c["dtype"]
            name = tuple(c["name"]) if isinstance(c["name"], list) else c["name"]  # JSON has no tuples
            columns[name] = pd.Series([], dtype=dtype)
        return pd.DataFrame(columns)
    buffer = io.BytesIO(base64.b64decode(about["ipc"]))
    if about["library"] == "polars":
        import polars

        return polars.read_ipc(buffer)
    import pyarrow.ipc

    return pyarrow.ipc.open_file(buffer).read_all()
