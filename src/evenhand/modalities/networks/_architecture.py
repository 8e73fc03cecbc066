"""What a network is made of, beyond its weights: so that weights are not loaded into another one of equal shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from torch import nn

Architecture = dict[str, list[Any]]
"""For the path of every module its class, and what it was told: ``{"1": ["LeakyReLU", {"negative_slope": 0.1}]}``."""


def architecture(network: nn.Module) -> Architecture:
    """The modules of a network with their settings: sizes, kinds of activations, functions that are attributes.

    What a `forward` does besides calling modules is code, and is not in it.

    Example:
        >>> architecture(nn.Sequential(nn.Flatten(), nn.Tanh()))["0"]
        ['Flatten', {'start_dim': 1, 'end_dim': -1}]
    """
    return {path: [type(module).__name__, _settings(module)] for path, module in network.named_modules()}


def architecture_text(network: nn.Module) -> str:
    """The same in one line, with modules between semicolons."""
    return "; ".join(f"{path or 'network'}: {_call(*told)}" for path, told in architecture(network).items())


def difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str | None:
    """Where two architectures differ first, in words; None if they are the same.

    Settings that only one of them knows are no difference: another version of torch may have more of them.
    """
    for path in dict.fromkeys([*there, *here]):
        (kind, told), (own_kind, own) = there.get(path, ["nothing", {}]), here.get(path, ["nothing", {}])
        shared = [name for name in told if name in own]
        if kind != own_kind or any(told[name] != own[name] for name in shared):
            return f"{path or 'the network'} is {_call(kind, told)} there and {_call(own_kind, own)} here"
    return None


def _call(kind: str, told: Mapping[str, Any]) -> str:
    return f"{kind}({', '.join(f'{name}={value}' for name, value in told.items())})"


def _settings(module: nn.Module) -> dict[str, Any]:
    found = {}
    for name, value in vars(module).items():
        if callable(value) and hasattr(value, "__name__"):
            found[name.lstrip("_")] = value.__name__  # an activation, say
        elif name != "training" and not name.startswith("_") and _is_plain(value):
            found[name] = json.loads(json.dumps(value))  # tuples become lists
    return found


def _is_plain(value: object) -> bool:
    """Whether JSON can hold it."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
