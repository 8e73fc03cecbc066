"""Networks that several models have in common: what trains one changes the others."""

from __future__ import annotations

import warnings
from weakref import WeakKeyDictionary, ref

from torch import nn

from ..models import MixtureVAE

_trained: WeakKeyDictionary[nn.Module, ref[MixtureVAE]] = WeakKeyDictionary()
"""For networks that were trained, the model they were a part of then."""


def warn_of_shared_networks(network: MixtureVAE) -> None:
    """Warn, before a model is trained, of networks that were trained as a part of another one."""
    parts = [
        (name, what, part)
        for what, networks in (("encoder", network.encoders), ("decoder", network.decoders))
        for name, part in zip(network.names, networks, strict=True)
    ]
    for name, what, part in parts:
        if part in _trained and _trained[part]() is not network:
            warnings.warn(
                f"The {what} of {name!r} was trained as a part of another MultimodalVAE: this one begins with its "
                "weights, and both change from now on. Give each model networks of its own, such as a copy.deepcopy.",
                stacklevel=3,
            )
            break
    for _, _, part in parts:
        _trained[part] = ref(network)
