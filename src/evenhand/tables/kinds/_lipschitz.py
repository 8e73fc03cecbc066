"""Lipschitz standardization: units of numbers in which all likelihoods are about as smooth."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ..frames import RawTable
from ._binary import BinaryColumn
from ._catalogue import as_kind
from ._count import CountColumn
from ._kind import ColumnKind
from ._numbers import NumberColumn
from ._preprocessing import Preprocessing

OF_NORMAL = 3.0  # the smoothness of a column with mean 0 and deviation 1


def lipschitz(fitted: Preprocessing, table: RawTable) -> Preprocessing:
    r"""The same preprocessing with other scales of real and positive columns.

    The negative log-likelihood of an exponential family in its natural parameters is as curved as its log-partition
    function, whatever the datum, so that its local smoothness is

    .. math:: L = \sum_i \frac{\partial^2 A}{\partial \eta_i^2} = \sum_i \mathrm{Var}(T_i(x))

    at the parameters that fit the column alone. A column of numbers with mean m and deviation 1 that is multiplied by
    :math:`\omega` has :math:`L(\omega) = \omega^2 + (2 + 4 m^2)\,\omega^4`; a count has its mean, categories have
    :math:`1 - \sum_c \pi_c^2`, and half of it where one logit tells two of them apart. Counts and categories have no
    units to change: the geometric mean of their smoothness is what numbers are brought to. Without any of them it is
    that of a standardised column, 3.

    After Javaloy and Valera, "Lipschitz standardization for multivariate learning", arXiv:2002.11369;
    docs/fidelity.md says what differs.

    Args:
        fitted: The preprocessing by deviations.
        table: The training rows.
    """
    batch = fitted.encode(table)
    moments = [_moments(batch.values[:, d], batch.mask[:, d]) for d in range(len(fitted.schema))]
    kinds = [as_kind(column) for column in fitted.schema]
    fixed = [
        _smoothness(kind, batch.values[:, d], batch.mask[:, d])
        for d, kind in enumerate(kinds)
        if not isinstance(kind, NumberColumn)
    ]
    target = float(torch.tensor(fixed).clamp(min=1e-3).log().mean().exp()) if fixed else OF_NORMAL
    scale = fitted.scale.clone()
    for d, kind in enumerate(kinds):
        if isinstance(kind, NumberColumn):
            scale[d] /= _factor(*moments[d], target)
    return replace(fitted, scale=scale)


def _factor(mean: float, variance: float, target: float) -> float:
    r"""The :math:`\omega` that brings a column of numbers to a smoothness."""
    second = 2 * variance**2 + 4 * mean**2 * variance
    square = (-variance + (variance**2 + 4 * second * target) ** 0.5) / (2 * second)
    return float(square**0.5)


def _moments(x: Tensor, seen: Tensor) -> tuple[float, float]:
    known = x[seen].double()
    if not len(known):
        return 0.0, 1.0
    return float(known.mean()), float(known.var(correction=0)) or 1.0


def _smoothness(kind: ColumnKind, x: Tensor, seen: Tensor) -> float:
    known = x[seen].double()
    if not len(known):
        return 1.0
    if isinstance(kind, CountColumn):
        return float(known.mean())
    shares = torch.bincount(known.long()) / len(known)
    return float(1 - shares.square().sum()) / (2 if isinstance(kind, BinaryColumn) else 1)
