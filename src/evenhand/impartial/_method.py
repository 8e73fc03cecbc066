"""What a method is: T gradients in, T gradients out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from torch import Tensor, nn

from ._gradients import Gradients, Matrix

if TYPE_CHECKING:
    from ._compose import Compose
    from ._settle_kernel import KernelStep


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
    """Whether the method learns something about the heads over time (GradNorm does); see `keep_replicas`."""

    is_random: bool = False
    """Whether the method draws random numbers (PCGrad and GradDrop do). It then has an attribute `generator`, which
    may also be set to `Draws`, and draws with `uniform`."""

    is_identity: bool = False
    """Whether the method leaves all gradients as they are (Sum does)."""

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

    def keep_replicas(self, replicas: Sequence[int], n: int, /) -> None:
        """Cut what was learnt about n replicas, the first of the leading axes, to some of them, in the order given.

        What a method `learns` is taken to be in parameters and buffers whose first axis has n entries, one for each
        replica; others are common to all replicas. A method that keeps it in another way overrides this.
        """
        if self.learns:
            _keep_replicas(self, list(replicas), n)

    def kernel_step(self, like: Tensor, /) -> KernelStep | None:
        """What the kernel that settles a stack in one launch has to know of this step, if it has a branch there.

        A subclass that says nothing of its own has none, whatever its parent has.

        Args:
            like: Norms of the gradients ``[R, T]``: their shape, type and device.
        """
        return None

    def chain(self) -> list[Method]:
        """The methods that act one after the other: only this one, unless it is a chain."""
        return [self]

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


def _keep_replicas(module: nn.Module, replicas: list[int], n: int) -> None:
    for tensor in chain(module.parameters(recurse=False), module.buffers(recurse=False)):
        if tensor.ndim and len(tensor) == n:
            tensor.data, tensor.grad = tensor.data[replicas], None
    for child in module.children():
        if isinstance(child, Method):
            child.keep_replicas(replicas, n)
        else:
            _keep_replicas(child, replicas, n)
