"""The likelihoods of all columns of a table: one call per kind, whatever the number of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..schema import Column, Kind, Schema
from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._gaussian import Gaussian, Parameters
from ._poisson import Poisson
from ._preprocessing import Preprocessing

Group = Gaussian | Poisson | Bernoulli | Categorical
# ordinal columns are categorical ones here, as in the paper; HI-VAE turns its thresholds into logits
RANK = {Kind.REAL: 0, Kind.POSITIVE: 1, Kind.COUNT: 2, Kind.BINARY: 3, Kind.CATEGORICAL: 4, Kind.ORDINAL: 4}


class TableLikelihood(nn.Module):
    r"""All heads of a table, :math:`\log p(x_d | \eta_d)` for every column d.

    Inside, columns stand in the order of their kinds (`order`), so that all columns of a kind are neighbours;
    what goes in and comes out in original units stands in the order of the schema. Parameters ``[..., P]``
    are unconstrained unless said otherwise; slopes are written by hand, so a backward pass through all heads
    costs one multiplication.

    Args:
        schema: The columns.
        preprocessings: What values were centred and scaled by; one, or one for every replica.
        limits: Smallest and largest value of every column ``[2, D]``, which guesses and draws of numbers never
            leave; None for no limits.
        parameters: What unconstrained parameters of numbers stand for, "natural" parameters as in the paper or
            "moments".
    """

    heads: Tensor  # [P], the head (in inner order) that a parameter belongs to
    inverse: Tensor  # [D], inner position of every column of the schema
    centre: Tensor  # [R, gaussians]: x = centre + scale u, or exp of it less offset
    scale: Tensor
    offset: Tensor
    positive: Tensor
    largest_zero: Tensor  # [gaussians]: up to here positive numbers are zeros, as in `Preprocessing.decode`
    shift: Tensor  # [R, counts]
    limits: Tensor | None  # [2, numbers]

    def __init__(
        self,
        schema: Schema,
        preprocessings: Sequence[Preprocessing],
        *,
        limits: Tensor | None = None,
        parameters: Parameters = "natural",
    ) -> None:
        super().__init__()
        self.schema = schema
        columns = list(schema)
        self.order = sorted(range(len(columns)), key=lambda d: (RANK[columns[d].kind], columns[d].size))
        self.names = [columns[d].name for d in self.order]
        self.groups = _groups(
            [columns[d].kind for d in self.order], [columns[d].size for d in self.order], parameters
        )
        heads, start = [], 0
        for group in self.groups:
            heads += [start + h for h in group.heads]
            start += group.n
        self.n, self.n_parameters = start, len(heads)
        self.n_targets = sum(group.n_targets for group in self.groups)
        self.register_buffer("heads", torch.tensor(heads), persistent=False)
        self.register_buffer("inverse", torch.tensor(self.order).argsort(), persistent=False)
        self._keep_units(preprocessings)
        numbers = [d for d in self.order if columns[d].kind.numeric]
        self.register_buffer("limits", None if limits is None else limits.double()[:, numbers], persistent=False)

    def _keep_units(self, preprocessings: Sequence[Preprocessing]) -> None:
        kinds = [list(self.schema)[d].kind for d in self.order]
        gaussians = [d for d, kind in zip(self.order, kinds, strict=True) if kind in (Kind.REAL, Kind.POSITIVE)]
        counts = [d for d, kind in zip(self.order, kinds, strict=True) if kind == Kind.COUNT]
        self.register_buffer("centre", torch.stack([p.centre[gaussians] for p in preprocessings]), persistent=False)
        self.register_buffer("scale", torch.stack([p.scale[gaussians] for p in preprocessings]), persistent=False)
        offset = torch.stack([p.offset[gaussians] for p in preprocessings])
        self.register_buffer("offset", offset, persistent=False)
        self.register_buffer("shift", torch.stack([p.shift[counts] for p in preprocessings]), persistent=False)
        positive = torch.tensor([kind == Kind.POSITIVE for kind in kinds[: len(gaussians)]], dtype=torch.bool)
        self.register_buffer("positive", positive, persistent=False)
        zeros = [_largest_zero(list(self.schema)[d]) for d in gaussians]
        self.register_buffer("largest_zero", torch.tensor(zeros, dtype=torch.float64), persistent=False)

    def keep(self, index: Tensor) -> None:
        """Keep some replicas only."""
        if len(self.centre) > 1:
            for name in ("centre", "scale", "offset", "shift"):
                setattr(self, name, getattr(self, name)[index])

    @property
    def n_numbers(self) -> int:
        """Number of real, positive and count columns; they come first."""
        return sum(group.n for group in self.groups if isinstance(group, Gaussian | Poisson))

    @property
    def fan_out(self) -> list[int]:
        """For every parameter, how many parameters its column has."""
        counts = torch.bincount(self.heads)
        return counts[self.heads].tolist()

    def targets(self, values: Tensor) -> Tensor:
        """What the heads compare with, ``[N, targets]``, from preprocessed values ``[N, D]``."""
        inner = values[:, self.order]
        parts = []
        for group, x in zip(self.groups, inner.split([g.n for g in self.groups], -1), strict=True):
            if isinstance(group, Categorical):
                x = F.one_hot(x.long(), group.size).flatten(-2).to(values.dtype)
            parts.append(x)
        return torch.cat(parts, -1)

    def base(self, values: Tensor, preprocessing: Preprocessing) -> Tensor:
        """What log-densities lack to be those of the original units, ``[N, D]`` in inner order."""
        base = preprocessing.log_volume(values)
        for d, column in enumerate(self.schema):
            if column.kind == Kind.COUNT:
                base[:, d] -= torch.lgamma(values[:, d] + 1)
        return base[:, self.order]

    def marginal(self, targets: Tensor, mask: Tensor) -> Tensor:
        """Unconstrained parameters ``[P]`` of the columns' marginal distributions: where heads can start from.

        Args:
            targets: ``[N, targets]``.
            mask: Which cells are observed, ``[N, D]`` in inner order.
        """
        owners = [d for d, n in enumerate(self._targets_per_column()) for _ in range(n)]
        seen = mask[:, owners]
        mean = (targets * seen).sum(0) / seen.sum(0).clamp(min=1)
        pieces = mean.split([g.n_targets for g in self.groups], -1)
        return torch.cat([g.marginal(m) for g, m in zip(self.groups, pieces, strict=True)], -1)

    def _targets_per_column(self) -> list[int]:
        return [g.n_targets // g.n for g in self.groups for _ in range(g.n)]

    def constrain(self, raw: Tensor) -> Tensor:
        """Natural parameters from unconstrained ones, ``[..., P]``."""
        return torch.cat([g.constrain(r) for g, r in zip(self.groups, self._split(raw), strict=True)], -1)

    def log_prob(self, parameters: Tensor, targets: Tensor, *, natural: bool = False) -> Tensor:
        """Log-densities ``[..., D]`` in inner order, but for `base`.

        Args:
            parameters: Unconstrained, or natural where said so.
            targets: From `targets`; no gradients flow to them.
            natural: Whether the parameters are natural ones.
        """
        return _LogProbability.apply(parameters, targets, self, natural)

    def point(self, eta: Tensor, how: Literal["mode", "mean"] = "mode") -> Tensor:
        """The most probable values, or expected numbers, in original units: ``[..., D]`` in the schema's order."""
        parts = []
        for group, e in zip(self.groups, self._split(eta), strict=True):
            if isinstance(group, Gaussian):
                parts.append(self._number(*group.moments(e.double()), how))
            elif isinstance(group, Poisson):
                rates = group.rates(e.double())
                parts.append((rates.floor() if how == "mode" else rates) + _spread(self.shift, e))
            elif isinstance(group, Bernoulli):
                parts.append((e >= 0).double())
            else:
                parts.append(e.unflatten(-1, (group.n, group.size)).argmax(-1).double())
        return self._limited(torch.cat(parts, -1))[..., self.inverse]

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every cell, in original units and the schema's order."""
        parts = []
        for group, e in zip(self.groups, self._split(eta), strict=True):
            x = group.sample(e, generator).double()
            if isinstance(group, Gaussian):
                x = self._number(x, torch.zeros_like(x), "mode")
            elif isinstance(group, Poisson):
                x = x + _spread(self.shift, e)
            parts.append(x)
        return self._limited(torch.cat(parts, -1))[..., self.inverse]

    def expectation(self, eta: Tensor) -> Tensor:
        """Expected numbers and probabilities of categories, ``[..., targets]``: these can be averaged."""
        parts = []
        for group, e in zip(self.groups, self._split(eta.double()), strict=True):
            if isinstance(group, Gaussian):
                parts.append(self._number(*group.moments(e), "mean"))
            elif isinstance(group, Poisson):
                parts.append(group.rates(e) + _spread(self.shift, e))
            elif isinstance(group, Bernoulli):
                parts.append(torch.sigmoid(e))
            else:
                parts.append(group.log_probabilities(e).exp().flatten(-2))
        return self._limited(torch.cat(parts, -1))

    def decide(self, expectation: Tensor) -> Tensor:
        """The best guess for every cell from (averaged) expectations, in the schema's order."""
        parts = []
        pieces = expectation.split([g.n_targets for g in self.groups], -1)
        for group, e in zip(self.groups, pieces, strict=True):
            if isinstance(group, Bernoulli):
                e = (e >= 0.5).to(e.dtype)
            elif isinstance(group, Categorical):
                e = e.unflatten(-1, (group.n, group.size)).argmax(-1).to(e.dtype)
            parts.append(e)
        return torch.cat(parts, -1)[..., self.inverse]

    def _limited(self, values: Tensor) -> Tensor:
        """Numbers, which come first, within their limits."""
        if self.limits is None:
            return values
        low, high = self.limits
        numbers, rest = values.split([len(low), values.shape[-1] - len(low)], -1)
        return torch.cat([numbers.clamp(low, high), rest], -1)

    def _number(self, mean: Tensor, variance: Tensor, how: str) -> Tensor:
        """Original units from moments of u; the mode or the mean of a log-normal where the column is positive."""
        scale = _spread(self.scale, mean)
        x = _spread(self.centre, mean) + scale * mean
        spread = variance * scale.square()
        # an exponent of 80 is beyond every column, and its square still a number
        exponent = (x - spread if how == "mode" else x + 0.5 * spread).clamp(max=80.0)
        number = exponent.exp() - _spread(self.offset, mean)
        return torch.where(self.positive, number.where(number > self.largest_zero, 0.0), x)

    def _split(self, parameters: Tensor) -> tuple[Tensor, ...]:
        return parameters.split([g.n_parameters for g in self.groups], -1)


class _LogProbability(torch.autograd.Function):
    """Log-densities of all heads with slopes written by hand."""

    @staticmethod
    def forward(ctx: Any, parameters: Tensor, targets: Tensor, heads: TableLikelihood, natural: bool) -> Tensor:
        log_ps, slopes = [], []
        sizes = [g.n_targets for g in heads.groups]
        for group, raw, x in zip(heads.groups, heads._split(parameters), targets.split(sizes, -1), strict=True):
            if natural:
                log_p, slope = group.log_prob(raw, x)
            else:
                log_p, slope = group.log_prob(group.constrain(raw), x, raw)
            log_ps.append(log_p)
            slopes.append(slope)
        ctx.save_for_backward(torch.cat(slopes, -1), heads.heads)
        return torch.cat(log_ps, -1)

    @staticmethod
    def backward(ctx: Any, *incoming: Tensor) -> Any:
        slopes, heads = ctx.saved_tensors
        return slopes * incoming[0].index_select(-1, heads), None, None, None


def _groups(kinds: Sequence[Kind], sizes: Sequence[int], parameters: Parameters) -> list[Group]:
    """Columns of one likelihood, and of one size, side by side."""
    numbers = sum(kind in (Kind.REAL, Kind.POSITIVE) for kind in kinds)
    counts, binaries = kinds.count(Kind.COUNT), kinds.count(Kind.BINARY)
    groups: list[Group] = []
    if numbers:
        groups.append(Gaussian(numbers, parameters))
    if counts:
        groups.append(Poisson(counts))
    if binaries:
        groups.append(Bernoulli(binaries))
    rest = list(sizes[numbers + counts + binaries :])
    groups += [Categorical(rest.count(size), size) for size in sorted(set(rest))]
    return groups


def _largest_zero(column: Column) -> float:
    if not isinstance(column.zero_offset, int | float):
        return 0.0
    # the logarithm went through single precision
    return column.zero_offset * math.exp(1e-6 * max(1.0, abs(math.log(column.zero_offset))))


def _spread(buffer: Tensor, like: Tensor) -> Tensor:
    """A buffer ``[R, n]`` in a shape that fits ``[R, ..., n]``."""
    return buffer.view(len(buffer), *[1] * (like.ndim - 2), -1)
