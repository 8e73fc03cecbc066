"""What of an optimiser must be the same for a training to be resumed."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

_MEANS = ("params", "foreach", "fused", "capturable", "differentiable")  # how numbers are computed, not which


def optimizer_settings(optimizer: Optimizer) -> dict[str, str]:
    """Its kind and learning rate; and all that it is told of its parameters, such as weight decay."""
    groups = [_told(group) for group in optimizer.param_groups]
    return {
        "optimizer": f"{type(optimizer).__name__}, lr {optimizer.defaults.get('lr')}",
        "hyperparameters": "; ".join(dict.fromkeys(groups)),
    }


def _told(group: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(group.items()) if name not in _MEANS)
