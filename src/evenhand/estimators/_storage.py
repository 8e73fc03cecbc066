"""A fitted estimator as one file: numbers in safetensors, everything else as JSON inside of it. Nothing is unpickled."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ..data import Preprocessing
from ..evaluation import LatentMixture
from ..impartial import Method
from ..schema import Schema

if TYPE_CHECKING:
    from ._tabular_vae import TabularVAE

FORMAT = 1
PLAIN = ("method_", "kl_weight_", "selection_", "history_", "columns_", "rate_", "n_steps_", "hide_", "resample_")


def save(estimator: TabularVAE, path: Path) -> None:
    """Write everything that the estimator's methods need; an existing file is replaced only by a whole one."""
    tensors = {f"network.{k}": v.contiguous() for k, v in estimator.network_.state_dict().items()}
    tensors["latent"] = torch.tensor(estimator._latent_codes)
    if estimator._mixture is not None:
        tensors |= {f"mixture.{k}": torch.tensor(v) for k, v in estimator._mixture.state().items()}
    about = {
        "format": FORMAT,
        "class": type(estimator).__name__,
        "parameters": {k: _plain(k, v, estimator) for k, v in estimator.get_params(deep=False).items()},
        "schema": estimator.schema_.to_toml(),
        "preprocessing": estimator.preprocessing_.to_dict(),
        "limits": estimator.limits_.tolist(),
        "seed": estimator._seed,
        "fitted": {name: getattr(estimator, name) for name in PLAIN},
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": _names(estimator),
        "template": _describe_template(estimator._template),
    }
    partial = path.with_name(path.name + ".partial")
    save_file(tensors, partial, metadata={"evenhand": json.dumps(about)})
    partial.replace(path)


def load(cls: type[TabularVAE], path: Path) -> TabularVAE:
    """Read what `save` wrote."""
    if not path.is_file():
        raise FileNotFoundError(f"path should be a file that save() wrote. Found nothing at {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("evenhand", "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} should be a whole file that save() wrote. It is damaged: {error}") from error
    _check(about, path, cls)
    return _restore(cls, about, tensors)


def _check(about: Any, path: Path, cls: type) -> None:
    if not isinstance(about, dict) or "format" not in about:
        raise ValueError(f"{path} should be a file that save() of {cls.__name__} wrote. Found something else.")
    if about["format"] > FORMAT:
        raise ValueError(
            f"{path} was written by a newer version of evenhand (format {about['format']}; this one reads up to "
            f"{FORMAT}). Update evenhand to read it."
        )
    if about["class"] != cls.__name__:
        raise ValueError(f"{path} holds a {about['class']}. Load it with {about['class']}.load.")


def _restore(cls: type[TabularVAE], about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> TabularVAE:
    parameters = dict(about["parameters"])
    schema = Schema.from_toml(about["schema"])
    if isinstance(parameters["schema"], str):
        parameters["schema"] = Schema.from_toml(parameters["schema"])
    estimator = cls(**parameters)
    estimator.schema_ = schema
    estimator.preprocessing_ = Preprocessing.from_dict(about["preprocessing"])
    estimator.limits_ = np.array(about["limits"])
    estimator._seed = about["seed"]
    for name in PLAIN:
        setattr(estimator, name, about["fitted"][name])
    estimator.n_features_in_ = about["n_features_in"]
    if about["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
    estimator._template = _make_template(about["template"])
    estimator._latent_codes = tensors["latent"].numpy()
    mixture = {k.removeprefix("mixture."): v.numpy() for k, v in tensors.items() if k.startswith("mixture.")}
    estimator._mixture = LatentMixture.from_state(mixture) if mixture else None
    weights = {k.removeprefix("network."): v for k, v in tensors.items() if k.startswith("network.")}
    first = weights["component.weight" if estimator.model == "hivae" else "normalise.mean"]
    network = estimator._network(first.shape[-1], [0])
    network.load_state_dict(weights, assign=True)  # in the precision that they were saved in
    estimator.network_ = network.eval()
    return estimator


def _plain(name: str, value: Any, estimator: TabularVAE) -> Any:
    """A constructor's argument as JSON can hold it."""
    if isinstance(value, Schema):
        return value.to_toml()
    if isinstance(value, Method) or name == "method":
        several = isinstance(value, list | tuple)
        strings = isinstance(value, str) or (several and all(isinstance(v, str) for v in value))
        return value if strings else estimator.method_  # an object has no name: what was chosen has
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, np.random.RandomState):
        return None
    return dict(value) if name == "schema" and value is not None else value


def _names(estimator: TabularVAE) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(names)


def _describe_template(frame: Any) -> dict[str, Any]:
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


def _make_template(about: dict[str, Any]) -> Any:
    if about["library"] == "numpy":
        return np.empty((0, about["columns"]), dtype=np.dtype(about["dtype"]))
    if about["library"] == "pandas":
        import pandas as pd

        columns = {}
        for c in about["columns"]:
            dtype = pd.CategoricalDtype(c["categories"], c["ordered"]) if "categories" in c else c["dtype"]
            columns[c["name"]] = pd.Series([], dtype=dtype)
        return pd.DataFrame(columns)
    buffer = io.BytesIO(base64.b64decode(about["ipc"]))
    if about["library"] == "polars":
        import polars

        return polars.read_ipc(buffer)
    import pyarrow.ipc

    return pyarrow.ipc.open_file(buffer).read_all()
