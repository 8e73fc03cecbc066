"""The evidence lower bound."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..families import Latent
from ._objective import BatchOfRows, Bound


def elbo(log_likelihood: Tensor, rate: Tensor, kl_weight: Tensor | float = 1.0) -> Tensor:
    r"""The lower bound :math:`E_q[\log p(x|z)] - \beta \, \mathrm{KL}(q \| p)` for every row, ``[..., B]``.

    Kingma and Welling, "Auto-Encoding Variational Bayes", ICLR 2014; beta as in Higgins et al., ICLR 2017.

    Args:
        log_likelihood: log p(x|z), ``[..., K, B]``, summed over the columns observed.
        rate: KL(q || p) ``[..., B]`` in closed form, or log q(z|x) - log p(z) ``[..., K, B]`` of the samples.
        kl_weight: beta, a number or ``[...]``.
    """
    if rate.ndim == log_likelihood.ndim:
        rate = rate.mean(-2)
    return log_likelihood.mean(-2) - _per_row(kl_weight) * rate


def _per_row(weight: Tensor | float) -> Tensor | float:
    return weight.unsqueeze(-1) if isinstance(weight, Tensor) else weight


@dataclass(frozen=True)
class ELBO(Bound):
    """The evidence lower bound, with the rate in closed form or of the samples."""

    name = "elbo"
    analytic_kl: bool = True

    def bound(self, log_likelihood: Tensor, latent: Latent, batch: BatchOfRows) -> Tensor:
        """The bound for every row."""
        rate = latent.kl if self.analytic_kl else latent.log_q - latent.log_prior
        return elbo(log_likelihood, rate, batch.kl_weights)
