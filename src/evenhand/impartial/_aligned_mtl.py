"""Gradients made orthogonal and equally long, with the least change."""

from __future__ import annotations

import torch
from torch import Tensor

from ._eigen import eigh
from ._method import Mixing


class AlignedMTL(Mixing):
    r"""Replace the gradients by the nearest ones that are orthogonal and of equal length.

    .. math:: \tilde g = \sigma_{\min} \, G^{-1/2} g

    with the smallest non-zero singular value of the gradients as their common length. It depends
    on the sizes of the gradients: a very small one is small for all.

    Senushkin et al., "Independent Component Alignment for Multi-Task Learning", CVPR 2023.
    """

    def mixing(self, gram: Tensor, /) -> Tensor:
        values, vectors = eigh(gram)
        rounding = values.amax(-1, keepdim=True) * gram.shape[-1] * torch.finfo(gram.dtype).eps
        kept = ~(values <= rounding)  # NaN is kept
        smallest = torch.where(kept, values, torch.inf).amin(-1, keepdim=True)
        stretch = torch.where(kept, smallest / values, 0.0).clamp(min=0).sqrt()
        return ((vectors * stretch.unsqueeze(-2)) @ vectors.mT).to(gram.dtype)
