"""The impartiality block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ._base_block import BaseBlock
from ._distributed import processes, sum_over_ranks
from ._eigen import nearest_positive
from ._gradients import Matrix, Source, compute_dtype
from ._guards import check_fresh, forbid_double_backward, is_exported, records
from ._method import Method
from ._range import measure_at


class Block(BaseBlock):
    r"""The impartiality block: one input, T heads, and a method where their gradients meet.

    Forward, the block hands out T views of its input y, one for each head. Backward, the gradients
    :math:`g_1, \dots, g_T` that come back through the views meet; the method gives
    :math:`\tilde g_{1:T} = f_\psi(g_{1:T})` and their sum is passed on (Algorithm 1 of the paper).

    Args:
        method: The method :math:`f_\psi`.
        preserve_norm: Whether the sum is rescaled to the length of :math:`\sum_t g_t`, so that the
            method decides on the direction alone. Without it, methods whose weights add up to one
            shrink the gradient about T-fold.
        per_sample: Whether every row of y is settled on its own instead of the whole batch at once.
        feature_axes: How many trailing axes of y make up one row: 1 for features ``[..., h]``, 3 for
            images ``[B, C, H, W]``.
        problem_axes: How many leading axes of y hold problems of their own, each settled over its rows: 1 for
            the latent samples ``[A, K, B, L]`` of A experts, which then are A blocks in one.

    Example:
        >>> from evenhand import Block, IMTLG
        >>> block = Block(IMTLG())
        >>> y = torch.ones(4, 3, requires_grad=True)
        >>> left, right = block(y, 2)
        >>> (left[:, 0].sum() + 100 * right[:, 1].sum()).backward()
        >>> block.last.shares
        tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        method: Method,
        *,
        preserve_norm: bool = True,
        per_sample: bool = False,
        feature_axes: int = 1,
        problem_axes: int = 0,
    ) -> None:
        super().__init__(method, preserve_norm=preserve_norm)
        if per_sample and method.learns:
            raise ValueError(
                f"per_sample should be False with {method!r}, which learns about heads over time and cannot learn "
                "about rows. Found per_sample=True."
            )
        if feature_axes < 1:
            raise ValueError(f"feature_axes should be an integer >= 1. Found {feature_axes!r}.")
        if problem_axes < 0:
            raise ValueError(f"problem_axes should be an integer >= 0. Found {problem_axes!r}.")
        self.per_sample = per_sample
        self.feature_axes = feature_axes
        self.problem_axes = problem_axes

    def forward(self, y: Tensor, n: int, *, observed: Tensor | None = None) -> tuple[Tensor, ...]:
        """Hand out n views of y, one for each head.

        Args:
            y: What the heads share. Real and imaginary parts of complex numbers count as features of their own.
            n: The number of heads.
            observed: Which rows each head has data for, ``[*rows, n]``, where rows are the leading axes
                of y. Two heads are then compared by the mean over the rows both observe.
        """
        n = check_number(n)
        self.method.check_heads(n)
        self._check_axes("y", y.shape)
        if observed is not None:
            observed = check_observed(observed, y.shape[: max(y.ndim - self.feature_axes, 0)], n)
        if not records(y, training=self.training):
            return (y,) * n if is_exported() else tuple(y.detach() for _ in range(n))
        if y.is_complex():
            return tuple(as_complex(view, y.shape) for view in self._views(as_real(y), n, observed))
        return self._views(y, n, observed)

    def _check_axes(self, name: str, shape: Sequence[int]) -> None:
        if self.feature_axes + self.problem_axes > max(len(shape), 1):
            more = f" and the {self.problem_axes} of problem_axes" if self.problem_axes else ""
            raise ValueError(
                f"{name} should have at least the {self.feature_axes} axes of feature_axes{more}. "
                f"Found shape {list(shape)}."
            )

    def _views(self, y: Tensor, n: int, observed: Tensor | None) -> tuple[Tensor, ...]:
        saved = y.detach() if self.method.uses_input else y.detach().new_empty(0)
        return _Views.apply(y, saved, observed, n, self)

    def extra_repr(self) -> str:
        rare = f", problem_axes={self.problem_axes}" if self.problem_axes else ""
        return f"{super().extra_repr()}, per_sample={self.per_sample}, feature_axes={self.feature_axes}{rare}"

    def _source(self, tensors: Sequence[Tensor], likes: Sequence[Tensor], mask: Tensor | None) -> Source:
        rows_end = max(likes[0].ndim - self.feature_axes, 0)
        problems_end = rows_end if self.per_sample else self.problem_axes
        return Features(tensors, likes[0], mask, problems_end, rows_end)

    def _plain(self, tensors: Sequence[Tensor], likes: Sequence[Tensor]) -> list[Tensor]:
        return [torch.stack(list(tensors)).sum(0)]

    def _meet(
        self, incoming: Sequence[Tensor | None], y: Tensor | None, observed: Tensor | None = None
    ) -> Tensor | None:
        """The impartial sum of the gradients of T heads; None if no head has one.

        Args:
            incoming: The gradients, None for a head that does not reach y.
            y: The block's input, for methods that look at it.
            observed: Which rows each head has data for.
        """
        present = [dense(g) for g in incoming if g is not None]
        if not present:
            return None
        gradients = present
        if len(present) < len(incoming):
            zero, used = torch.zeros_like(present[0]), iter(present)
            gradients = [zero if g is None else next(used) for g in incoming]
        (total,) = self._backward(gradients, [present[0] if y is None else y], observed)
        return total


class _Views(torch.autograd.Function):
    """Views of y forward, the impartial sum backward."""

    @staticmethod
    def forward(
        ctx: Any, y: Tensor, saved: Tensor, observed: Tensor | None, n: int, block: Block
    ) -> tuple[Tensor, ...]:
        ctx.block, ctx.observed = block, observed
        ctx.save_for_backward(saved)
        ctx.set_materialize_grads(False)
        return tuple(y.view_as(y) for _ in range(n))

    @staticmethod
    def backward(ctx: Any, *incoming: Tensor | None) -> Any:
        (saved,) = check_fresh(ctx)
        present = [g for g in incoming if g is not None]
        y = saved if present and saved.shape == present[0].shape else None
        total = ctx.block._meet(incoming, y, ctx.observed)
        return *forbid_double_backward([total], present), None, None, None, None


class Features(Matrix):
    """Gradients of features ``[*problems, *rows, *features]``, compared over all rows of a problem.

    Args:
        gradients: T of them, in the shape of y.
        y: The block's input.
        observed: Which rows a head observes, ``[*problems, *rows, T]``.
        problems_end: The number of leading axes that are problems; all rows are, if every sample is settled alone.
        rows_end: The number of axes that are problems or rows.
    """

    def __init__(
        self,
        gradients: Sequence[Tensor],
        y: Tensor,
        observed: Tensor | None,
        problems_end: int,
        rows_end: int,
    ) -> None:
        self._y = y
        heads = len(gradients)
        self._problems = y.shape[:problems_end]
        self._rows = math.prod(y.shape[problems_end:rows_end])
        self._features = math.prod(y.shape[rows_end:])
        dtype = compute_dtype(gradients[0])
        stacked = torch.stack([g.to(dtype) for g in gradients])
        stacked = stacked.reshape(heads, math.prod(self._problems), self._rows * self._features)
        # [problems, T, rows * features], or [T, rows * features] where there is one problem
        super().__init__(stacked.transpose(0, 1) if problems_end else stacked.squeeze(1))
        self._observed = None
        if observed is not None:
            rows = observed.to(dtype).reshape(math.prod(self._problems), self._rows, heads)
            self._observed = rows if problems_end else rows.squeeze(0)
        self._alone = 0 < problems_end == rows_end
        self.spread = self.together = not self._alone and processes() > 1
        self._comparison: Tensor | None = None

    def comparison(self) -> Tensor:
        if self._observed is None:
            return self.gram()
        gram = self.gram()
        if self._comparison is None and self._alone:
            self._comparison = gram * (self._observed.mT @ self._observed)
        elif self._comparison is None:
            rows = self.stacked().unflatten(-1, (self._rows, self._features))
            seen = (rows * self._observed.mT.unsqueeze(-1)).flatten(-2)
            seen_gram = measure_at(lambda rows: rows @ rows.mT, seen, self.scale)
            self._comparison = mean_over_common_rows(seen_gram, self._observed, self.spread)
        return self._comparison

    def votes(self) -> Tensor:
        *problems, _, size = self.stacked().shape
        signs = self._y.sign().to(self.stacked().dtype).reshape(*problems, 1, size)
        votes = (self.stacked() * signs).unflatten(-1, (self._rows, self._features)).sum(-2)
        return sum_over_ranks(votes) if self.spread else votes

    def restore(self, vector: Tensor) -> list[Tensor]:
        return [vector.reshape(self._y.shape).to(self._y.dtype)]


def mean_over_common_rows(products: Tensor, observed: Tensor, spread: bool = True) -> Tensor:
    """Inner products that do not depend on how many rows two heads have in common.

    Sums over common rows become means, times the number of rows, so that nothing changes where all is
    observed. Products over different rows need not belong to any vectors; the nearest that do are taken.

    Args:
        products: Sums over common rows ``[..., T, T]``.
        observed: Which rows a head observes, ``[..., rows, T]``.
        spread: Whether every process has rows of its own.
    """
    common = observed.mT @ observed
    rows = common.new_full((1,), observed.shape[-2])
    if spread:
        common, rows, products = sum_over_ranks(common), sum_over_ranks(rows), sum_over_ranks(products)
    means = products * torch.where(common > 0, rows / common, 0.0)
    # A head that observes nothing stays at zero, exactly: it would be the shortest one by a rounding error.
    heard = (means.diagonal(dim1=-2, dim2=-1) != 0).to(means.dtype)
    return nearest_positive(means) * heard.unsqueeze(-1) * heard.unsqueeze(-2)


def real_view(tensor: Tensor) -> Tensor:
    """Complex numbers with an axis of their two parts; others as they are."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def as_real(tensor: Tensor) -> Tensor:
    """Real and imaginary parts of complex numbers as features of their own, ``[..., 2 h]``."""
    real = real_view(tensor)
    return real.flatten(-2) if tensor.ndim else real


def as_complex(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The complex numbers of a shape whose parts are in a real tensor."""
    return torch.view_as_complex(tensor.reshape(*shape, 2))


def dense(gradient: Tensor) -> Tensor:
    """Gradients are compared element by element, so sparse ones are filled up."""
    return gradient.to_dense() if gradient.is_sparse else gradient


def check_number(n: int) -> int:
    """A block serves one head or more."""
    if isinstance(n, bool) or not hasattr(n, "__index__") or n < 1:
        raise ValueError(f"n should be the number of heads, an integer >= 1. Found {n!r}.")
    return int(n)


def check_observed(observed: Tensor, rows: Sequence[int], n: int) -> Tensor:
    """The mask as ``[*rows, n]``, or an error that says what was expected."""
    expected = (*rows, n)
    observed = torch.as_tensor(observed)
    try:
        return observed.detach().expand(expected)
    except RuntimeError:
        raise ValueError(
            f"observed should say for every row and head whether it is observed: shape {list(expected)}, "
            f"or one that broadcasts to it. Found {list(observed.shape)}."
        ) from None
