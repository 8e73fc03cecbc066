"""Numbers cut into pieces by quantiles of training rows: what a network sees of them, and densities of any shape."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Array = NDArray[np.float64]
MEMBERS = 64  # values of training rows that are kept of a piece, to draw from
ROWS_PER_PIECE = 10  # fewer would make means of pieces a lottery
LARGEST = float(torch.finfo(torch.float32).max)


class Pieces(nn.Module):
    """The range of every number as pieces of about equally many training rows.

    A value that occurs often (a working week of exactly 40 hours) has a piece of its own, and so has every value of a
    column with few of them. As inputs, pieces are ramps (piecewise-linear encoding, Gorishniy et al., NeurIPS 2022):
    0 below a piece, 1 above it, linear inside. As outputs they are categories, so that a density can have any shape.

    Args:
        n: Number of columns.
        size: The most pieces of a column; what a column does not need is never used.
    """

    lower: Tensor  # [n, size], where ramps begin, in the units of inputs
    slope: Tensor  # [n, size], 1 / width of ramps; 0 where there is none
    cuts: Tensor  # [n, size - 1], the largest value of every piece but the last, in the units of the model
    unused: Tensor  # [n, size], 1 where there is no piece
    means: Tensor  # [n, size], of the values of pieces, in the units of the data
    members: Tensor  # [n, size, MEMBERS], values of pieces, in the units of the model
    limits: Tensor  # [2, n], smallest and largest values, in the units of the data
    centre: Tensor  # [n], means of columns, in the units of the data
    scale: Tensor  # [n], their deviations

    def __init__(self, n: int, size: int) -> None:
        super().__init__()
        self.n, self.size = n, size
        self.register_buffer("lower", torch.zeros(n, size))
        self.register_buffer("slope", torch.zeros(n, size))
        self.register_buffer("cuts", torch.full((n, size - 1), LARGEST))
        self.register_buffer("unused", torch.cat([torch.zeros(n, 1), torch.ones(n, size - 1)], 1))
        self.register_buffer("means", torch.zeros(n, size, dtype=torch.float64))
        self.register_buffer("members", torch.zeros(n, size, MEMBERS))
        self.register_buffer("limits", torch.zeros(2, n, dtype=torch.float64))
        self.register_buffer("centre", torch.zeros(n, dtype=torch.float64))
        self.register_buffer("scale", torch.ones(n, dtype=torch.float64))

    @torch.no_grad()
    def fit(self, inputs: Tensor, targets: Tensor, values: Tensor, mask: Tensor) -> None:
        """Cut the columns of training rows, ``[N, n]`` each.

        Args:
            inputs: As encoders see them.
            targets: In the units of the model.
            values: In the units of the data.
            mask: Which cells are observed.
        """
        for d in range(self.n):
            seen = mask[:, d] > 0
            if bool(seen.any()):
                self._fit_column(d, *(t[seen, d].cpu().numpy() for t in (inputs, targets, values)))

    def _fit_column(self, d: int, inputs: Array, targets: Array, values: Array) -> None:
        order = np.argsort(targets, kind="stable")
        inputs, targets, values = inputs[order], targets[order], values[order]
        cuts = cut(targets, max(2, min(self.size, len(targets) // ROWS_PER_PIECE)))
        edges = np.unique(np.concatenate([inputs[:1], inputs[np.searchsorted(targets, cuts)], inputs[-1:]]))
        ramps = len(edges) - 1
        self.lower[d, :ramps] = torch.from_numpy(edges[:-1]).to(self.lower)
        self.slope[d, :ramps] = torch.from_numpy(1 / np.diff(edges)).to(self.slope)
        self.cuts[d, : len(cuts)] = torch.from_numpy(cuts).to(self.cuts)
        self.unused[d, : len(cuts) + 1] = 0
        starts = np.concatenate([[0], np.searchsorted(targets, cuts, side="right"), [len(targets)]])
        for piece in range(len(cuts) + 1):
            first, number = starts[piece], starts[piece + 1] - starts[piece]
            some = first + ((np.arange(MEMBERS) + 0.5) / MEMBERS * number).astype(int)
            self.members[d, piece] = torch.from_numpy(targets[some]).to(self.members)
            self.means[d, piece] = float(values[first : first + number].mean())
        self.limits[:, d] = torch.tensor([values.min(), values.max()])
        self.centre[d], self.scale[d] = float(values.mean()), float(values.std()) or 1.0

    def ramps(self, inputs: Tensor, visible: Tensor) -> Tensor:
        """Inputs ``[..., n]`` as ramps ``[..., n * size]``; those of invisible cells are 0."""
        ramps = ((inputs.unsqueeze(-1) - self.lower) * self.slope).clamp(0, 1)
        return (ramps * visible.unsqueeze(-1)).flatten(-2)

    def codes(self, targets: Tensor) -> Tensor:
        """The piece of every number, ``[..., n]``."""
        by_column = targets.movedim(-1, 0)
        found = torch.searchsorted(self.cuts.to(targets), by_column.flatten(1).contiguous())
        return found.view(by_column.shape).movedim(0, -1)

    def shares(self, targets: Tensor, mask: Tensor) -> Tensor:
        """How frequent every piece is among observed numbers ``[N, n]``: ``[n, size]``."""
        shares = self.lower.new_zeros(self.n, self.size)
        for d in range(self.n):  # one by one, because rows times columns times pieces may be more than memory holds
            codes = torch.bucketize(targets[mask[:, d] > 0, d].contiguous(), self.cuts[d].to(targets))
            shares[d] = torch.bincount(codes, minlength=self.size) / max(len(codes), 1)
        return shares

    def standard(self, values: Tensor) -> Tensor:
        """Numbers in the units of the data, with mean 0 and deviation 1."""
        return (values - self.centre) / self.scale

    def original(self, standard: Tensor) -> Tensor:
        """The way back from `standard`, within the limits of training rows."""
        return (standard.double() * self.scale + self.centre).clamp(*self.limits)

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """Of pieces, ``[..., n, size]``, from ``[..., n * size]``; practically minus infinity where there is none."""
        return torch.log_softmax(logits.unflatten(-1, (self.n, self.size)) - 1e9 * self.unused, -1)

    def mean(self, logits: Tensor) -> Tensor:
        """Expected numbers in the units of the data, ``[..., n]``."""
        return (self.log_probabilities(logits).exp().double() * self.means).sum(-1)

    def median(self, logits: Tensor) -> Tensor:
        """The pieces that medians lie in, by their means in the units of the data."""
        below = self.log_probabilities(logits).exp().cumsum(-1)
        return self._means_of((below < 0.5).sum(-1).clamp(max=self.size - 1))

    def mode(self, logits: Tensor) -> Tensor:
        """The most probable pieces, by their means in the units of the data."""
        return self._means_of(self.log_probabilities(logits).argmax(-1))

    def sample(self, logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every number, in the units of the model: a piece, and one of its values."""
        log_pi = self.log_probabilities(logits)
        numbers = torch.rand(log_pi.shape, generator=generator, device=logits.device, dtype=torch.float64)
        # the largest of log pi plus Gumbel noise is a draw from pi
        piece = (log_pi - torch.log(-numbers.clamp(min=1e-300).log())).argmax(-1)
        place = torch.randint(MEMBERS, piece.shape, generator=generator, device=logits.device)
        return self.members[torch.arange(self.n, device=logits.device), piece, place]

    def _means_of(self, pieces: Tensor) -> Tensor:
        return self.means[torch.arange(self.n, device=pieces.device), pieces]


def cut(values: Array, number: int) -> Array:
    """The largest value of every piece but the last, for at most a number of pieces; values are sorted."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= number:
        return distinct[:-1]
    for quantiles in range(number, 1, -1):
        places = np.arange(1, quantiles) * len(values) // quantiles
        often = np.flatnonzero(counts > len(values) / number)
        cuts = np.unique(np.concatenate([values[places], distinct[often], distinct[often[often > 0] - 1]]))
        cuts = cuts[cuts < distinct[-1]]
        if 0 < len(cuts) < number:
            return cuts
    return distinct[:1]
