"""The evidence lower bound."""

from __future__ import annotations

from torch import Tensor


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
