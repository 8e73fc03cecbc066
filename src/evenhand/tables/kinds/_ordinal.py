"""Ordinal columns: categorical, as in the paper; cumulative logits in HI-VAE."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from ..schema import Kind
from ._categorical import NominalColumn
from ._kind import Encoding

SMALLEST = 1e-6


class OrdinalColumn(NominalColumn):
    """Categories in an order."""

    kind = Kind.ORDINAL

    @property
    def n_scales(self) -> int:
        """The distances between thresholds."""
        return self.column.size - 1

    def logits(self, location: Tensor, scale: Tensor) -> Tensor:
        """Cumulative logits."""
        return ordinal_logits(location, scale)

    def inputs(self, x: Tensor, encoding: Encoding) -> Tensor:
        """For HI-VAE category r is r + 1 ones."""
        if encoding != "hivae":
            return super().inputs(x, encoding)
        return (torch.arange(self.column.size, device=x.device) <= x.unsqueeze(-1)).to(x.dtype)


def ordinal_logits(location: Tensor, steps: Tensor) -> Tensor:
    r"""Logarithms of the probabilities of C ordered categories, ``[..., C]``.

    .. math:: P(x \le r) = \sigma(t_r - h), \qquad t_r = \sum_{r' \le r} \mathrm{softplus}(v_{r'})

    Args:
        location: h, ``[..., 1]``.
        steps: v, ``[..., C - 1]``; their softplus are the distances between thresholds.
    """
    thresholds = F.softplus(steps).clamp(min=SMALLEST).cumsum(-1)
    below = torch.sigmoid(thresholds - location)
    ends = torch.zeros_like(below[..., :1])
    cumulative = torch.cat([ends, below, ends + 1], -1)
    probabilities = cumulative.diff(dim=-1).clamp(min=SMALLEST)
    return torch.log(probabilities / probabilities.sum(-1, keepdim=True))
