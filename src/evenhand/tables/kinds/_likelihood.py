"""The likelihoods of all columns of a table: one call per kind, whatever the number of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..schema import Schema
from ._catalogue import RANK, as_kind
from ._density import Density
from ._gaussian import Parameters
from ._group import Group, How, Statistics
from ._preprocessing import Preprocessing


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
        self.columns = [as_kind(columns[d]) for d in self.order]
        self.names = [columns[d].name for d in self.order]
        self.n_numbers = sum(column.kind.numeric for column in columns)  # they come first
        groups = self._grouped(preprocessings, parameters)
        self.groups = cast("Sequence[Group]", nn.ModuleList(groups))  # modules, because units are on a device
        self.densities = [group.density for group in groups]
        self.n_normalised = sum(group.n for group in groups if group.normalised)  # by HI-VAE; they come first
        heads, start = [], 0
        for density in self.densities:
            heads += [start + h for h in density.heads]
            start += density.n
        self.n, self.n_parameters = start, len(heads)
        self.n_targets = sum(density.n_targets for density in self.densities)
        self.register_buffer("heads", torch.tensor(heads), persistent=False)
        self.register_buffer("inverse", torch.tensor(self.order).argsort(), persistent=False)
        numbers = self.order[: self.n_numbers]
        self.register_buffer("limits", None if limits is None else limits.double()[:, numbers], persistent=False)

    def _grouped(self, preprocessings: Sequence[Preprocessing], parameters: Parameters) -> list[Group]:
        """Columns of one density, and of one size, side by side."""
        pairs = zip(self.columns, self.order, strict=True)
        groups = []
        for (group, _), members in groupby(pairs, key=lambda pair: (pair[0].group, pair[0].column.size)):
            columns, places = zip(*members, strict=True)
            units = torch.stack([p.units(places) for p in preprocessings], 1)
            groups.append(group(columns, units, parameters))
        return groups

    def keep(self, index: Tensor) -> None:
        """Keep some replicas only."""
        for group in self.groups:
            group.keep(index)

    @property
    def fan_out(self) -> list[int]:
        """For every parameter, how many parameters its column has."""
        counts = torch.bincount(self.heads)
        return counts[self.heads].tolist()

    def targets(self, values: Tensor) -> Tensor:
        """What the heads compare with, ``[N, targets]``, from preprocessed values ``[N, D]``."""
        return torch.cat([density.targets(x) for density, x in self._cells(values)], -1)

    def left_out(self, values: Tensor) -> Tensor:
        """What log-densities have too much in the units of the model, ``[N, D]`` in inner order."""
        return torch.cat([density.left_out(x) for density, x in self._cells(values)], -1)

    def base(self, values: Tensor, preprocessing: Preprocessing) -> Tensor:
        """What log-densities lack to be those of the original units, ``[N, D]`` in inner order."""
        base = preprocessing.log_volume(values)[:, self.order]
        return base - self.left_out(values)

    def marginal(self, targets: Tensor, mask: Tensor) -> Tensor:
        """Unconstrained parameters ``[P]`` of the columns' marginal distributions: where heads can start from.

        Args:
            targets: ``[N, targets]``.
            mask: Which cells are observed, ``[N, D]`` in inner order.
        """
        seen = mask[:, self.owners_of_targets]
        mean = (targets * seen).sum(0) / seen.sum(0).clamp(min=1)
        return torch.cat([density.marginal(m) for density, m in self._by_target(mean)], -1)

    @property
    def owners_of_targets(self) -> list[int]:
        """For every target, the column (in inner order) that it belongs to."""
        numbers = [d.n_targets // d.n for d in self.densities for _ in range(d.n)]
        return [d for d, n in enumerate(numbers) for _ in range(n)]

    def constrain(self, raw: Tensor) -> Tensor:
        """Natural parameters from unconstrained ones, ``[..., P]``."""
        return torch.cat([density.constrain(r) for density, r in self.by_density(raw)], -1)

    def log_prob(self, parameters: Tensor, targets: Tensor, *, natural: bool = False) -> Tensor:
        """Log-densities ``[..., D]`` in inner order, but for `base`.

        Args:
            parameters: Unconstrained, or natural where said so.
            targets: From `targets`; no gradients flow to them.
            natural: Whether the parameters are natural ones.
        """
        return _LogProbability.apply(parameters, targets, self, natural)

    def point(self, eta: Tensor, how: How = "mode") -> Tensor:
        """The most probable values, or expected numbers, in original units: ``[..., D]`` in the schema's order."""
        parts = [group.point(e, how) for group, e in self._by_group(eta.double())]
        return self.limited(torch.cat(parts, -1))[..., self.inverse]

    def sample(self, eta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every cell, in original units and the schema's order."""
        parts = [group.value(group.density.sample(e, generator).double()) for group, e in self._by_group(eta)]
        return self.limited(torch.cat(parts, -1))[..., self.inverse]

    def expectation(self, eta: Tensor) -> Tensor:
        """Expected numbers and probabilities of categories, ``[..., targets]``: these can be averaged."""
        parts = [group.expectation(e) for group, e in self._by_group(eta.double())]
        return self.limited(torch.cat(parts, -1))

    def decide(self, expectation: Tensor) -> Tensor:
        """The best guess for every cell from (averaged) expectations, in the schema's order."""
        parts = [density.decide(e) for density, e in self._by_target(expectation)]
        return torch.cat(parts, -1)[..., self.inverse]

    def numbers(self, targets: Tensor) -> Tensor:
        """Numbers in the units of the data, ``[R, ..., numbers]``, from targets ``[R, ..., targets]``."""
        parts, known = [], 0
        for group, (_, x) in zip(self.groups, self._by_target(targets), strict=True):
            if known < self.n_numbers:
                parts.append(group.value(x.double()))
            known += group.n
        return torch.cat(parts, -1) if parts else targets[..., :0].double()

    def natural(self, locations: Tensor, scales: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Natural parameters ``[..., P]`` from HI-VAE's outputs.

        Args:
            locations: What is computed from [y, s], the outputs of one column after those of another.
            scales: What is computed from s alone.
            statistics: Mean and deviation of real and positive columns in the batch, which carry them back.
        """
        at_y = iter(locations.split([column.n_locations for column in self.columns], -1))
        at_s = iter(scales.split([column.n_scales for column in self.columns], -1))
        parts = [g.natural([*islice(at_y, g.n)], [*islice(at_s, g.n)], statistics) for g in self.groups]
        return torch.cat(parts, -1)

    def limited(self, values: Tensor) -> Tensor:
        """Numbers, which come first, within their limits."""
        if self.limits is None:
            return values
        low, high = self.limits
        numbers, rest = values.split([len(low), values.shape[-1] - len(low)], -1)
        return torch.cat([numbers.clamp(low, high), rest], -1)

    def by_density(self, parameters: Tensor) -> Iterable[tuple[Density, Tensor]]:
        """Every density with its part of parameters ``[..., P]``."""
        return zip(self.densities, self._split(parameters), strict=True)

    def _by_group(self, parameters: Tensor) -> Iterable[tuple[Group, Tensor]]:
        return zip(self.groups, self._split(parameters), strict=True)

    def _by_target(self, targets: Tensor) -> Iterable[tuple[Density, Tensor]]:
        return zip(self.densities, targets.split([d.n_targets for d in self.densities], -1), strict=True)

    def _cells(self, values: Tensor) -> Iterable[tuple[Density, Tensor]]:
        """Every density with its columns of values ``[N, D]``."""
        return zip(self.densities, values[:, self.order].split([d.n for d in self.densities], -1), strict=True)

    def _split(self, parameters: Tensor) -> tuple[Tensor, ...]:
        return parameters.split([d.n_parameters for d in self.densities], -1)


class _LogProbability(torch.autograd.Function):
    """Log-densities of all heads with slopes written by hand."""

    @staticmethod
    def forward(ctx: Any, parameters: Tensor, targets: Tensor, heads: TableLikelihood, natural: bool) -> Tensor:
        log_ps, slopes = [], []
        for (density, x), raw in zip(heads._by_target(targets), heads._split(parameters), strict=True):
            if natural:
                log_p, slope = density.log_prob(raw, x)
            else:
                log_p, slope = density.log_prob(density.constrain(raw), x, raw)
            log_ps.append(log_p)
            slopes.append(slope)
        ctx.save_for_backward(torch.cat(slopes, -1), heads.heads)
        return torch.cat(log_ps, -1)

    @staticmethod
    def backward(ctx: Any, *incoming: Tensor) -> Any:
        slopes, heads = ctx.saved_tensors
        return slopes * incoming[0].index_select(-1, heads), None, None, None
