"""The direct way: from what a network made of the visible cells straight to those that are hidden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...impartial import LinearBlock
from ..kinds import Density, Pieces, TableLikelihood
from ._layers import StackedLinear

How = Literal["mean", "median", "mode"]
SAY_OF_PIECES = 0.1
"""What densities of numbers weigh beside their squared errors: shapes teach the shared features less than places."""


class DirectWay(nn.Module):
    """Linear heads that guess every column from shared features, without a bottleneck.

    A number has two: its expectation, trained by the squared error, and probabilities of its pieces, which can have
    any shape. Categories have logits. Only hidden cells are scored, so that nothing is learnt by copying.

    Args:
        n_features: Size of what the heads share.
        likelihood: Knows the columns; categories are scored as there.
        pieces: How numbers are cut.
        draws: For the initial weights, a generator for every replica.
    """

    def __init__(
        self, n_features: int, likelihood: TableLikelihood, pieces: Pieces, draws: Sequence[torch.Generator]
    ) -> None:
        super().__init__()
        self.pieces, self._likelihood = pieces, [likelihood]  # in a list: it belongs to the family
        n = pieces.n
        self._classes = [density for density, first in _placed(likelihood.densities) if first >= n]
        points, shapes = list(range(n)), [d for d in range(n) for _ in range(pieces.size)]
        names = [
            first + head for density, first in _placed(likelihood.densities) if first >= n for head in density.heads
        ]
        self.heads = points + shapes + names
        """The column of every output."""
        self._sizes = [n, n * pieces.size, *(density.n_parameters for density in self._classes)]
        self.head = StackedLinear(n_features, len(self.heads), draws)

    @torch.no_grad()
    def start_from(self, targets: Tensor, mask: Tensor) -> None:
        """Let the heads start from the marginal distributions of training rows ``[N, ...]``."""
        n = self.pieces.n
        marginals = self._likelihood[0].marginal(targets, mask)
        classes = marginals[len(marginals) - sum(density.n_parameters for density in self._classes) :]
        shares = self.pieces.shares(targets[:, :n], mask[:, :n]).to(marginals)
        start = torch.cat([marginals.new_zeros(n), shares.clamp(min=1e-4).log().flatten(), classes])
        assert self.head.bias is not None
        self.head.bias.copy_(start.expand_as(self.head.bias))

    def outputs(self, features: Tensor, block: LinearBlock | None = None) -> Tensor:
        """All outputs, ``[R, B, outputs]``, with the block at the features if there is one."""
        if block is None:
            return self.head(features)
        return block(features, self.head.weight, self.head.bias)

    def loss(self, outputs: Tensor, targets: Tensor, hidden: Tensor) -> Tensor:
        """The error of every replica: that of hidden cells, by the mean of a column, summed over columns.

        Args:
            outputs: ``[R, B, outputs]``.
            targets: What the likelihood compares with, ``[R, B, T]``.
            hidden: 1 for cells to score, ``[R, B, D]``.
        """
        points, shapes, *logits = outputs.split(self._sizes, -1)
        numbers, *classes = targets.split([self.pieces.n, *(d.n_targets for d in self._classes)], -1)
        values = self.pieces.standard(self._likelihood[0].numbers(targets)).to(points)
        codes = self.pieces.codes(numbers).unsqueeze(-1)
        log_p = self.pieces.log_probabilities(shapes).gather(-1, codes).squeeze(-1)
        errors = [0.5 * (points - values).square() - SAY_OF_PIECES * log_p]
        scored = zip(self._classes, logits, classes, strict=True)
        errors += [-density.log_prob(density.constrain(raw), x)[0] for density, raw, x in scored]
        weights = hidden / hidden.sum(1, keepdim=True).clamp(min=1)
        return (torch.cat(errors, -1) * weights).sum((1, 2))

    def expectation(self, outputs: Tensor, how: How = "mean") -> Tensor:
        """Numbers in the units of the data and probabilities of categories, ``[R, B, T]``.

        The mean of a number is that of its two heads: they err in different ways.
        """
        points, shapes, *logits = outputs.split(self._sizes, -1)
        if how == "mean":
            numbers = 0.5 * (self.pieces.original(points) + self.pieces.mean(shapes))
        else:
            numbers = (self.pieces.median if how == "median" else self.pieces.mode)(shapes)
        return torch.cat([numbers, *(d.expectation(raw.double()) for d, raw in self._by_class(logits))], -1)

    def sample(self, outputs: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every cell in the units of the model, ``[R, B, D]`` in inner order."""
        _, shapes, *logits = outputs.split(self._sizes, -1)
        drawn = [density.sample(raw, generator) for density, raw in self._by_class(logits)]
        return torch.cat([self.pieces.sample(shapes, generator), *drawn], -1)

    def outcomes(self, outputs: Tensor) -> list[Tensor]:
        """Log-probabilities of the pieces or categories of every column in inner order, ``[..., outcomes]`` each."""
        _, shapes, *logits = outputs.split(self._sizes, -1)
        found = [*self.pieces.log_probabilities(shapes).unbind(-2)]
        for density, raw in zip(self._classes, logits, strict=True):
            for column in raw.unflatten(-1, (density.n, -1)).unbind(-2):
                full = F.pad(column, (1, 0)) if column.shape[-1] == 1 else column  # of two, the second has log-odds
                found.append(torch.log_softmax(full, -1))
        return found

    def as_outputs(self, odds: Sequence[Tensor]) -> Tensor:
        """What outputs need more, so that every outcome is as many times more likely: ``[outputs]``.

        Args:
            odds: Logarithms of factors of the outcomes of every column, as `outcomes` has them.
        """
        n = self.pieces.n
        classes = [x[1:] - x[0] if len(x) == 2 else x for x in odds[n:]]
        return torch.cat([odds[0].new_zeros(n), *odds[:n], *classes])

    def reweigh(self, opinion: Tensor, outputs: Tensor, more: Tensor, how: How = "mean") -> Tensor:
        """An opinion ``[R, B, T]`` where outputs get `more`: numbers move as the densities here do.

        Args:
            opinion: Expected numbers in the units of the data and probabilities of categories, of whomever.
            outputs: What is known of the rows here, ``[R, B, outputs]``.
            more: What `as_outputs` gives.
            how: Whether numbers are means, medians or modes.
        """
        _, shapes, *_ = outputs.split(self._sizes, -1)
        _, of_shapes, *of_classes = more.to(outputs).split(self._sizes, -1)
        place = {"mean": self.pieces.mean, "median": self.pieces.median, "mode": self.pieces.mode}[how]
        numbers, *classes = opinion.split([self.pieces.n, *(d.n_targets for d in self._classes)], -1)
        moved = numbers + (place(shapes + of_shapes) - place(shapes)).to(numbers)
        triples = zip(self._classes, classes, of_classes, strict=True)
        return torch.cat([moved, *(_more_likely(d, p, factors.to(p)) for d, p, factors in triples)], -1)

    def _by_class(self, logits: Sequence[Tensor]) -> Iterator[tuple[Density, Tensor]]:
        return ((d, d.constrain(raw)) for d, raw in zip(self._classes, logits, strict=True))


def _more_likely(density: Density, probabilities: Tensor, more: Tensor) -> Tensor:
    """Probabilities of categories ``[..., T]`` after something was added to their logits or log-odds."""
    if density.n_targets == density.n:
        return torch.sigmoid(torch.logit(probabilities, eps=1e-12) + more)
    logits = probabilities.clamp(min=1e-12).log() + more
    return logits.unflatten(-1, (density.n, -1)).softmax(-1).flatten(-2)


def _placed(densities: Sequence[Density]) -> Iterator[tuple[Density, int]]:
    """Every density with the number of its first column."""
    first = 0
    for density in densities:
        yield density, first
        first += density.n
