"""A fitted estimator as one file: numbers in safetensors, the rest as JSON inside of it. Nothing is unpickled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ...common import LatentMixture
from ..families import FAMILIES, Family
from ..kinds import Preprocessing
from ..schema import Schema
from ..stack import Preparation
from ..trees import Forest
from ._exact import Exact
from ._fitted import Fitted, tensors_of
from ._fitting import Outcome
from ._masking import Masking
from ._opinions import Opinions
from ._saved import frames_of, given_schema, part_of, plain_schema, read_estimator, write_estimator

if TYPE_CHECKING:
    from ._tabular_vae import TabularVAE

FORMAT = 4  # 1 had no direct way, 2 no trees, 3 no log-odds of being missing
PLAIN = ("method", "kl_weight", "selection", "history", "columns", "rate", "n_steps", "hide", "resample", "direct")


def save(estimator: TabularVAE, path: Path) -> None:
    """Write everything that the estimator's methods need; an existing file is replaced only by a whole one."""
    fitted = estimator._fitted
    about = {
        "parameters": {k: _plain(k, v, estimator) for k, v in estimator.get_params(deep=False).items()},
        "schema": fitted.schema.to_toml(),
        "preprocessing": fitted.preparation.preprocessings[0].to_dict(),
        "architecture": {"family": fitted.network.name, **fitted.network.architecture()},
        "limits": fitted.preparation.limits.tolist(),
        "trivial": fitted.trivial.tolist(),
        "opinions": {name: getattr(fitted.opinions, name).tolist() for name in ("weights", "constant")},
        "seed": fitted.seed,
        "fitted": {f"{name}_": getattr(estimator, f"{name}_") for name in PLAIN},
        "feature_names_in": _names(estimator),
    }
    write_estimator(path, estimator, FORMAT, (fitted.template, fitted.forms), tensors_of(fitted), about)


def load(cls: type[TabularVAE], path: Path) -> TabularVAE:
    """Read what `save` wrote."""
    return read_estimator(cls, path, FORMAT, _restore)


def _restore(cls: type[TabularVAE], about: dict[str, Any], tensors: dict[str, Tensor]) -> TabularVAE:
    parameters = about["parameters"]
    estimator = cls(**{**parameters, "schema": given_schema(parameters["schema"])})
    if about["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(about["feature_names_in"], dtype=object)
    fitted = _fitted(about, tensors)
    _check_finite(fitted)
    known = {"direct_": 0.0, **about["fitted"]}  # files of format 1 do not say
    estimator._take(Outcome(fitted, **{name: known[f"{name}_"] for name in PLAIN}))
    return estimator


def _fitted(about: dict[str, Any], tensors: dict[str, Tensor]) -> Fitted:
    units = Preprocessing.from_dict(about["preprocessing"])
    if units.schema != Schema.from_toml(about["schema"]):
        raise ValueError("the schema is not that of the preprocessing")
    architecture = dict(about["architecture"])
    family = FAMILIES[architecture.pop("family")]
    limits = torch.tensor(about["limits"], dtype=torch.float64)
    preparation = Preparation(family, [units], limits, encoding=family.encoding or "one-hot")
    template, forms = frames_of(about)
    mixture, exact = (_arrays(tensors, of) for of in ("mixture", "exact"))
    masking = part_of(tensors, "masking")
    network = _network(family, preparation, architecture, part_of(tensors, "network"))
    return Fitted(
        network=network,
        preparation=preparation,
        template=template,
        forms=forms,
        seed=int(about["seed"]),
        trivial=np.array(about["trivial"]),
        opinions=_opinions(about, _arrays(tensors, "trees"), network),
        codes=tensors["latent"].numpy(),
        quantiles=tensors["quantiles"].numpy(),
        mixture=LatentMixture.from_state(mixture) if mixture else None,
        exact=Exact(**exact) if exact else None,
        masking=Masking(**masking) if masking else None,
    )


def _opinions(about: dict[str, Any], trees: dict[str, Any], network: Family) -> Opinions:
    if about["format"] < 3:
        return Opinions.of_shrinkage(np.array(about["shrinkage"]), np.array(about["trivial"]), network.likelihood)
    parts = {name: np.array(about["opinions"][name]) for name in ("weights", "constant")}
    return Opinions(**parts, forest=Forest.of_arrays(trees) if trees else None)


def _arrays(tensors: dict[str, Tensor], of: str) -> dict[str, Any]:
    return {name: x.numpy() for name, x in part_of(tensors, of).items()}


def _network(
    family: type[Family], preparation: Preparation, architecture: dict[str, Any], weights: dict[str, Tensor]
) -> Family:
    """The network in the precision that its weights were saved in."""
    make: Any = family
    network: Family = make(likelihood=preparation.likelihood(), seeds=[0], **architecture)
    dtype = next(x.dtype for x in weights.values() if x.is_floating_point())
    own = {name: buffer.to(dtype) for name, buffer in network.named_buffers(recurse=False)}
    for name, buffer in own.items():
        setattr(network, name, buffer)
    network.load_state_dict(weights, assign=True)
    return network.eval()


def _check_finite(fitted: Fitted) -> None:
    units = fitted.preparation.preprocessings[0]
    known = [fitted.preparation.limits.numpy(), fitted.codes, fitted.opinions.weights, fitted.opinions.constant]
    known += [getattr(units, name).numpy() for name in ("centre", "scale", "shift", "offset")]
    known += [tensor.numpy() for tensor in fitted.network.state_dict().values()]
    if not all(np.isfinite(numbers).all() for numbers in known):
        raise ValueError("some numbers are not finite")


def _plain(name: str, value: Any, estimator: TabularVAE) -> Any:
    """A constructor's argument as JSON can hold it."""
    if name == "schema":
        return plain_schema(value)
    if name == "method":
        several = isinstance(value, list | tuple)
        strings = isinstance(value, str) or (several and all(isinstance(v, str) for v in value))
        return value if strings else estimator.method_  # an object has no name: what was chosen has
    if name == "device":
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return None if isinstance(value, np.random.RandomState) else value


def _names(estimator: TabularVAE) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(names)
