"""What an encoder finds out about rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor


@dataclass(frozen=True)
class Latent:
    """K samples of the latent variables of B rows, for R replicas, with their densities.

    Attributes:
        z: ``[R, K, B, L]``.
        log_q: log q(z | x), ``[R, K, B]``.
        log_prior: log p(z), ``[R, K, B]``.
        kl: KL(q || p) of what is said of whole rows, in closed form, ``[R, B]``: the rate.
        s: HI-VAE's (relaxed) component of the mixture, ``[R, K, B, S]``.
        cells_kl: KL(q || p) of what is said of single cells beside, ``[R, B]``; most families have nothing there.
    """

    z: Tensor
    log_q: Tensor
    log_prior: Tensor
    kl: Tensor
    s: Tensor | None = None
    cells_kl: Tensor | None = None

    @classmethod
    def of_samples(cls, z: Tensor, s: Tensor | None = None) -> Latent:
        """Samples whose densities play no part."""
        unknown = z.new_zeros(1)
        return cls(z, unknown, unknown, unknown, s)

    def detach(self) -> Latent:
        """The same samples as constants; densities keep their gradients."""
        return replace(self, z=self.z.detach(), s=None if self.s is None else self.s.detach())
