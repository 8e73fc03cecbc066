"""What is maximised and how its gradients are taken: one list of options, checked in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ...common import ArgumentError, check_choice, check_flag, check_integer, check_kl_weight, check_number
from ..objectives import BOUNDS, OBJECTIVES, Objective, Tightness, rule_of

Gradient = Literal["stl", "dreg", "plain"]
LocalStep = Literal["backward", "forward", "none"]
Goal = Literal["LI", "EEI", "DEI"]

GRADIENTS: tuple[Gradient, ...] = get_args(Gradient)
LOCAL_STEPS: tuple[LocalStep, ...] = get_args(LocalStep)
GOALS: tuple[Goal, ...] = get_args(Goal)

# a training can be resumed only with the same ones; blocks say themselves whether they preserve norms
_OF_A_TRAINING = (
    *("objective", "tightness", "n_samples", "n_backward", "gradient", "local_step", "kl_weight"),
    *("n_negatives", "contrast"),
)


@dataclass(frozen=True)
class Options:
    """The options of an `ImpartialMixture`.

    Attributes:
        objective: "elbo", "iwae" (loose), "siwae" (tight), "mmjsd" or "contrastive".
        tightness: How much of the weight the winning expert may take under "siwae"; None for all of it.
        n_samples: K, samples of every expert.
        n_backward: Of how many samples of every expert likelihoods are differentiated: those that carry the weight,
            chosen so that gradients are right on average. All are decoded first, without gradients, so that a step
            takes about half of the time and a fraction of the memory. None for all samples.
        gradient: "stl" (densities as constants, as in the paper), "dreg" (doubly reparametrised) or "plain".
        preserve_norm: Whether blocks keep the length of the plain sum.
        local_step: Where a likelihood is multiplied by the largest dimension over its own: in the "backward" pass
            (the paper), "forward" (its code; a baseline that changes the reported bound), or "none".
        likelihood_weights: What the likelihood of every modality counts, in their order; all 1 if empty.
        kl_weight: Weight of the rate; "rate:8" for one that moves such that experts keep 8 nats per row on average.
        micro_batch: Decode about this many rows at a time, in less memory.
        n_negatives: For the contrastive objective, how many other rows a row is compared with.
        contrast: For the contrastive objective, the weight gamma of the evidence.
    """

    objective: Objective = "iwae"
    tightness: Tightness | None = None
    n_samples: int = 10
    n_backward: int | None = None
    gradient: Gradient = "stl"
    preserve_norm: bool = False
    local_step: LocalStep = "backward"
    likelihood_weights: tuple[float, ...] = ()
    kl_weight: float | str = 1.0
    micro_batch: int | None = None
    n_negatives: int = 5
    contrast: float = 2.0

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, OBJECTIVES)
        check_choice("gradient", self.gradient, GRADIENTS)
        check_choice("local_step", self.local_step, LOCAL_STEPS)
        check_integer("n_samples", self.n_samples)
        check_integer("n_backward", self.n_backward, optional=True)
        check_integer("n_negatives", self.n_negatives)
        check_integer("micro_batch", self.micro_batch, optional=True)
        check_kl_weight("kl_weight", self.kl_weight)
        check_number("contrast", self.contrast)
        check_flag("preserve_norm", self.preserve_norm)
        if self.tightness is not None and self.objective != "siwae":
            raise ArgumentError("tightness", f"be None with objective={self.objective!r}", repr(self.tightness))
        if self.n_backward is not None and self.objective not in BOUNDS:
            raise ArgumentError("n_backward", f"be None with objective={self.objective!r}", repr(self.n_backward))
        if self.n_backward is not None and self.n_backward > self.n_samples:
            raise ArgumentError("n_backward", f"be at most n_samples={self.n_samples}", repr(self.n_backward))
        if self.objective == "mmjsd" and self.gradient == "dreg":
            raise ValueError(
                "gradient should be 'stl' or 'plain' with objective='mmjsd', which has no importance weights."
            )

    @property
    def rule(self) -> Tightness:
        """How samples are weighed."""
        return rule_of("iwae" if self.objective not in BOUNDS else self.objective, self.tightness)

    @property
    def weighs_encoders(self) -> bool:
        """Whether samples count on the way to the encoders other than on the way to the decoders."""
        return self.gradient == "dreg" or self.rule.weighs_encoders

    @property
    def two_passes(self) -> bool:
        """Whether samples are decoded once without gradients, to know what they count, and then again."""
        return self.n_backward is not None or self.weighs_encoders

    def settings(self) -> dict[str, str]:
        """What must be the same for a training to be resumed."""
        settings = {name: str(getattr(self, name)) for name in _OF_A_TRAINING}
        if self.likelihood_weights:  # not a key of its own, which checkpoints of before would lack
            settings["local_step"] += f", then {', '.join(map(str, self.likelihood_weights))}"
        return settings
