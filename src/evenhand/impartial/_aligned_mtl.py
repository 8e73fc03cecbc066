"""Gradients made orthogonal and equally long, with the least change."""

from __future__ import annotations

import torch
from torch import Tensor

from ._eigen import eigh
from ._method import Mixing
from ._solvers import correlation


class AlignedMTL(Mixing):
    r"""Replace the gradients by the nearest ones that are orthogonal and of equal length.

    .. math:: \tilde g = \sigma_{\min} \, G^{-1/2} g

    with the smallest non-zero singular value of the gradients as their common length. It depends
    on the sizes of the gradients: one that is very small makes all of them small.

    Senushkin et al., "Independent Component Alignment for Multi-Task Learning", CVPR 2023.
    """

    def mixing(self, gram: Tensor, /) -> Tensor:
        r = correlation(gram)
        # a head without gradient must not be the smallest one
        squares = r.norms.square()
        filled = squares.amax(-1, keepdim=True) * (1 - r.active)
        values, vectors = eigh(gram.to(r.matrix.dtype) + torch.diag_embed(filled))
        # Gradients that are small but independent count; dependent ones leave eigenvalues of rounding.
        pivots = torch.linalg.cholesky_ex(r.matrix)[0].diagonal(dim1=-2, dim2=-1)
        independent = pivots.square().amin(-1, keepdim=True) > r.ridge
        rounding = values.amax(-1, keepdim=True) * r.ridge / 4
        kept = ~(values <= torch.where(independent, 0.0, rounding))  # NaN is kept
        smallest = torch.where(kept, values, torch.inf).amin(-1, keepdim=True)
        stretch = torch.where(kept, smallest / values, 0.0).clamp(min=0).sqrt()
        return ((vectors * stretch.unsqueeze(-2)) @ vectors.mT * r.active.unsqueeze(-1)).to(gram.dtype)
