"""The doubly reparametrised gradient of the importance-weighted bound."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ..families import Family, Heads
from ._objective import BatchOfRows, Objective


def dreg(log_weights: Tensor, log_likelihood: Tensor) -> tuple[Tensor, Tensor]:
    r"""What to maximise for the encoder and for the decoder, ``[..., B]`` each.

    .. math:: \sum_k \tilde w_k^2 \log w_k \quad\text{and}\quad \sum_k \tilde w_k \log p(x|z_k),
              \qquad \tilde w = \mathrm{softmax}_k(\log w) \text{ held constant}

    Their values mean nothing; their gradients are those of the bound. In the first, log q is taken at constant
    parameters and the decoder is constant, so that gradients reach the encoder through z alone; in the second,
    z is constant.

    Tucker et al., "Doubly Reparameterized Gradient Estimators for Monte Carlo Objectives", ICLR 2019.

    Args:
        log_weights: log w with gradients through z, ``[..., K, B]``.
        log_likelihood: log p(x|z) with gradients to the decoder, ``[..., K, B]``.
    """
    share = log_weights.detach().softmax(-2)
    return (share.square() * log_weights).sum(-2), (share * log_likelihood).sum(-2)


class DReG(Objective):
    """The importance-weighted bound with its doubly reparametrised gradient.

    As in the paper, the ways to the encoder and to the decoder are settled apart, each with its own blocks.
    """

    name = "dreg"
    n_passes = 2

    def loss(self, model: Family, batch: BatchOfRows, blocks: Sequence[Sequence[Heads]]) -> Tensor:
        """A number whose gradient is that of the negative bound."""
        latent = model.infer(batch.features, batch.noise, fixed_density=True)
        batch.tell_rate(latent)
        for_encoder = batch.log_likelihood(model, model.decode(latent, blocks[0], frozen=True))
        for_decoder = batch.log_likelihood(model, model.decode(latent.detach(), blocks[1]))
        encoder, decoder = dreg(for_encoder - batch.weighted_rate(latent), for_decoder)
        return -(encoder + decoder).mean(-1)
