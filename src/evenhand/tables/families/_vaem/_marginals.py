"""The first stage of VAEM: a VAE with one latent variable for every column, all columns at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...kinds import TableLikelihood
from .._layers import StackedLinear

N_HIDDEN = 24  # units of every column, each way
NARROWEST = 0.1
"""The smallest scale of a code. Without a bound, codes of numbers would become ever more precise."""

SMALLEST_SPREAD = 0.05  # of a cell: one of a thousand rows in a category has 0.03


class Marginals(nn.Module):
    r"""D variational autoencoders that share nothing, one for every column.

    .. math:: q(z_d | x_d) = N(m_d(x_d), s_d(x_d)), \quad z_d \in \mathbb{R}, \qquad
              x_d \sim p_d(\cdot \,|\, \eta_d(z_d))

    Each way has one hidden layer (tanh). The layers of all columns are computed as one, whose weights are zero
    between columns.

    Args:
        likelihood: Knows the columns.
        draws: For the initial weights, a generator for every replica.
    """

    centre: Tensor
    spread: Tensor
    of_inputs: Tensor
    of_codes: Tensor
    of_scales: Tensor
    of_outputs: Tensor

    def __init__(self, likelihood: TableLikelihood, draws: Sequence[torch.Generator]) -> None:
        super().__init__()
        self._likelihood = [likelihood]  # in a list: it belongs to the family
        n, units = likelihood.n, torch.arange(likelihood.n).repeat_interleave(N_HIDDEN)
        codes, narrow = torch.arange(n), 1 / math.sqrt(N_HIDDEN)
        cells = torch.tensor(likelihood.owners_of_targets)
        self._own("of_inputs", units, cells)
        self._own("of_scales", codes.repeat(2), units)
        self._own("of_codes", units, codes)
        self._own("of_outputs", likelihood.heads, units)
        self.register_buffer("centre", torch.zeros(len(cells)))
        self.register_buffer("spread", torch.ones(len(cells)))
        self.reader = StackedLinear(len(cells), len(units), draws, std=1.0)
        self.posterior = StackedLinear(len(units), 2 * n, draws, std=narrow)
        self.writer = StackedLinear(n, len(units), draws, std=1.0)
        self.head = StackedLinear(len(units), likelihood.n_parameters, draws, std=narrow)

    def _own(self, name: str, outputs: Tensor, inputs: Tensor) -> None:
        """Remember which weights connect an output and an input of one column."""
        own = outputs.unsqueeze(-1) == inputs
        self.register_buffer(name, own.to(torch.get_default_dtype()), persistent=False)

    @torch.no_grad()
    def measure(self, cells: Tensor, mask: Tensor) -> None:
        """Let the encoders see cells in units of their own: centre and spread of those observed, ``[N, T]``."""
        known = mask[:, self._likelihood[0].owners_of_targets]
        count = known.sum(0).clamp(min=1)
        self.centre.copy_((cells * known).sum(0) / count)
        variance = ((cells - self.centre).square() * known).sum(0) / count
        self.spread.copy_(variance.sqrt().clamp(min=SMALLEST_SPREAD))

    def cells(self, targets: Tensor) -> Tensor:
        """What the encoders see of targets ``[..., T]``: what a family with one-hot inputs sees of the cells."""
        columns = self._likelihood[0].columns[: self._likelihood[0].n_numbers]
        numbers = [column.inputs(targets[..., d], "one-hot") for d, column in enumerate(columns)]
        return torch.cat([*numbers, targets[..., len(columns) :]], -1)

    def encode(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale of the code of every cell, ``[R, B, D]``, for cells ``[R, B, T]``."""
        cells = (cells - self.centre) / self.spread
        hidden = torch.tanh(_linear(self.reader, self.of_inputs, cells))
        mean, raw = _linear(self.posterior, self.of_scales, hidden).chunk(2, -1)
        return mean, NARROWEST + (1 - NARROWEST) * torch.sigmoid(raw)

    def decode(self, codes: Tensor) -> Tensor:
        """Unconstrained parameters ``[R, ..., P]`` for codes ``[R, ..., D]``."""
        hidden = torch.tanh(_linear(self.writer, self.of_codes, codes.flatten(1, -2)))
        return _linear(self.head, self.of_outputs, hidden).unflatten(1, codes.shape[1:-1])

    def start_from(self, marginals: Tensor) -> None:
        """Let the decoders start from the columns' marginal distributions ``[P]`` or ``[R, P]``."""
        assert self.head.bias is not None
        self.head.bias.data = marginals.to(self.head.bias).expand_as(self.head.bias).clone()


def _linear(layer: StackedLinear, own: Tensor, x: Tensor) -> Tensor:
    assert layer.bias is not None
    return torch.baddbmm(layer.bias.unsqueeze(1), x, (layer.weight * own.to(layer.weight)).mT)
