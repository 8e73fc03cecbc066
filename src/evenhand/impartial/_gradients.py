"""The T gradients that meet at a block, and what the methods have made of them so far."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor
from torch.linalg import vecdot

from . import _kernels, _total_kernels
from ._distributed import sum_over_ranks
from ._numbers import are_few, as_tensor
from ._range import measure, wide
from ._solvers import times

Index = Tensor | slice


class Source(ABC):
    """Where T gradients come from: it answers questions about them and need not store them.

    Everything is computed in float32 or better. Leading axes ``...`` are independent problems.
    """

    size: int
    """The length n of a gradient, in this process."""

    spread: bool = False
    """Whether every process holds the gradients of its own rows of one common batch."""

    together: bool = False
    """Whether all processes settle one problem together, and so must draw the same random numbers."""

    scale: Tensor | None = None
    """What the gradients were multiplied with before `gram`, ``[...]``, or None for 1; known after `gram`.

    A power of two, other than 1 only where squares would leave the range of float32.
    """

    @abstractmethod
    def gram(self) -> Tensor:
        """All inner products ``[..., T, T]``, over the whole batch of all processes, of gradients times `scale`."""

    def comparison(self) -> Tensor:
        """The Gram matrix by which methods compare heads; a different one where cells are missing."""
        return self.gram()

    def finite(self) -> Tensor:
        """Which of the T gradients are free of NaN and infinity, in all problems."""
        squares = self.gram().diagonal(dim1=-2, dim2=-1)
        return squares.isfinite().reshape(-1, squares.shape[-1]).all(0)

    @abstractmethod
    def votes(self) -> Tensor:
        """What each gradient wants of each feature, ``[..., T, m]``, over the whole batch."""

    def votes_of(self, index: Index) -> Tensor:
        """The votes of some of the problems along the first of the leading axes."""
        return self.votes()[index]

    @abstractmethod
    def combine(self, weights: Tensor) -> list[Tensor]:
        """The sum of the gradients with weights ``[..., T]``, in the shape of the block's input."""

    @abstractmethod
    def combine_features(self, multipliers: Tensor) -> Tensor:
        """The sum ``[..., n]`` of the gradients with a multiplier for each feature ``[..., T, m]``."""

    @abstractmethod
    def stacked(self) -> Tensor:
        """The gradients themselves, ``[..., T, n]``; the m features repeat along n."""

    @abstractmethod
    def restore(self, vector: Tensor) -> list[Tensor]:
        """A vector ``[..., n]`` in the shape of the block's input."""


class Gradients:
    r"""T gradients :math:`\tilde g = M \circ C g`, with C and M the work of the methods so far.

    Only the T x T matrix C (and, after GradDrop, a mask M over features) changes as methods act one
    after the other, :math:`\tilde G = C G C^\top`; the gradients are touched once, in `total`.
    """

    def __init__(
        self,
        source: Source,
        scales: Tensor | None = None,
        matrix: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> None:
        self._source = source
        self._scales = scales  # C = diag(scales) as long as no method has mixed the gradients
        self._matrix = matrix
        self._mask = mask

    @property
    def together(self) -> bool:
        """Whether all processes settle this problem together."""
        return self._source.together

    @property
    def size(self) -> int:
        """The length of a gradient, in this process."""
        return self._source.size

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self._source.gram().device

    @property
    def dependent(self) -> bool:
        """Whether there are more gradients than they have elements, so that they must be dependent."""
        return self._source.size < self._source.gram().shape[-1]

    def gram(self) -> Tensor:
        """The Gram matrix ``[..., T, T]`` of the gradients as they are now."""
        gram = self._source.comparison()
        if self._matrix is not None:
            return self._matrix @ gram @ self._matrix.mT
        if self._scales is not None:
            return gram * self._scales.unsqueeze(-1) * self._scales.unsqueeze(-2)
        return gram

    def votes(self) -> Tensor:
        """What each gradient, as it is now, wants of each feature ``[..., T, m]``."""
        return _mixed(self._source.votes(), self._scales, self._matrix)

    def votes_of(self, index: Index) -> Tensor:
        """The votes of some of the problems along the first of the leading axes."""
        scales = None if self._scales is None else self._scales[index]
        matrix = None if self._matrix is None else self._matrix[index]
        return _mixed(self._source.votes_of(index), scales, matrix)

    def count_votes(self, index: Index) -> None:
        """Let the source count votes before they are asked for, if it keeps them."""
        self._source.votes_of(index)

    def scale(self, weights: Tensor) -> Gradients:
        """Every gradient times its weight ``[..., T]``."""
        if self._matrix is not None:
            return Gradients(self._source, matrix=weights.unsqueeze(-1) * self._matrix)
        scales = weights if self._scales is None else weights * self._scales
        return Gradients(self._source, scales=scales)

    def mix(self, matrix: Tensor) -> Gradients:
        """Every gradient replaced by a combination of all of them, ``[..., T, T]``."""
        if self._matrix is not None:
            matrix = matrix @ self._matrix
        elif self._scales is not None:
            matrix = matrix * self._scales.unsqueeze(-2)
        return Gradients(self._source, matrix=matrix)

    def mask(self, multipliers: Tensor) -> Gradients:
        """Every feature of every gradient times its own multiplier ``[..., T, m]``."""
        return Gradients(self._source, self._scales, self._matrix, multipliers)

    def replace(self, stacked: Tensor) -> Gradients:
        """Other gradients ``[..., T, n]`` in place of these, for methods that are neither a scaling nor a mixing."""
        return Gradients(Matrix(stacked, self._source))

    def unmasked(self) -> Gradients:
        """The same gradients, ready for another method: after a mask, C alone no longer describes them."""
        return self if self._mask is None else self.replace(self.stacked())

    def stacked(self) -> Tensor:
        """The gradients as one tensor ``[..., T, n]``."""
        mixed = _mixed(self._source.stacked(), self._scales, self._matrix)
        return mixed if self._mask is None else _per_feature(self._mask, mixed)

    def work(self) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """What the methods have done so far: scales, or a mixing matrix, and a mask over features."""
        return self._scales, self._matrix, self._mask

    def weights(self) -> Tensor:
        """How much of each original gradient is in the sum, ``[..., T]``: 1'C."""
        if self._mask is not None:
            return self._multipliers().mean(-1)
        if self._matrix is not None:
            return self._matrix.sum(-2)
        if self._scales is not None:
            return self._scales
        gram = self._source.gram()
        return gram.new_ones(gram.shape[:-1])

    def total(self, *, as_long_as: Source | None = None, where: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        """The sum of the gradients, at a given length if any, and how much of each is in it.

        Args:
            as_long_as: The gradients whose plain sum has that length.
            where: In which problems the length is to be changed, ``[...]``; in all if None.
        """
        weights = self.weights()
        if self._mask is None:
            if as_long_as is not None:
                weights = self._stretched(weights, as_long_as, where)
            return self._source.combine(weights), weights
        vector = self._source.combine_features(self._multipliers())
        if as_long_as is not None:
            weights, factor = self._restored(weights, self._square(vector), as_long_as, where)
            vector = vector * factor
        return self._source.restore(vector), weights

    def _stretched(self, weights: Tensor, as_long_as: Source, where: Tensor | None) -> Tensor:
        """Weights of a sum as long as the plain one."""
        if where is None and are_few(weights):
            return stretched(weights, self._source.gram(), self._square_of(as_long_as).item())
        return self._restored(weights, None, as_long_as, where)[0]

    def _restored(
        self, weights: Tensor, square: Tensor | None, as_long_as: Source, where: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Weights of a sum as long as the plain one, and the factor; square is its squared length, if not theirs."""
        gram = self._source.gram()
        if as_long_as is self._source and _kernels.usable(gram):
            return _total_kernels.restore(gram, weights, square, where)
        square = vecdot(weights, times(gram, weights)) if square is None else square.to(gram.dtype)
        factor = rescaling(self._square_of(as_long_as), square, gram, weights, where)
        return weights * factor, factor

    def _square(self, vector: Tensor) -> Tensor:
        """The squared length ``[...]`` of a vector ``[..., n]``, at the scale of the source."""
        scale = self._source.scale
        if scale is None:
            square = vecdot(vector, vector)
        elif _kernels.usable(vector[..., :1]):
            square = _total_kernels.squared_lengths(vector, scale)
        else:
            square = vecdot(wide(vector), wide(vector)) * scale.square()
        return sum_over_ranks(square) if self._source.spread else square

    def _square_of(self, source: Source) -> Tensor:
        """The squared length ``[...]`` of the plain sum of other gradients, at the scale of these."""
        square = source.gram().sum((-2, -1))
        ours, theirs = self._source.scale, source.scale
        if ours is theirs:
            return square
        ratio = (1.0 if ours is None else ours) / (1.0 if theirs is None else theirs)
        return (ratio**2 * square).to(square.dtype)

    def _multipliers(self) -> Tensor:
        # sum_t M_t o (sum_s C_ts g_s) = sum_s (sum_t C_ts M_t) o g_s
        assert self._mask is not None
        if self._matrix is not None:
            return self._matrix.mT @ self._mask
        if self._scales is not None:
            return self._scales.unsqueeze(-1) * self._mask
        return self._mask


def _mixed(rows: Tensor, scales: Tensor | None, matrix: Tensor | None) -> Tensor:
    """C times rows ``[..., T, m]``."""
    if matrix is not None:
        return matrix @ rows
    return rows if scales is None else scales.unsqueeze(-1) * rows


class Matrix(Source):
    """T gradients given as one tensor ``[..., T, n]``."""

    def __init__(self, gradients: Tensor, origin: Source | None = None) -> None:
        self._gradients = gradients.to(compute_dtype(gradients))
        self._origin = origin
        self._gram: Tensor | None = None
        self.size = gradients.shape[-1]
        self.spread = origin is not None and origin.spread
        self.together = origin is not None and origin.together

    def gram(self) -> Tensor:
        if self._gram is None:
            self._gram, self.scale = measure(self._products, self._gradients)
        return self._gram

    def _products(self, rows: Tensor) -> Tensor:
        gram = products(rows)
        return sum_over_ranks(gram) if self.spread else gram

    def votes(self) -> Tensor:
        return self._gradients

    def combine(self, weights: Tensor) -> list[Tensor]:
        return self.restore((weights.unsqueeze(-2) @ self._gradients).squeeze(-2))

    def combine_features(self, multipliers: Tensor) -> Tensor:
        return _per_feature(multipliers, self._gradients).sum(-2)

    def stacked(self) -> Tensor:
        return self._gradients

    def restore(self, vector: Tensor) -> list[Tensor]:
        return [vector] if self._origin is None else self._origin.restore(vector)


LONG, PARTS = 8192, 64


def products(rows: Tensor) -> Tensor:
    """All inner products ``[..., T, T]`` of rows ``[..., T, n]``.

    On a GPU a few long rows would keep a handful of its processors busy, so they are cut into parts.
    """
    size = rows.shape[-1]
    if not rows.is_cuda or size < LONG or size % PARTS:
        return rows @ rows.mT
    parts = rows.unflatten(-1, (PARTS, -1)).movedim(-2, 0)  # [parts, ..., T, n / parts]
    return (parts @ parts.mT).sum(0)


def compute_dtype(tensor: Tensor) -> torch.dtype:
    """Inner products of half-precision gradients are taken in float32."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _per_feature(multipliers: Tensor, gradients: Tensor) -> Tensor:
    """Multipliers ``[..., T, m]`` applied to gradients ``[..., T, rows * m]``."""
    features = multipliers.shape[-1]
    rows = gradients.unflatten(-1, (gradients.shape[-1] // max(features, 1), features))
    return (rows * multipliers.unsqueeze(-2)).flatten(-2)


def rescaling(wanted: Tensor, square: Tensor, gram: Tensor, weights: Tensor, where: Tensor | None) -> Tensor:
    """The factor ``[..., 1]`` that takes a squared length to the one wanted.

    A sum that is zero to rounding has no direction worth restoring: it is never divided by less than the
    rounding error of its terms. Nor is it made longer by more than 1 / eps: a method may settle on a gradient that
    has vanished beside others (MGDA does), and then it is their rounding error that would be blown up.
    """
    # in this order, because the square of a weight alone may be too large
    terms = vecdot(weights * gram.diagonal(dim1=-2, dim2=-1), weights)
    eps = torch.finfo(gram.dtype).eps
    length = torch.maximum(square, terms * (gram.shape[-1] ** 2 * eps))
    # of two roots, because a ratio of squares may be too large
    factor = (wanted.clamp(min=0).sqrt() / (length + (length == 0)).sqrt()).clamp(max=1 / eps)
    return (factor if where is None else torch.where(where, factor, 1.0)).unsqueeze(-1)


def stretched(weights: Tensor, gram: Tensor, wanted: float) -> Tensor:
    """Weights of one problem times their `rescaling`, in Python's numbers."""
    numbers, slopes, squares = weights.tolist(), (gram @ weights).tolist(), gram.diagonal().tolist()
    square = sum(w * slope for w, slope in zip(numbers, slopes, strict=True))
    terms = sum(w * s * w for w, s in zip(numbers, squares, strict=True))
    eps = torch.finfo(gram.dtype).eps
    length = max(square, terms * len(numbers) ** 2 * eps)  # NaN if the square is, and so below
    factor = min(math.sqrt(max(wanted, 0.0)) / (math.sqrt(length) or 1.0), 1 / eps)
    return as_tensor([w * factor for w in numbers], weights.dtype)
