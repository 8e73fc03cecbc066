"""What a likelihood of a whole modality is: an image, a text, a label, a table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

Shape = tuple[int, ...]
HALF = (torch.bfloat16, torch.float16)


class Likelihood(nn.Module, ABC):
    r"""How probable an item of a modality is, given what a decoder says: :math:`p(x | \text{parameters})`.

    The elements of an item are independent given the parameters. ``shape`` below is the shape of one item as it is
    stored, without the axis of rows.

    For one of your own, `log_prob`, `mean` and `sample` are enough; the rest is as for numbers with one parameter
    each.

    Example:
        >>> class Cauchy(Likelihood):
        ...     def log_prob(self, parameters, x):
        ...         log_p = -torch.log(math.pi * (1 + (x - parameters) ** 2))
        ...         return log_p.sum(dim=tuple(range(1 - x.ndim, 0)))
        ...
        ...     def mean(self, parameters):
        ...         return parameters  # it has none; the median stands for it
        ...
        ...     def sample(self, parameters, generator=None):
        ...         return parameters + torch.empty_like(parameters).cauchy_(generator=generator)
        >>> Cauchy().log_prob(torch.zeros(5, 2, 3), torch.zeros(2, 3)).shape  # 5 samples of 2 rows
        torch.Size([5, 2])
    """

    has_holes: ClassVar[bool] = False
    """Whether single elements of an item may be missing, as NaN, while the item itself is there."""

    mean_is_an_item: ClassVar[bool] = True
    """Whether a classifier of items can look at what `mean` gives."""

    @property
    def known_shape(self) -> Shape | None:
        """The shape of an item, if the likelihood itself knows it."""
        return None

    def read(self, data: Any) -> Any:
        """What a user passes as items, as a tensor, an array or a list of items."""
        return data

    def as_data(self, values: Tensor) -> Any:
        """Guesses or draws ``[..., N, *shape]`` as a user gets them."""
        return values.contiguous()

    def fingerprint(self) -> str:
        """Of what is learnt from data and is neither among the weights nor in the likelihood's name; else empty."""
        return ""

    def prepare(self, x: Tensor) -> Tensor:
        """Stored values as the numbers that `log_prob` compares with, ``[B, *shape]``.

        Bytes (uint8) are pixels and are divided by 255; other integers and booleans become numbers of torch's
        default type; numbers stay as they are.
        """
        if x.is_floating_point():
            return x
        numbers = x.to(torch.get_default_dtype())
        return numbers / 255 if x.dtype == torch.uint8 else numbers

    def inputs(self, x: Tensor) -> Tensor:
        """What an encoder sees of prepared values, ``[B, *input_shape]``."""
        return x

    def input_shape(self, shape: Shape) -> Shape:
        """The shape of what an encoder sees of an item."""
        return tuple(shape)

    def parameter_shape(self, shape: Shape) -> Shape:
        """The shape of the parameters of an item; where an element has several, they are the last axis."""
        return tuple(shape)

    def item_shape(self, parameter_shape: Shape) -> Shape:
        """The shape of the items that parameters of this shape describe: the inverse of `parameter_shape`."""
        return tuple(parameter_shape)

    @abstractmethod
    def log_prob(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Log-probabilities of items, summed over their elements: ``[..., B]``.

        Args:
            parameters: What the decoder says, ``[..., B, *parameter_shape]``.
            x: Prepared values, ``[B, *shape]``.
        """

    @abstractmethod
    def mean(self, parameters: Tensor) -> Tensor:
        """The expected item, as numbers for a classifier."""

    def like_mean(self, x: Tensor) -> Tensor:
        """Prepared values in the form of `mean`, as a classifier is shown real items."""
        return x

    def guess(self, parameters: Tensor) -> Tensor:
        """The best single guess, in the form of the data."""
        return self.mean(parameters)

    @abstractmethod
    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every item, in the form of the data."""

    def dimension(self, shape: Shape) -> int:
        """How many numbers an item has, for likelihoods per dimension."""
        return math.prod(shape)

    def check(self, x: Tensor) -> None:
        """Raise a ValueError ("values should be ...") about stored values that cannot be of this kind.

        Args:
            x: Stored values without missing ones, ``[N, *shape]``.
        """

    def check_learnt(self, x: Tensor) -> None:
        """The same about all rows that are learnt from, which can tell what a few cannot."""
        self.check(x)
        # zeros and ones in bytes would become 0 and 1 / 255; of a dark picture alone that could not be said
        pixels = x.dtype == torch.uint8 and type(self).prepare is Likelihood.prepare
        if pixels and x.numel() and x.max() == 1:
            raise ValueError(
                "values should be pixels from 0 to 255 where they are uint8. Found none above 1; convert zeros "
                "and ones to bool."
            )

    def _aligned(self, parameters: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Both in single precision or better, so that sums over thousands of pixels keep their digits."""
        expected = (len(x), *self.parameter_shape(tuple(x.shape[1:])))
        # broadcasting would accept many other shapes, and compare every pixel with every other
        if tuple(parameters.shape[-len(expected) :]) != expected:
            raise ValueError(
                f"parameters should have the shape [..., {', '.join(map(str, expected))}] for values of shape "
                f"{list(x.shape)}. Found {list(parameters.shape)}."
            )
        return full_precision(parameters), full_precision(x)


def log_prob(likelihood: Likelihood, parameters: Tensor, x: Tensor) -> Tensor:
    """What `Likelihood.log_prob` gives, once it has been looked at: people write their own, and sums are forgotten.

    Args:
        likelihood: Any.
        parameters: What the decoder says of S samples and B rows, ``[S, B, *parameter_shape]``.
        x: Prepared values, ``[B, *shape]``.
    """
    log_p, expected = likelihood.log_prob(parameters, x), parameters.shape[:2]
    if not isinstance(log_p, Tensor) or log_p.shape != expected:
        found = list(log_p.shape) if isinstance(log_p, Tensor) else type(log_p).__name__
        raise ValueError(
            f"log_prob of {likelihood} should give one number for every sample and row, {list(expected)}, "
            f"of parameters {list(parameters.shape)} and values {list(x.shape)}. Found {found}. "
            "Sum over the elements of an item, and over nothing else."
        )
    return log_p


def full_precision(x: Tensor) -> Tensor:
    """Numbers of half precision in single; others as they are."""
    return x.float() if x.dtype in HALF else x


def sum_items(log_p: Tensor, x: Tensor) -> Tensor:
    """Log-probabilities of elements ``[..., B, *shape]`` summed to those of the items x ``[B, *shape]``."""
    axes = tuple(range(1 - x.ndim, 0))
    return log_p.sum(dim=axes) if axes else log_p  # a sum over no axes would be one over all


def several(parameter_shape: Shape, n: int, what: str) -> Shape:
    """The shape of items whose elements have n parameters each, on the last axis."""
    if not parameter_shape or parameter_shape[-1] != n:
        raise ValueError(f"parameter_shape should end with an axis of {n}, {what}. Found {list(parameter_shape)}.")
    return tuple(parameter_shape[:-1])


def smallest_wrong(x: Tensor, low: float, high: float, *, whole: bool = False) -> float | None:
    """The smallest value that is not from low to high, or is no whole number; None if all are fine."""
    if not x.numel():
        return None
    smallest, largest = x.min().item(), x.max().item()
    if smallest < low:
        return smallest
    wrong = [x[x > high].min().item()] if largest > high else []
    if whole and x.is_floating_point():
        fractions = x[x != x.floor()]
        wrong += [fractions.min().item()] if fractions.numel() else []
    return min(wrong, default=None)
