"""Labels and texts: one category for every element."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from ...common import check_integer
from ._likelihood import Likelihood, Shape, full_precision, several, smallest_wrong, sum_items


class Categorical(Likelihood):
    r"""Elements of n categories with logits :math:`\eta` on the last axis of the parameters, ``[*shape, n]``.

    .. math:: \log p(x | \eta) = \eta_x - \log \sum_i e^{\eta_i}

    Items are codes from 0 to n - 1: a label has the shape ``()``, a text of 8 letters ``(8,)``. Encoders see a one
    for every code, ``[*shape, n]``.

    Args:
        n: Number of categories.

    Example:
        >>> letters = Categorical(71)
        >>> letters.parameter_shape((8,)), letters.dimension((8,))
        ((8, 71), 568)
        >>> letters.log_prob(torch.zeros(2, 8, 71), torch.zeros(2, 8, dtype=torch.long))
        tensor([-34.1014, -34.1014])
    """

    def __init__(self, n: int) -> None:
        super().__init__()
        check_integer("n", n, 2)
        self.n = n

    def prepare(self, x: Tensor) -> Tensor:
        """The codes as integers."""
        return x.long()

    def inputs(self, x: Tensor) -> Tensor:
        """A one for every code, ``[B, *shape, n]``."""
        return F.one_hot(x, self.n).to(torch.get_default_dtype())

    def input_shape(self, shape: Shape) -> Shape:
        """With the axis of categories last."""
        return (*shape, self.n)

    def parameter_shape(self, shape: Shape) -> Shape:
        """With the axis of categories last."""
        return (*shape, self.n)

    def item_shape(self, parameter_shape: Shape) -> Shape:
        """Without the axis of categories."""
        return several(parameter_shape, self.n, "the logits of the categories")

    def log_prob(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Log-probabilities of items, ``[..., B]``."""
        logits, codes = self._aligned(parameters, x)
        index = codes.expand(logits.shape[:-1]).unsqueeze(-1)
        return sum_items(torch.log_softmax(logits, -1).gather(-1, index).squeeze(-1), x)

    def mean(self, parameters: Tensor) -> Tensor:
        """The probabilities of the categories, ``[..., B, *shape, n]``."""
        return torch.softmax(full_precision(parameters), -1)

    def like_mean(self, x: Tensor) -> Tensor:
        """A one for every code, as probabilities."""
        return self.inputs(x)

    def guess(self, parameters: Tensor) -> Tensor:
        """The most probable codes."""
        return parameters.argmax(-1)

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """One draw of every element, as codes."""
        probabilities = self.mean(parameters)
        drawn = torch.multinomial(probabilities.reshape(-1, self.n), 1, generator=generator)
        return drawn.view(probabilities.shape[:-1])

    def dimension(self, shape: Shape) -> int:
        """Elements times categories, as the paper counts."""
        return math.prod(shape) * self.n

    def check(self, x: Tensor) -> None:
        """All should be codes from 0 to n - 1."""
        wrong = smallest_wrong(x, 0, self.n - 1, whole=True)
        if wrong is not None:
            raise ValueError(
                f"values should be whole numbers from 0 to {self.n - 1}, one for each of {self.n} categories. Found "
                f"{wrong:g}; number the categories from 0, or make n of Categorical larger."
            )

    def extra_repr(self) -> str:
        """The number of categories."""
        return str(self.n)
