"""What a method is: T gradients in, T gradients out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from torch import Tensor, nn

from ._gradients import Gradients, Matrix

if TYPE_CHECKING:
    from ._compose import Compose


class Method(nn.Module, ABC):
    r"""A function :math:`f_\psi` from T conflicting gradients to T gradients that agree better.

    A method is called on a tensor of gradients ``[..., T, n]`` and returns one of the same shape;
    a block adds the T rows of the result. Leading axes are independent problems.

    To write your own method, derive from `Scaling` (one number per gradient) or from `Mixing`
    (a T x T matrix). Both see the Gram matrix of the gradients and never the gradients themselves,
    which is what makes a block cheap.
    """

    uses_input: bool = False
    """Whether the method looks at the block's input y besides the gradients (GradDrop does)."""

    learns: bool = False
    """Whether the method learns something about the heads over time (GradNorm does)."""

    @abstractmethod
    def settle(self, gradients: Gradients, /) -> Gradients:
        """Settle the conflict among gradients that need not be stored as one tensor."""

    def forward(self, gradients: Tensor, /) -> Tensor:
        """Map gradients ``[..., T, n]`` to gradients ``[..., T, n]``."""
        if gradients.ndim < 2:
            raise ValueError(
                "gradients should be a tensor [..., T, n] with one row for each of the T heads. "
                f"Found shape {tuple(gradients.shape)}."
            )
        self.check_heads(gradients.shape[-2])
        return self.settle(Gradients(Matrix(gradients))).stacked()

    def check_heads(self, n: int, /) -> None:
        """Raise ValueError if the method cannot serve n heads; most serve any number."""

    def __rshift__(self, other: Method) -> Compose:
        """``a >> b`` applies a first, then b."""
        from ._compose import Compose

        return Compose(self, other)


class Scaling(Method):
    r"""A method that gives each gradient a weight: :math:`\tilde g_t = w_t g_t` (scale-aware)."""

    @abstractmethod
    def weights(self, gram: Tensor, /) -> Tensor:
        """The T weights ``[..., T]`` for a Gram matrix ``[..., T, T]``."""

    def settle(self, gradients: Gradients, /) -> Gradients:
        return gradients.scale(self.weights(gradients.gram()))


class Mixing(Method):
    r"""A method that mixes the gradients: :math:`\tilde g_t = \sum_s C_{ts} g_s` (direction-aware)."""

    @abstractmethod
    def mixing(self, gram: Tensor, /) -> Tensor:
        """The mixing matrix C ``[..., T, T]`` for a Gram matrix ``[..., T, T]``."""

    def settle(self, gradients: Gradients, /) -> Gradients:
        return gradients.mix(self.mixing(gradients.gram()))
