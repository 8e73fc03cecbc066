"""The impartiality block fused with linear heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from . import _linear_kernels
from ._base_block import BaseBlock
from ._block import check_observed, mean_over_common_rows
from ._distributed import processes, sum_over_ranks
from ._gradients import Index, Source, compute_dtype
from ._guards import check_fresh, forbid_double_backward, records
from ._method import Method
from ._range import in_type, measure, measure_at, narrow
from ._solvers import times


class LinearBlock(BaseBlock):
    r"""The block and T linear heads in one: :math:`\eta = y W^\top + b`, columns grouped by head.

    Same numbers as a `Block` followed by one linear layer per head, but the gradients per head are never
    built. With :math:`h = \partial L / \partial \eta` the Gram matrix is

    .. math:: G_{de} = \sum_{i \in d,\, j \in e} (h^\top h)_{ij} \, (W W^\top)_{ij}

    and the sum that is passed on is :math:`(h \text{ with columns scaled by } w) \, W`.

    Args:
        method: The method that settles the conflict among the heads.
        heads: For every column of :math:`\eta`, the number of the head it belongs to.
        preserve_norm: Whether the sum is rescaled to the length of the plain sum; or a tensor with an
            answer for every replica.

    Example:
        >>> from evenhand.impartial import IMTLG, LinearBlock
        >>> linear = torch.nn.Linear(8, 5)  # a head with two columns and one with three
        >>> block = LinearBlock(IMTLG(), heads=[0, 0, 1, 1, 1])
        >>> block(torch.randn(4, 8), linear.weight, linear.bias).shape
        torch.Size([4, 5])
    """

    heads: Tensor
    _member: Tensor  # [P, T], which column belongs to which head

    def __init__(self, method: Method, heads: Sequence[int], *, preserve_norm: bool | Tensor = True) -> None:
        super().__init__(method, preserve_norm=preserve_norm)
        index = torch.as_tensor(heads)
        if (
            index.ndim != 1
            or index.is_floating_point()
            or sorted(set(index.tolist())) != list(range(int(index.max()) + 1 if len(index) else 1))
        ):
            raise ValueError(
                "heads should be the number of the head of every column, with all numbers from 0 on in "
                f"use, such as [0, 0, 1, 2]. Found {heads!r}."
            )
        self.n, self._columns = int(index.max()) + 1, len(index)
        self.method.check_heads(self.n)
        self.register_buffer("heads", index.long(), persistent=False)
        self.register_buffer("_member", F.one_hot(index.long()).to(torch.get_default_dtype()), persistent=False)

    def forward(
        self, y: Tensor, weight: Tensor, bias: Tensor | None = None, *, observed: Tensor | None = None
    ) -> Tensor:
        """All columns of all heads, ``[..., *rows, P]``.

        Args:
            y: What the heads share, ``[..., *rows, h]``.
            weight: ``[..., P, h]`` as in `torch.nn.Linear`. Its leading axes are separate problems with
                separate solutions, such as replicas of a model; y must have the same.
            bias: ``[..., P]``.
            observed: Which rows each head has data for, ``[*rows, T]``.
        """
        if weight.shape[-2] != self._columns:
            raise ValueError(
                f"weight should have one row for each of the {self._columns} columns in heads. Found "
                f"shape {list(weight.shape)}."
            )
        lead = weight.shape[:-2]
        if y.shape[: len(lead)] != lead or y.shape[-1] != weight.shape[-1] or y.ndim < len(lead) + 2:
            raise ValueError(
                f"y should have shape {[*lead, '*rows', weight.shape[-1]]} to fit weight "
                f"{list(weight.shape)}. Found {list(y.shape)}."
            )
        if y.is_complex() or weight.is_complex():
            raise ValueError(
                f"y and weight should be real. Found {y.dtype} and {weight.dtype}; use a Block followed by one "
                "linear layer per head, which takes complex numbers."
            )
        if observed is not None:
            observed = check_observed(observed, y.shape[:-1], self.n).flatten(len(lead), -2)
        if not records(y, weight, bias, training=self.training):
            return _linear(y, weight, bias)
        if y.ndim == weight.ndim:
            return _LinearHeads.apply(y, weight, bias, observed, self)
        eta = _LinearHeads.apply(y.flatten(len(lead), -2), weight, bias, observed, self)
        return eta.unflatten(-2, y.shape[len(lead) : -1])

    def extra_repr(self) -> str:
        return f"heads={self.n}, columns={self._columns}, {super().extra_repr()}"

    def _source(self, tensors: Sequence[Tensor], likes: Sequence[Tensor], mask: Tensor | None) -> Source:
        h, weight = tensors
        return LinearHeads(h, weight, likes[0], self._member, mask)

    def _plain(self, tensors: Sequence[Tensor], likes: Sequence[Tensor]) -> list[Tensor]:
        h, weight = tensors
        return [in_type(h @ in_type(weight, h.dtype), likes[0].dtype)]


def _linear(y: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A linear layer for every problem of the leading axes of weight ``[..., P, h]``; y may have more."""
    if weight.ndim == 2:
        return F.linear(y, weight, bias)
    rows = y.flatten(weight.ndim - 2, -2)
    eta = rows @ weight.mT
    eta = eta if bias is None else eta + bias.unsqueeze(-2)
    return eta.unflatten(-2, y.shape[weight.ndim - 2 : -1])


class _LinearHeads(torch.autograd.Function):
    """A linear layer whose gradient with respect to its input is the impartial sum."""

    @staticmethod
    def forward(
        ctx: Any, y: Tensor, weight: Tensor, bias: Tensor | None, observed: Tensor | None, block: LinearBlock
    ) -> Tensor:
        ctx.block, ctx.observed = block, observed
        ctx.save_for_backward(y, weight)
        return _linear(y, weight, bias)

    @staticmethod
    def backward(ctx: Any, *incoming: Tensor) -> Any:
        y, weight = check_fresh(ctx)
        (h,) = incoming
        needs_y, needs_weight, needs_bias, *_ = ctx.needs_input_grad
        total = None
        if needs_y:
            total = ctx.block._backward([h, weight], [y], ctx.observed)[0]
        weight_gradient = in_type(_over_rows(h, in_type(y, h.dtype)), weight.dtype) if needs_weight else None
        bias_gradient = in_type(h.sum(-2), weight.dtype) if needs_bias else None
        return *forbid_double_backward([total, weight_gradient, bias_gradient], [h, y, weight]), None, None


def _over_rows(h: Tensor, y: Tensor) -> Tensor:
    """h' y ``[..., P, h]`` of h ``[..., rows, P]`` and y ``[..., rows, h]``.

    On a GPU many rows are cut into parts: otherwise a few of its processors would add up all of them.
    """
    rows = h.shape[-2]
    parts = _linear_kernels.parts_of(rows) if h.is_cuda else 1
    if parts == 1:
        return h.mT @ y
    return (h.unflatten(-2, (parts, -1)).mT @ y.unflatten(-2, (parts, -1))).sum(-3)


ALL = slice(None)


class LinearHeads(Source):
    """Gradients g_d = h_d W_d of linear heads, known by h ``[..., rows, P]`` and W ``[..., P, h]``."""

    def __init__(
        self,
        h: Tensor,
        weight: Tensor,
        y: Tensor,
        member: Tensor,
        observed: Tensor | None,
    ) -> None:
        dtype = compute_dtype(h)
        self._h, self._weight, self._y = in_type(h, dtype), in_type(weight, dtype), y
        self._member = in_type(member, dtype) if member.device == h.device else member.to(self._h)  # [P, T]
        self._observed = None if observed is None else observed.to(dtype)
        self._gram: Tensor | None = None
        self._comparison: Tensor | None = None
        self._votes: dict[int, Tensor] = {}  # by index, which may be counted before they are asked for
        self.size = y.shape[-2] * y.shape[-1]
        self.spread = self.together = processes() > 1

    def finite(self) -> Tensor:
        # not from the Gram matrix: 0 * NaN spreads a NaN over all heads there
        broken = (~self._h.isfinite()).flatten(0, -2).any(0).to(self._member.dtype)
        return self._member.mT @ broken == 0

    def gram(self) -> Tensor:
        if self._gram is None:
            if _linear_kernels.usable(self._h, self._member.shape[-1]):
                gram = _linear_kernels.gram(self._h, self._weight, self._member.double())
                self._gram, self.scale = narrow(sum_over_ranks(gram), self._h.dtype)
            else:
                self._gram, self.scale = measure(self._summed_products, self._h)
        return self._gram

    def comparison(self) -> Tensor:
        if self._observed is None:
            return self.gram()
        if self._comparison is None:
            self.gram()
            seen = self._h * (self._observed @ self._member.mT)
            self._comparison = mean_over_common_rows(measure_at(self._products, seen, self.scale), self._observed)
        return self._comparison

    def votes(self) -> Tensor:
        return self.votes_of(ALL)

    def votes_of(self, index: Index) -> Tensor:
        if id(index) not in self._votes:
            alone = self._weight.ndim == 2
            h, y, weight = (t if alone else t[index] for t in (self._h, self._y, self._weight))
            signed = _over_rows(h, y.sign().to(h.dtype))  # [..., P, h]
            self._votes[id(index)] = sum_over_ranks(self._member.mT @ (signed * weight))
        return self._votes[id(index)]

    def combine(self, weights: Tensor) -> list[Tensor]:
        columns = times(self._member, weights).unsqueeze(-1)
        return [in_type(self._h @ (self._weight * columns), self._y.dtype)]  # W is smaller than h

    def combine_features(self, multipliers: Tensor) -> Tensor:
        return (self._h @ (self._weight * (self._member @ multipliers))).flatten(-2)

    def stacked(self) -> Tensor:
        per_head = self._h.unsqueeze(-3) * self._member.mT.unsqueeze(-2)  # [..., T, rows, P]
        return (per_head @ self._weight.unsqueeze(-3)).flatten(-2)

    def restore(self, vector: Tensor) -> list[Tensor]:
        return [vector.reshape(self._y.shape).to(self._y.dtype)]

    def _summed_products(self, h: Tensor) -> Tensor:
        products = self._products(h)
        return sum_over_ranks(products) if self.spread else products

    def _products(self, h: Tensor) -> Tensor:
        weight, member = in_type(self._weight, h.dtype), in_type(self._member, h.dtype)
        pairs = (h.mT @ h) * (weight @ weight.mT)  # [..., P, P]
        return member.mT @ pairs @ member
