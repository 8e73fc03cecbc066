"""The weights of a multimodal model as one file that holds no code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...common import check_format, read_tensors, write_tensors
from ..networks import architecture, difference

if TYPE_CHECKING:
    from ._multimodal_vae import MultimodalVAE

FORMAT = 1


def save_weights(model: MultimodalVAE, path: Path) -> None:
    """Write all weights; an existing file is replaced only by a whole one."""
    write_tensors(path, model.state_dict(), _about(model) | {"version": __version__})


def load_weights(model: MultimodalVAE, path: Path) -> None:
    """Read what `save_weights` wrote; nothing is changed unless all of it fits."""
    tensors, about = read_tensors(path)
    expected = _about(model)
    networks = expected.pop("networks")
    if not isinstance(about, dict) or about.get("class") != expected["class"]:
        raise ValueError(f"{path} should be a file that save() of a MultimodalVAE wrote. Found something else.")
    check_format(path, about, FORMAT)
    for what, wanted in expected.items():
        if about.get(what) != wanted:
            raise ValueError(
                f"{path} is of another model: its {what} is {about.get(what)!r}. This one has {wanted!r}."
            )
    own = {name: tuple(x.shape) for name, x in model.state_dict().items() if name != "codes"}
    saved = {name: tuple(x.shape) for name, x in tensors.items() if name != "codes"}
    for name in sorted(own.keys() | saved.keys()):
        # states of methods have no size before the first step
        learnt = name.startswith("core.blocks.") and name in own and name in saved
        if own.get(name) != saved.get(name) and not learnt:
            raise ValueError(
                f"{path} is of a model with other networks: {name} has the shape {saved.get(name)} there and "
                f"{own.get(name)} here."
            )
    _check_networks(path, about.get("networks", {}), networks)
    for name, x in tensors.items():
        if x.is_floating_point() and not x.isfinite().all():
            raise ValueError(f"{path} should hold numbers. Found NaN or infinity in {name}: it is of no use.")
    model.load_state_dict(tensors)


def _check_networks(path: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    """Refuse weights of networks that have the same shapes and are others; files of 0.1.0 do not say."""
    for name, own in here.items():
        if name in there and (words := difference(there[name], own)) is not None:
            raise ValueError(f"{path} is of a model with other networks: in the {name}, {words}.")


def _about(model: MultimodalVAE) -> dict[str, Any]:
    prints = {name: likelihood.fingerprint() for name, likelihood in model.likelihoods.items()}
    tables = {name: text for name, text in prints.items() if text}
    about = {
        "class": type(model).__name__,
        "format": FORMAT,
        "modalities": {name: list(shape) for name, shape in model.shapes.items()},
        "experts": model.core.expert_names,
        "prior_expert": model.network.prior_expert,
        "likelihoods": {name: str(likelihood) for name, likelihood in model.likelihoods.items()},
        "networks": {
            f"{what} of {name!r}": architecture(network)
            for what, networks in (("encoder", model.network.encoders), ("decoder", model.network.decoders))
            for name, network in zip(model.network.names, networks, strict=True)
        },
    }
    return about | ({"tables": tables} if tables else {})
