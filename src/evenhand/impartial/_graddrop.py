"""Random agreement on the sign of every feature's gradient."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from . import _kernels, _total_kernels
from ._gradients import Gradients
from ._method import Method
from ._random import uniform

# On a CPU, intermediate results of more votes than this are fetched from the system anew every time: 16 MB and more.
LARGE, PART = 2**22, 2**15  # then so many features at a time


class GradDrop(Method):
    r"""Let every feature follow either the gradients that raise it or those that lower it.

    .. math:: P = \tfrac12 \left(1 + \frac{\sum_t s_t}{\sum_t |s_t|}\right), \qquad
              \tilde g_t = \left(\ell_t + (1 - \ell_t) \, [\,s_t > 0 \text{ if } U < P,
              \text{ else } s_t < 0\,]\right) \circ g_t

    At the features of a block the votes are :math:`s_t = \sum_\text{rows} \mathrm{sign}(y) \circ g_t`;
    for parameters and for plain gradients they are the gradients themselves.

    Chen et al., "Just Pick a Sign: Optimizing Deep Multitask Models with Gradient Sign Dropout",
    NeurIPS 2020.

    Args:
        leak: The share of every gradient that is never dropped, in [0, 1]: one number or one per head.
        generator: Where the random numbers come from; torch's default generator if None.
    """

    uses_input = True
    is_random = True

    def __init__(self, leak: float | Sequence[float] = 0.0, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        values = torch.as_tensor(leak, dtype=torch.float32)
        if values.ndim > 1 or not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"leak should be a number in [0, 1], or one such number per head. Found {leak!r}.")
        self.leak: Tensor
        self.register_buffer("leak", values, persistent=False)
        self.generator = generator

    def settle(self, gradients: Gradients, /) -> Gradients:
        return gradients.mask(self.keep(gradients.votes(), together=gradients.together))

    def keep(self, votes: Tensor, /, *, together: bool = False) -> Tensor:
        """The multiplier of every feature of every gradient, from the votes ``[..., T, m]``."""
        numbers = uniform((*votes.shape[:-2], 1, votes.shape[-1]), votes, self.generator, together=together)
        if votes.numel() and _kernels.usable(votes.mT):
            return _total_kernels.follow(votes, numbers, self.leak)
        if votes.is_cuda or votes.numel() <= LARGE:
            return self._multipliers(votes, numbers)
        result = torch.empty_like(votes)
        for part, *given in zip(*(t.split(PART, -1) for t in (result, votes, numbers)), strict=True):
            part.copy_(self._multipliers(*given))
        return result

    def _multipliers(self, votes: Tensor, numbers: Tensor) -> Tensor:
        up = votes.clamp(min=0).sum(-2, keepdim=True)
        down = -votes.clamp(max=0).sum(-2, keepdim=True)
        total = up + down
        side = torch.where(up / total.where(total > 0, 1.0) > numbers, 1.0, -1.0).to(votes.dtype)
        follows = (side * votes > 0).logical_or_(total == 0)  # no votes, no conflict
        leak = self.leak.to(votes).unsqueeze(-1)
        return follows.to(votes.dtype).mul_(1 - leak).add_(leak)

    def check_heads(self, n: int, /) -> None:
        if self.leak.ndim == 1 and len(self.leak) != n:
            raise ValueError(
                f"leak should be one number, or one for each of the {n} heads. Found {len(self.leak)} numbers."
            )

    def extra_repr(self) -> str:
        return f"leak={self.leak.tolist()}"
