"""Who takes part: what each contender does to losses and to gradients, for all contenders of a stack at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from evenhand.impartial import (
    CATALOGUE,
    FAMO,
    Block,
    Draws,
    LossWeighting,
    PerReplica,
    RandomWeighting,
    UncertaintyWeighting,
    method_of,
)

WEIGHTINGS: dict[str, Callable[[tuple[int, int]], LossWeighting]] = {
    "uncertainty weighting": UncertaintyWeighting,
    "random weighting": lambda shape: RandomWeighting(),
    "FAMO": FAMO,
}
METHODS = tuple(name for name in CATALOGUE if name != "sum")  # the plain sum is the contender with equal weights
N_DRAWS = 128  # at least as many random numbers as there are features


@dataclass(frozen=True)
class Contender:
    """One way to train.

    Attributes:
        name: In tables.
        weights: Of the losses; ignored where there is a weighting.
        method: At the blocks.
        weighting: The name of one of `WEIGHTINGS`, or "".
        modulation: The strength of OGM-GE; none if 0.
    """

    name: str
    weights: tuple[float, ...]
    method: str = "sum"
    weighting: str = ""
    modulation: float = 0.0


def methods(n_losses: int) -> list[Contender]:
    """Every method of the catalogue, at its usual parameters."""
    return [Contender(CATALOGUE[name].label, (1.0,) * n_losses, method=name) for name in METHODS]


def weightings(n_losses: int) -> list[Contender]:
    """Every weighting that learns or draws."""
    return [Contender(name, (1.0,) * n_losses, weighting=name) for name in WEIGHTINGS]


class Weigher(nn.Module):
    """The total of the losses ``[S, C, T]`` of all seeds and contenders, each weighed in its own way."""

    weights: Tensor

    def __init__(self, contenders: Sequence[Contender], n_seeds: int) -> None:
        super().__init__()
        table = [[w * (not c.weighting) for w in c.weights] for c in contenders]
        self.register_buffer("weights", torch.tensor(table))
        self.places = [i for i, c in enumerate(contenders) if c.weighting]
        shape = (n_seeds, len(contenders[0].weights))
        self.rules = nn.ModuleList(WEIGHTINGS[contenders[i].weighting](shape) for i in self.places)

    def forward(self, losses: Tensor) -> Tensor:
        others = [rule(losses[:, i]).sum() for i, rule in zip(self.places, self.rules, strict=True)]
        return torch.stack([(losses * self.weights).sum(), *others]).sum()

    @torch.no_grad()
    def update(self, losses_of: Callable[[slice], Tensor]) -> None:
        """After the optimiser's step, show the losses of the same batch to the rules that want to see them."""
        for i, rule in zip(self.places, self.rules, strict=True):
            if isinstance(rule, FAMO):
                rule.update(losses_of(slice(i, i + 1)).squeeze(1))


class Meeting(nn.Module):
    """Where gradients meet: features ``[S, C, B, n]``; for each seed and contender its own method settles them."""

    def __init__(self, contenders: Sequence[Contender], n_seeds: int) -> None:
        super().__init__()
        self._draws = Draws()
        chosen = [method_of(c.method) for _ in range(n_seeds) for c in contenders]
        self.block = Block(PerReplica(chosen, draws=self._draws), problem_axes=1)

    def forward(self, features: Tensor, n: int) -> list[Tensor]:
        """One view of the features for each of n heads."""
        replicas = features.flatten(0, 1)
        self._draws.numbers = torch.rand(len(replicas), N_DRAWS, device=features.device)
        return [view.view_as(features) for view in self.block(replicas, n)]


def apart(features: Tensor, n: int) -> list[Tensor]:
    """No meeting: the same features for every head."""
    return [features] * n
