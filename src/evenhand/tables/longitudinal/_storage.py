"""A fitted model of histories as one file: numbers in safetensors, the rest as JSON in it. Nothing is unpickled."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ...common import ArgumentError
from ..estimator import frames_of, given_schema, part_of, plain_schema, read_estimator, write_estimator
from ..kinds import Preprocessing, TableLikelihood
from ..schema import Schema
from ._fitted import Fitted
from ._histories import Clock
from ._network import HistoryVAE

if TYPE_CHECKING:
    from ._longitudinal_vae import LongitudinalVAE

FORMAT = 1


def save(model: LongitudinalVAE, path: Path) -> None:
    """Write everything that the model's methods need; an existing file is replaced only by a whole one."""
    fitted = model._fitted
    about = {
        "parameters": _parameters(model),
        "time": model._clock.to_toml(),
        "clock": asdict(fitted.clock),
        "preprocessing": fitted.preprocessing.to_dict(),
        "architecture": _architecture(fitted.network),
        "history": model.history_,
    }
    write_estimator(path, model, FORMAT, (model._template, model._forms), _tensors(fitted), about)


def load(cls: type[LongitudinalVAE], path: Path) -> LongitudinalVAE:
    """Read what `save` wrote."""
    return read_estimator(cls, path, FORMAT, _restore)


def _restore(cls: type[LongitudinalVAE], about: dict[str, Any], tensors: dict[str, Tensor]) -> LongitudinalVAE:
    fitted = _fitted(about, tensors)
    parameters = about["parameters"]
    # files that say nothing of it have what was found
    schema = given_schema(parameters["schema"]) if "schema" in parameters else fitted.preprocessing.schema
    model = cls(**{**parameters, "schema": schema})
    model._take(fitted, about["history"], Schema.from_toml(about["time"]), *frames_of(about))
    return model


def _parameters(model: LongitudinalVAE) -> dict[str, Any]:
    """The constructor's arguments as JSON can hold them."""
    if not isinstance(model.method, str):
        raise ArgumentError("method", "be a name to be saved", repr(model.method), "Set model.method to its name.")
    values = {k: v.item() if isinstance(v, np.generic) else v for k, v in model.get_params(deep=False).items()}
    seed = values["random_state"] if isinstance(values["random_state"], int) else None
    return values | {"schema": plain_schema(model.schema), "random_state": seed}


def _architecture(network: HistoryVAE) -> dict[str, int]:
    sizes = {"n_latent": network.n_latent, "n_hidden": network.n_hidden}
    return {"n_inputs": network.n_inputs, "n_line": network.skip.in_features, **sizes}


def _tensors(fitted: Fitted) -> dict[str, Tensor]:
    """Weights, limits, shares, and the times of training histories one after another."""
    lengths = torch.tensor([len(pattern) for pattern in fitted.patterns])
    return {
        **{f"network.{name}": x for name, x in fitted.network.state_dict().items()},
        "limits": fitted.limits,
        "shares": torch.tensor(fitted.shares),
        "shares_ahead": torch.tensor(fitted.shares_ahead),
        "times": torch.tensor(np.concatenate(fitted.patterns)),
        "lengths": lengths,
    }


def _fitted(about: dict[str, Any], tensors: dict[str, Tensor]) -> Fitted:
    units = Preprocessing.from_dict(about["preprocessing"])
    likelihood = TableLikelihood(units.schema, [units], limits=tensors["limits"], parameters="moments")
    network = HistoryVAE(likelihood=likelihood, **about["architecture"])
    network.load_state_dict(part_of(tensors, "network"), assign=True)
    patterns = [part.numpy() for part in tensors["times"].split(tensors["lengths"].tolist())]
    return Fitted(
        network=network.eval(),
        preprocessing=units,
        clock=Clock(**about["clock"]),
        patterns=patterns,
        limits=tensors["limits"],
        shares=tensors["shares"].numpy(),
        shares_ahead=tensors["shares_ahead"].numpy(),
    )
