"""What is configured about a count of survivors: dataclasses that mirror their TOML one to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from ...common import ArgumentError, check_choice, check_integer
from ...datasets import multimodal
from ...modalities.objectives import Balanced, Defensive, LooseToTight, PartlyTight, Tempered, Tight, Tightness
from ...modalities.training import LocalStep
from ._build import WRITTEN_IF_SET
from ._multimodal import Impartiality, MultimodalData, MultimodalEvaluation, MultimodalTraining

TightnessLabel = Literal["tight", "balanced", "tempered", "partly tight", "loose to tight", "defensive", "loose"]

# From a name in a TOML file to a class. The loose bound is another objective, and has no tightness.
PLAIN: Mapping[TightnessLabel, Callable[[], Tightness | None]] = MappingProxyType(
    {"tight": Tight, "partly tight": PartlyTight, "loose": lambda: None}
)
MEASURED: Mapping[TightnessLabel, Callable[[float], Tightness]] = MappingProxyType(
    {
        "balanced": Balanced,
        "tempered": Tempered,
        "loose to tight": lambda steps: LooseToTight(round(steps)),
        "defensive": Defensive,
    }
)


@dataclass(frozen=True)
class SurvivalModel:
    """A mixture of one expert for each modality.

    Attributes:
        scale: How encoders make the scales of posteriors positive, one of the data set's `scales`; empty for its
            first one.
        n_layers: Hidden layers.
        local_step: Where likelihoods are brought to the same number of dimensions.
    """

    scale: str = field(default="", metadata=WRITTEN_IF_SET)
    n_layers: int = 1
    local_step: LocalStep = "forward"

    def __post_init__(self) -> None:
        check_integer("model.n_layers", self.n_layers)


@dataclass(frozen=True)
class SurvivalObjective:
    """A bound, from loose (IWAE) to tight (SIWAE).

    Attributes:
        tightness: How the experts' samples are weighed against each other.
        amount: How much of that: the floor of "balanced", the temperature of "tempered", the steps of "loose to
            tight", the share of "defensive"; 0 for the others.
        n_samples: K.
        n_backward: How many samples of an expert are differentiated; 0 for all.
    """

    tightness: TightnessLabel = "balanced"
    amount: float = 0.6
    n_samples: int = 30
    n_backward: int = 0

    def __post_init__(self) -> None:
        check_integer("objective.n_samples", self.n_samples)
        check_integer("objective.n_backward", self.n_backward, 0)
        if self.tightness in PLAIN and self.amount:
            raise ArgumentError(
                "objective.amount", f"be 0 with objective.tightness={self.tightness!r}", repr(self.amount)
            )
        try:
            self.make()
        except ArgumentError as error:
            raise error.about("objective.amount") from error

    @property
    def label(self) -> str:
        """The rule in words, such as "balanced 0.6"; that of a schedule has its steps in the config alone."""
        return f"{self.tightness} {self.amount:g}" if self.tightness in ("balanced", "tempered") else self.tightness

    def make(self) -> Tightness | None:
        """The rule; None for the loose bound."""
        return PLAIN[self.tightness]() if self.tightness in PLAIN else MEASURED[self.tightness](self.amount)


@dataclass(frozen=True)
class SurvivalExperiment:
    """One short training of one seed: who lives, who starves, and whose posterior runs away."""

    data: MultimodalData = field(default_factory=MultimodalData)
    model: SurvivalModel = field(default_factory=SurvivalModel)
    objective: SurvivalObjective = field(default_factory=SurvivalObjective)
    impartial: Impartiality = field(default_factory=Impartiality)
    training: MultimodalTraining = field(default_factory=lambda: MultimodalTraining(epochs=1))
    evaluation: MultimodalEvaluation = field(default_factory=lambda: MultimodalEvaluation(2000))

    def __post_init__(self) -> None:
        if self.model.scale:
            check_choice("model.scale", self.model.scale, multimodal(self.data.name).scales)

    @property
    def rule(self) -> str:
        """The bound in words, and what care is taken in training: "tight, warm-up"."""
        care = {"warm-up": self.training.warm_up, "clipped": self.training.clip}
        return ", ".join([self.objective.label, *(word for word, amount in care.items() if amount)])

    @property
    def name(self) -> str:
        """What the experiment is called: data, bound, scales, goals, norms, seed."""
        impartial = self.impartial
        method = f"{impartial.method}{impartial.alpha:g}{'' if impartial.preserve_norm else '-as-settled'}"
        how = "-".join([*impartial.goals, method]).lower() if impartial.goals else "vanilla"
        rule = self.rule.replace(",", "").replace(" ", "-")
        parts = [self.data.label, "survival", rule, self.model.scale, how, str(self.training.seed)]
        return "-".join(filter(None, parts))
