"""What a family of models says of itself, so that engines know no model by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ...common import ArgumentError
from ..kinds import Encoding, PositiveRule, TableLikelihood
from ._direct import DirectWay
from ._latent import Latent
from ._layers import Stacked

Heads = Callable[..., Tensor]
"""What turns shared features, the heads' weights and biases into outputs: a `LinearBlock`, or nothing."""

Statistics = tuple[Tensor, Tensor]
"""Mean and deviation of the numbers of a batch, ``[R, 1, gaussians]`` each."""

SMALLEST_LATENT = 2  # variables, however few columns there are


@dataclass(frozen=True)
class Sizes:
    """How large networks should be; None where the family decides. A family ignores what it does not have.

    Attributes:
        n_latent: Size of z.
        n_hidden: Units of a hidden layer.
        n_layers: Hidden layers.
    """

    n_latent: int | None = None
    n_hidden: int | None = None
    n_layers: int | None = None


class Family(nn.Module, ABC):
    """R models of one family, side by side on one table: a replica for every seed.

    A family of your own is one file: a class with an encoder (`infer`, `most_probable`), a decoder (`decode`, with
    its blocks), the way to natural parameters (`natural`), and the answers below. `FAMILIES` lists it.

    Attributes:
        likelihood: The heads' likelihoods.
        n_latent: Size of z.
        n_noise: How many standard normal numbers `infer` needs for a row and a sample.
    """

    name: ClassVar[str]
    """What it is called in arguments and configs."""

    objectives: ClassVar[tuple[str, ...]] = ("elbo",)
    """The objectives that it can be trained with."""

    encoding: ClassVar[Encoding | None] = None
    """How its encoder sees cells; None where that is for the user to say."""

    see_mask: ClassVar[bool | None] = None
    """Whether its encoder sees which cells are visible; None where that is for the user to say."""

    default: ClassVar[Sizes] = Sizes(n_hidden=50, n_layers=3)
    """Sizes of what `build` makes where it is not told any; a family without hidden layers has None there.

    Where the size of z is None, it grows with the table: a latent variable for every column.
    """

    usual: ClassVar[Sizes] = Sizes(n_hidden=128, n_layers=3)
    """Sizes for a table of a user who does not say any."""

    positive: ClassVar[PositiveRule | None] = None
    """What it learns of positive numbers; None where that is for the user to say."""

    analytic_kl: ClassVar[bool] = False
    """Whether its ELBO always has the KL term in closed form."""

    takes_dropout: ClassVar[bool] = False
    """Whether its encoder may be shown zeros in place of inputs, as the paper's; elsewhere a zero is a cell."""

    guesses_directly: ClassVar[bool] = False
    """Whether it has a direct way, which learns from hidden cells."""

    posterior_is_gaussian: ClassVar[bool] = False
    """Whether it has `encode`, the Gaussian q(z|x): what acquisition needs."""

    prior_is_mixture: ClassVar[bool] = False
    """Whether the prior is fitted to the data already, so that new rows need no mixture over codes."""

    likelihood: TableLikelihood
    n_latent: int
    n_noise: int
    direct: DirectWay | None
    """A way from what `look` gives to hidden cells around the latent variables, if the family has one."""

    def __init__(self) -> None:
        super().__init__()
        self.direct = None

    @classmethod
    def build(cls, n_inputs: int, likelihood: TableLikelihood, seeds: Sequence[int], sizes: Sizes) -> Family:
        """Untrained replicas of these sizes; where they say nothing, of those of `default`."""
        make: Any = cls
        own = replace(cls.default, n_latent=cls.default.n_latent or max(SMALLEST_LATENT, likelihood.n))
        wanted = {name: getattr(sizes, name) or size for name, size in asdict(own).items() if size is not None}
        family: Family = make(n_inputs, likelihood, seeds=seeds, **wanted)
        return family

    @abstractmethod
    def architecture(self) -> dict[str, Any]:
        """The arguments of the constructor beside likelihood and seeds, to build the same networks again."""

    @property
    @abstractmethod
    def block_heads(self) -> list[list[int]]:
        """For every place where gradients of the heads meet, the head of every output there.

        The first place is the one that people look at.
        """

    def measure(self, inputs: Tensor, targets: Tensor, mask: Tensor) -> None:
        """Look at training rows ``[N, ...]`` before training starts; most families have no need to.

        Args:
            inputs: What the encoder sees.
            targets: What the heads compare with.
            mask: Which cells are observed.
        """

    def look(self, inputs: Tensor) -> Tensor:
        """What everything after the inputs ``[R, B, I]`` shares: the inputs as they are, unless there is a trunk."""
        return inputs

    @abstractmethod
    def infer(self, inputs: Tensor, noise: Tensor, *, fixed_density: bool = False) -> Latent:
        """Samples of the latent variables and their densities.

        Args:
            inputs: What `look` gives, ``[R, B, I]``.
            noise: Standard normal numbers ``[R, K, B, n_noise]``.
            fixed_density: Whether log q is taken at constant parameters, so that gradients flow through z alone.
        """

    def encode(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and scale of q(z|x), ``[R, B, L]``, from what `look` gives; for families where that is Gaussian."""
        raise ArgumentError("model", "be one whose q(z|x) is Gaussian", repr(self.name))

    @abstractmethod
    def most_probable(self, inputs: Tensor) -> Latent:
        """The mode of the posterior, with K = 1, from what `look` gives."""

    def prior(self, n: int, generator: torch.Generator) -> Latent:
        """n draws from the prior, for one replica; densities are left out. Standard normal unless told otherwise."""
        like = next(self.parameters())
        z = torch.randn(1, 1, n, self.n_noise, generator=generator, dtype=like.dtype, device=like.device)
        return Latent.of_samples(z)

    @abstractmethod
    def decode(self, latent: Latent, blocks: Sequence[Heads] = (), *, frozen: bool = False) -> Tensor:
        """Outputs of all heads, ``[R, K, B, ...]``.

        Args:
            latent: Samples.
            blocks: One for each of `block_heads`; ordinary linear heads if there are none.
            frozen: Whether the decoder's parameters get no gradients.
        """

    @abstractmethod
    def natural(self, outputs: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Natural parameters of the heads ``[R, K, B, P]`` from what `decode` gives."""

    def log_prob(self, outputs: Tensor, targets: Tensor, statistics: Statistics | None = None) -> Tensor:
        """Log-densities ``[R, K, B, D]`` of targets ``[R, B, T]`` at what `decode` gives."""
        return self.likelihood.log_prob(self.natural(outputs, statistics), targets.unsqueeze(1), natural=True)

    def normalise_by_batch(self, inputs: Tensor, targets: Tensor, mask: Tensor) -> tuple[Tensor, Statistics | None]:
        """Inputs after a normalisation by the batch, and its statistics for `natural`; most families have none."""
        return inputs, None

    def start_from(self, marginals: Tensor) -> None:
        """Let the heads start from the columns' marginal distributions ``[P]`` or ``[R, P]``, if they can."""

    def start_step(self, steps: Tensor, steps_per_epoch: int) -> None:
        """Follow schedules; called before every training step with the number of steps done, ``[1]``."""

    def of_replicas(self) -> set[str]:
        """The names of tensors in ``state_dict()`` that have an axis of replicas; the others are shared."""
        stacked = [(name, module) for name, module in self.named_modules() if isinstance(module, Stacked)]
        return {f"{name}.{tensor}" for name, module in stacked for tensor in module.state_dict()}

    def keep(self, index: Tensor) -> None:
        """Go on with some replicas only."""
        for module in self.modules():
            if isinstance(module, Stacked):
                module.keep(index)
        self.likelihood.keep(index)
