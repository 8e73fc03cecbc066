"""Where methods get random numbers from: a generator, or numbers drawn in advance for every replica."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ._distributed import same_on_all_ranks


class Draws:
    """Uniform numbers drawn in advance, one row for each of R replicas; a method takes as many as it needs.

    They tie the random numbers of a replica to its seed, whichever replicas share its stack. Assign `numbers`
    before every backward pass.

    Attributes:
        numbers: ``[R, m]``, or None before the first assignment.
    """

    def __init__(self, whole: Draws | None = None, index: Tensor | slice | None = None) -> None:
        self._whole, self._index = whole, index
        self.numbers: Tensor | None = None

    def part(self, index: Tensor | slice) -> Draws:
        """The numbers of some replicas, whatever is assigned to the whole."""
        return Draws(self, index)

    def take(self, shape: Sequence[int]) -> Tensor:
        """Numbers in a shape ``[R, ..., n]``."""
        numbers = self.numbers if self._whole is None else self._whole.numbers
        if numbers is None:
            raise RuntimeError("Assign numbers to the Draws before the backward pass.")
        if isinstance(self._index, Tensor):
            self._index = self._index.to(numbers.device)  # once: a captured graph cannot copy from the host
        if self._index is not None:
            numbers = numbers[self._index]
        if numbers.shape[-1] < shape[-1] or len(numbers) != shape[0]:
            raise ValueError(
                f"numbers should have {shape[0]} rows and at least {shape[-1]} columns. Found {list(numbers.shape)}."
            )
        return numbers[:, : shape[-1]].reshape(tuple(shape))


def uniform(
    shape: Sequence[int], like: Tensor, generator: torch.Generator | Draws | None, *, together: bool = False
) -> Tensor:
    """Uniform numbers in [0, 1) on the device of a tensor, the same ones for every type of it.

    Processes that settle one problem together all get those of the first.
    """
    if isinstance(generator, Draws):
        return generator.take(shape).to(like)
    device = like.device if generator is None else generator.device
    numbers = torch.rand(tuple(shape), generator=generator, device=device, dtype=torch.float32)
    numbers = numbers.to(like.device)
    return (same_on_all_ranks(numbers) if together else numbers).to(like.dtype)
