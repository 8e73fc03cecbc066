"""What is configured about a panel: dataclasses that mirror their TOML one to one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...common import ArgumentError, check_integer, check_number
from ._tables import Place, Runs


@dataclass(frozen=True)
class PanelData(Place):
    """What is learnt: rows that belong to things over time.

    Attributes:
        id: The column that says which rows belong together.
        time: The column that orders them.
    """

    id: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("id", "time"):
            if not getattr(self, name):
                raise ArgumentError(f"data.{name}", "name a column", "none")
        if self.id == self.time:
            raise ArgumentError("data.time", "be another column than data.id", repr(self.time))


@dataclass(frozen=True)
class PanelModel:
    """The network; `n_latent` is the size of z at a visit, `n_hidden` the units of a layer."""

    name: Literal["longitudinal"] = "longitudinal"
    n_latent: int = 8
    n_hidden: int = 64

    def __post_init__(self) -> None:
        check_integer("model.n_latent", self.n_latent)
        check_integer("model.n_hidden", self.n_hidden)


@dataclass(frozen=True)
class PanelTraining:
    """How it is trained.

    Attributes:
        epochs: Passes over the training histories.
        batch_size: Histories of a step.
        lr: The learning rate at first; it falls to zero along half a cosine.
        hide: The mean share of observed cells that are hidden in training.
        hide_visits: The share of visits that are hidden as a whole.
    """

    epochs: int = 50
    batch_size: int = 32
    lr: float = 4e-3
    hide: float = 0.3
    hide_visits: float = 0.15

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            check_integer(f"training.{name}", getattr(self, name))
        check_number("training.lr", self.lr, 0, 1, above=True, below=True)
        check_number("training.hide", self.hide, 0, 0.5, above=True)
        check_number("training.hide_visits", self.hide_visits, 0, 0.5)


@dataclass(frozen=True)
class PanelEvaluation:
    """What is hidden of histories that are tested on: a share of the cells, and a share of whole visits."""

    hidden: float = 0.2
    hidden_visits: float = 0.1

    def __post_init__(self) -> None:
        check_number("evaluation.hidden", self.hidden, 0, 1, above=True, below=True)
        check_number("evaluation.hidden_visits", self.hidden_visits, 0, 1, below=True)


@dataclass(frozen=True)
class PanelExperiment:
    """One panel; every method with every seed, and plain training at every KL weight, one after another."""

    data: PanelData
    model: PanelModel = field(default_factory=PanelModel)
    training: PanelTraining = field(default_factory=PanelTraining)
    runs: Runs = field(default_factory=Runs)
    evaluation: PanelEvaluation = field(default_factory=PanelEvaluation)

    def __post_init__(self) -> None:
        if self.runs.unrestored:
            raise ArgumentError("runs.unrestored", "be false: panels have restored norms only", "true")
        if self.runs.column_weights:
            raise ArgumentError("runs.column_weights", "be empty: panels have none", str(self.runs.column_weights))

    @property
    def name(self) -> str:
        """What the experiment is called: data, perhaps a label, model."""
        return "-".join(filter(None, (self.data.title, self.runs.label, self.model.name)))
