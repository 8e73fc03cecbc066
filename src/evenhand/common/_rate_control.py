"""One controller for both engines: it holds the rates of replicas at their targets by moving their KL weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ._rate import RATE_TOLERANCE, wanted_rate

SMOOTHING = 0.05  # of the logarithm of a batch's rate in the smoothed one
GAIN = 0.02  # of a step in the logarithm of a weight, for an error of one
DAMPING = 2.0  # what a change of the smoothed rate changes of a weight at once, so that it does not swing
FARTHEST = 1.0  # errors (of logarithms) beyond this count as this
WEIGHTS = (1e-6, 1e4)  # the smallest and the largest weight
TRUST = 0.5  # in a measurement of the rate that users read, against those before

STATE = ("log_weights", "smoothed", "offsets")


class RateControl:
    r"""Weights of the KL terms of R replicas, some fixed and some moved so that the rate arrives at a target.

    After every step, with :math:`s` the smoothed logarithm of the rate in training, :math:`r^*` the target and
    :math:`o` the offset that is learnt in `calibrate`,

    .. math:: \Delta \log\beta = g \,\mathrm{clip}(s + o - \log r^*, -1, 1) + d\, \Delta s

    The rule knows no scale: neither that of the rate nor that of the loss. Nothing in a step is read by the host, so
    that a captured step can be replayed.

    Args:
        kl_weights: A number for a replica with a fixed weight, "rate:8" for one that is held at 8 nats per row.
        device: Where the numbers are.

    Attributes:
        controlled: Which replicas are held at a rate, ``[R]``.
        targets: The rates, ``[R]``; 1 for the others.
        log_weights: Logarithms of the weights, ``[R]``; 0 for the others.
        smoothed: Logarithms of the rates in training, ``[R]``.
        offsets: How far measured rates are above those in training, as logarithms, ``[R]``.
    """

    def __init__(self, kl_weights: Sequence[float | str], device: torch.device | str = "cpu") -> None:
        rates = [wanted_rate(weight) for weight in kl_weights]
        self.controlled = torch.tensor([rate is not None for rate in rates], device=device)
        self.targets = torch.tensor([1.0 if rate is None else rate for rate in rates], device=device)
        fixed = [1.0 if rate is not None else float(w) for w, rate in zip(kl_weights, rates, strict=True)]
        self._fixed = torch.tensor(fixed, device=device)
        self.log_weights = torch.zeros_like(self.targets)
        self.smoothed = self.targets.log()  # as if on target: the first batches decide
        self.offsets = torch.zeros_like(self.targets)

    @staticmethod
    def needed(kl_weights: Sequence[float | str]) -> bool:
        """Whether any weight is not fixed."""
        return any(wanted_rate(weight) is not None for weight in kl_weights)

    def weights(self) -> Tensor:
        """The KL weights of the moment, ``[R]``."""
        return torch.where(self.controlled, self.log_weights.exp(), self._fixed)

    def update(self, rates: Tensor) -> None:
        """Move the weights by one step, given the rates of a training batch ``[R]``; not finite ones say nothing."""
        low, high = (math.log(weight) for weight in WEIGHTS)
        goal, seen = self.targets.log(), rates.detach().to(self.smoothed).log()
        seen = seen.clamp(goal - 3 * FARTHEST, goal + 3 * FARTHEST)
        change = SMOOTHING * torch.where(seen.isnan(), 0.0, seen - self.smoothed)
        error = (self.smoothed + change + self.offsets - goal).clamp(-FARTHEST, FARTHEST)
        moved = (self.log_weights + GAIN * error + DAMPING * change).clamp(low, high)
        self.log_weights.copy_(torch.where(self.controlled, moved, self.log_weights))
        self.smoothed.add_(torch.where(self.controlled, change, 0.0))

    def calibrate(self, measured: Tensor) -> None:
        """Learn how the rates that users read, ``[R]``, differ from those in training, and aim accordingly.

        Dropout, statistics of batches and hidden cells make the difference. To be called between steps, now and then.
        """
        offset = measured.detach().to(self.offsets).log() - self.smoothed
        known = self.controlled & offset.isfinite()
        self.offsets.copy_(torch.where(known, torch.lerp(self.offsets, offset, TRUST), self.offsets))

    def off(self, measured: Tensor) -> Tensor:
        """How far measured rates are beyond the tolerance, as a share of the target, ``[R]``; 0 within it.

        A checkpoint may be chosen where it is 0. Replicas with fixed weights are never off.
        """
        distance = ((measured.to(self.targets) / self.targets - 1).abs() - RATE_TOLERANCE).clamp(min=0.0)
        return torch.where(self.controlled, distance.nan_to_num(nan=torch.inf), 0.0)

    def keep(self, index: Tensor) -> None:
        """Go on with some replicas only."""
        for name in ("controlled", "targets", "_fixed", *STATE):
            setattr(self, name, getattr(self, name)[index].contiguous())

    def state_dict(self) -> dict[str, Tensor]:
        """A copy of what the controller has learnt."""
        return {name: getattr(self, name).clone() for name in STATE}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on where another controller of the same replicas was."""
        for name in STATE:
            getattr(self, name).copy_(state[name])
