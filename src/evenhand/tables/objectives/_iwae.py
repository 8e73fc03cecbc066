"""The importance-weighted bound."""

from __future__ import annotations

import math

from torch import Tensor

from ..families import Latent
from ._objective import BatchOfRows, Bound


def iwae(log_weights: Tensor) -> Tensor:
    r"""The bound :math:`\log \frac1K \sum_k w_k` for every row, ``[..., B]``.

    At K = 1 it is the ELBO with a sampled rate; it rises in expectation with K.

    Burda, Grosse and Salakhutdinov, "Importance Weighted Autoencoders", ICLR 2016.

    Args:
        log_weights: log p(x|z_k) + log p(z_k) - log q(z_k|x), ``[..., K, B]``.
    """
    return log_weights.logsumexp(-2) - math.log(log_weights.shape[-2])


class IWAE(Bound):
    """The importance-weighted bound."""

    name = "iwae"

    def bound(self, log_likelihood: Tensor, latent: Latent, batch: BatchOfRows) -> Tensor:
        """The bound for every row."""
        return iwae(log_likelihood - batch.weighted_rate(latent))
