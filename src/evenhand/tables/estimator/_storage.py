"""A fitted estimator as one file: numbers in safetensors, the rest as JSON inside of it. Nothing is unpickled."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ...common import LatentMixture, whole_file
from ..families import HIVAE, VAE
from ..frames import Form
from ..kinds import Preprocessing, TableLikelihood
from ..schema import Column, Schema

if TYPE_CHECKING:
    from ._tabular_vae import TabularVAE

FORMAT = 1
PLAIN = ("method_", "kl_weight_", "selection_", "history_", "columns_", "rate_", "n_steps_", "hide_", "resample_")


def save(estimator: TabularVAE, path: Path) -> None:
    """Write everything that the estimator's methods need; an existing file is replaced only by a whole one."""
    tensors = {f"network.{k}": v.contiguous() for k, v in estimator.network_.state_dict().items()}
    tensors["latent"] = torch.tensor(estimator._latent_codes)
    tensors["quantiles"] = torch.tensor(estimator._quantiles)
    if estimator._mixture is not None:
        tensors |= {f"mixture.{k}": torch.tensor(v) for k, v in estimator._mixture.state().items()}
    about = {
        "format": FORMAT,
        "class": type(estimator).__name__,
        "parameters": {k: _plain(k, v, estimator) for k, v in estimator.get_params(deep=False).items()},
        "schema": estimator.schema_.to_toml(),
        "preprocessing": estimator.preprocessing_.to_dict(),
        "limits": estimator.limits_.tolist(),
        "trivial": estimator.trivial_.tolist(),
        "shrinkage": estimator.shrinkage_.tolist(),
        "seed": estimator._seed,
        "fitted": {name: getattr(estimator, name) for name in PLAIN},
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": _names(estimator),
        "template": _describe_template(estimator._template),
        "forms": {name: asdict(form) for name, form in estimator._forms.items()},
    }
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path should be in a folder that exists. Found none at {path.parent}.")
    with whole_file(path) as partial:
        save_file(tensors, partial, metadata={"evenhand": json.dumps(about)})


def load(cls: type[TabularVAE], path: Path) -> TabularVAE:
    """Read what `save` wrote."""
    if not path.is_file():
        raise FileNotFoundError(f"path should be a file that save() wrote. Found nothing at {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get("evenhand", "null"))
            # copies, because numbers at odd places in memory are added in another order
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} should be a whole file that save() wrote. It is damaged: {error}") from error
    _check(about, path, cls)
    try:
        return _restore(cls, about, tensors)
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ImportError) as error:
        raise ValueError(f"{path} should hold what save() wrote. Its parts do not fit: {error}") from error


def _check(about: Any, path: Path, cls: type) -> None:
    if not isinstance(about, dict) or not isinstance(about.get("format"), int) or "class" not in about:
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
    if estimator.preprocessing_.schema != schema:
        raise ValueError("the schema is not that of the preprocessing")
    estimator.limits_ = np.array(about["limits"])
    estimator.trivial_, estimator.shrinkage_ = np.array(about["trivial"]), np.array(about["shrinkage"])
    estimator._seed = int(about["seed"])
    for name in PLAIN:
        setattr(estimator, name, about["fitted"][name])
    estimator.n_features_in_ = about["n_features_in"]
    if about["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
    estimator._template = _make_template(about["template"])
    estimator._forms = {name: Form(**form) for name, form in about["forms"].items()}
    estimator._latent_codes = tensors["latent"].numpy()
    estimator._quantiles, estimator._model_quantiles = tensors["quantiles"].numpy(), {}
    mixture = {k.removeprefix("mixture."): v.numpy() for k, v in tensors.items() if k.startswith("mixture.")}
    estimator._mixture = LatentMixture.from_state(mixture) if mixture else None
    weights = {k.removeprefix("network."): v for k, v in tensors.items() if k.startswith("network.")}
    estimator.network_ = _network(estimator._likelihood(), weights)
    _check_finite(estimator)
    return estimator


def _network(likelihood: TableLikelihood, weights: dict[str, torch.Tensor]) -> VAE | HIVAE:
    """A network as large as its weights say, in the precision that they were saved in."""
    network: VAE | HIVAE
    if "component.weight" in weights:
        n_inputs, n_latent = weights["component.weight"].shape[-1], weights["mean.weight"].shape[1]
        network = HIVAE(n_inputs, likelihood, seeds=[0], n_latent=n_latent)
        network.own = network.own.to(weights["component.weight"])
    else:
        _, twice_n_latent, n_hidden = weights["posterior.weight"].shape
        network = VAE(
            weights["normalise.mean"].shape[-1],
            likelihood,
            seeds=[0],
            n_latent=twice_n_latent // 2,
            n_hidden=n_hidden,
            n_layers=sum(k.startswith("encoder.") and k.endswith(".weight") for k in weights),
        )
    network.load_state_dict(weights, assign=True)
    return network.eval()


def _check_finite(estimator: TabularVAE) -> None:
    known = [estimator.limits_, estimator._latent_codes]
    known += [getattr(estimator.preprocessing_, name).numpy() for name in ("centre", "scale", "shift", "offset")]
    known += [tensor.numpy() for tensor in estimator.network_.state_dict().values()]
    if not all(np.isfinite(numbers).all() for numbers in known):
        raise ValueError("some numbers are not finite")


def _plain(name: str, value: Any, estimator: TabularVAE) -> Any:
    """A constructor's argument as JSON can hold it."""
    if name == "schema":
        return value.to_toml() if isinstance(value, Schema) else _plain_overrides(value)
    if name == "method":
        several = isinstance(value, list | tuple)
        strings = isinstance(value, str) or (several and all(isinstance(v, str) for v in value))
        return value if strings else estimator.method_  # an object has no name: what was chosen has
    if name == "device":
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return None if isinstance(value, np.random.RandomState) else value


def _plain_overrides(overrides: Any) -> Any:
    if overrides is None:
        return None
    fields = ("kind", "categories", "zero_offset", "unit", "reason")
    return {k: {f: getattr(v, f) for f in fields} if isinstance(v, Column) else v for k, v in overrides.items()}


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
            name = tuple(c["name"]) if isinstance(c["name"], list) else c["name"]  # JSON has no tuples
            columns[name] = pd.Series([], dtype=dtype)
        return pd.DataFrame(columns)
    buffer = io.BytesIO(base64.b64decode(about["ipc"]))
    if about["library"] == "polars":
        import polars

        return polars.read_ipc(buffer)
    import pyarrow.ipc

    return pyarrow.ipc.open_file(buffer).read_all()
