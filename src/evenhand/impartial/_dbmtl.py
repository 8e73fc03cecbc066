"""All gradients as long as the longest."""

from __future__ import annotations

from torch import Tensor

from ._method import Scaling
from ._solvers import correlation


class DBMTL(Scaling):
    r"""Make every gradient as long as the longest one: the norm balancing of DB-MTL.

    .. math:: w_t = \max_s \|g_s\| / \|g_t\|

    This is one half of the published method. The other half, the logarithm of every loss, belongs to the losses; and
    the published code takes the norms of a moving average of the gradients, here they are those of this step.

    Lin et al., "Dual-Balancing for Multi-Task Learning", 2023.
    """

    def weights(self, gram: Tensor, /) -> Tensor:
        r = correlation(gram)
        return (r.norms.amax(-1, keepdim=True) * r.inverse).to(gram.dtype)
