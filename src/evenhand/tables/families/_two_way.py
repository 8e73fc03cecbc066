"""One trunk, two ways: through latent variables to the joint model, and directly to the best guess of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...impartial import scale_gradient
from ..kinds import Pieces, TableLikelihood
from ._direct import DirectWay
from ._family import Family, Heads, Sizes, Statistics
from ._latent import Latent
from ._layers import GAINS, StackedLinear
from ._vae import VAE

PIECES = 32  # of a number
MOST_RAMPS = 4_096  # of all numbers together: those of wide tables are cut into fewer pieces
SAY_OF_LATENT = 0.1
"""What the way through z weighs in the trunk beside the direct one, which is what people ask first."""
FARTHEST = 8.0  # deviations from the mean at which inputs end
MOST_ROWS = 100_000  # that numbers are cut by


class TwoWay(Family):
    """R networks with one trunk and two ways on, side by side.

    The trunk sees numbers as ramps of their pieces, categories as one-hot, and which cells are visible. From its
    features the paper's VAE goes on to z and to all columns: new rows, densities, codes. Beside it linear heads guess
    every hidden cell directly. A bottleneck costs such guesses more than anything else does.

    Gradients of columns meet twice: at the decoder's features, and, for the direct heads, at those of the trunk.

    Args:
        n_inputs: Number of inputs, with one for every column that says whether it is visible, at the end.
        likelihood: The likelihoods of the way through z.
        seeds: One for every replica; the initial weights belong to the seed.
        n_latent: Size of z.
        n_hidden: Size of the trunk's layers; the way through z has layers half as wide.
        n_layers: Number of hidden layers of the trunk, and each way of the VAE.
        n_pieces: The most pieces that a number is cut into; fewer in wide tables unless told otherwise.
    """

    name = "twoway"
    objectives = VAE.objectives
    encoding = "one-hot"
    see_mask = True
    guesses_directly = True
    posterior_is_gaussian = True
    default = usual = Sizes(n_hidden=192, n_layers=2)
    direct: DirectWay

    def __init__(
        self,
        n_inputs: int,
        likelihood: TableLikelihood,
        *,
        seeds: Sequence[int],
        n_latent: int,
        n_hidden: int = 192,
        n_layers: int = 2,
        n_pieces: int | None = None,
    ) -> None:
        super().__init__()
        self.likelihood, self.n_latent, self.n_inputs = likelihood, n_latent, n_inputs
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        n_pieces = n_pieces or max(2, min(PIECES, MOST_RAMPS // max(1, likelihood.n_numbers)))
        sizes = [n_inputs + likelihood.n_numbers * n_pieces] + [n_hidden] * n_layers
        self.trunk = nn.Sequential(
            *[
                layer
                for n_in in sizes[:-1]
                for layer in (StackedLinear(n_in, n_hidden, draws, gain=GAINS["relu"]), nn.SiLU())
            ]
        )
        self.direct = DirectWay(n_hidden, likelihood, Pieces(likelihood.n_numbers, n_pieces), draws)
        width = max(8, n_hidden // 2)
        self.joint = VAE(n_hidden, likelihood, seeds=seeds, n_latent=n_latent, n_hidden=width, n_layers=n_layers)
        self.n_noise = self.joint.n_noise

    def architecture(self) -> dict[str, Any]:
        """Sizes."""
        return {
            "n_inputs": self.n_inputs,
            "n_latent": self.n_latent,
            "n_hidden": self.direct.head.weight.shape[-1],
            "n_layers": len(self.trunk) // 2,  # every layer has an activation
            "n_pieces": self.pieces.size,
        }

    @property
    def pieces(self) -> Pieces:
        """How numbers are cut."""
        return self.direct.pieces

    @property
    def block_heads(self) -> list[list[int]]:
        """All heads of the VAE meet at its decoder's features."""
        return self.joint.block_heads

    def measure(self, inputs: Tensor, targets: Tensor, mask: Tensor) -> None:
        """Cut numbers into pieces, and let the direct heads start from what is frequent."""
        n, some = self.pieces.n, slice(None, None, len(inputs) // MOST_ROWS + 1)
        values = self.likelihood.numbers(targets[some].unsqueeze(0)).squeeze(0)
        self.pieces.fit(inputs[some, :n], targets[some, :n], values, mask[some, :n])
        self.direct.start_from(targets[some], mask[some])

    def look(self, inputs: Tensor) -> Tensor:
        """What both ways share, ``[R, B, n_hidden]``."""
        n, d = self.pieces.n, self.likelihood.n
        numbers, visible = inputs[..., :n], inputs[..., inputs.shape[-1] - d :][..., :n]
        ramps = self.pieces.ramps(numbers, visible)
        features: Tensor = self.trunk(torch.cat([ramps, inputs.clamp(-FARTHEST, FARTHEST)], -1))
        return features

    def encode(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale of q(z|x), from what `look` gives."""
        return self.joint.encode(inputs)

    def infer(self, inputs: Tensor, noise: Tensor, *, fixed_density: bool = False) -> Latent:
        """Samples of z and their densities, from what `look` gives."""
        return self.joint.infer(scale_gradient(inputs, SAY_OF_LATENT), noise, fixed_density=fixed_density)

    def most_probable(self, inputs: Tensor) -> Latent:
        """The mode of q(z|x), with K = 1, from what `look` gives."""
        return self.joint.most_probable(inputs)

    def decode(self, latent: Latent, blocks: Sequence[Heads] = (), *, frozen: bool = False) -> Tensor:
        """Unconstrained parameters of all heads of the VAE, ``[R, K, B, P]``."""
        return self.joint.decode(latent, blocks, frozen=frozen)

    def natural(self, outputs: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Natural parameters of the heads of the VAE."""
        return self.joint.natural(outputs, statistics)

    def log_prob(self, outputs: Tensor, targets: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Log-densities at unconstrained parameters, with slopes written by hand."""
        return self.joint.log_prob(outputs, targets, statistics)

    def start_from(self, marginals: Tensor) -> None:
        """As biases of the heads of the VAE."""
        self.joint.start_from(marginals)
