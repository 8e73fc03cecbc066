"""What is configured about several modalities: dataclasses that mirror their TOML one to one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ...common import ArgumentError, check_integer, check_kl_weight, check_number
from ...datasets import MULTIMODAL, multimodal, own_place
from ...datasets.judges import Judge
from ...modalities.objectives import Bound
from ...modalities.training import Goal, LocalStep
from ._build import WRITTEN_IF_SET

ExpertsLabel = Literal["mvae", "mmvae", "mopoe"]
MethodLabel = Literal["cagrad", "gradnorm"]


@dataclass(frozen=True)
class MultimodalData:
    """What is learnt.

    Attributes:
        name: One of `evenhand.datasets.MULTIMODAL`; or your own `MultimodalDataset`, as "my_module:my_dataset" or as
            "path/to/file.py:my_dataset".
        rows: How many training rows to take, at random; 0 for all.
        sha256: Of that file. It is filled in before a run, so that another content is another run.
    """

    name: str = "mnist_svhn_text"
    rows: int = 0
    sha256: str = field(default="", metadata=WRITTEN_IF_SET)

    def __post_init__(self) -> None:
        if self.name not in MULTIMODAL:
            own_place(self.name)
        check_integer("data.rows", self.rows, 0)

    @property
    def label(self) -> str:
        """What the data set is called in the names of directories."""
        return self.name if self.name in MULTIMODAL else own_place(self.name)[1]

    @property
    def files(self) -> tuple[str, ...]:
        """The Python file of a data set of your own, if it is in one."""
        file = self._file()
        return () if file is None else (str(file),)

    def beside(self, folder: Path) -> MultimodalData:
        """The same, with a file that lies in the folder of a config found there."""
        file = self._file()
        return self if file is None or not (folder / file).is_file() else self._at(folder / file)

    def check_content(self) -> None:
        """Refuse a place that holds no data set, before a directory is made for it."""
        if self.name not in MULTIMODAL:
            multimodal(self.name)

    def without_folders(self) -> MultimodalData:
        """The same, wherever its file lies."""
        file = self._file()
        return self if file is None else self._at(Path(file.name))

    def _file(self) -> Path | None:
        place = None if self.name in MULTIMODAL else own_place(self.name)[0]
        return place if isinstance(place, Path) else None

    def _at(self, file: Path) -> MultimodalData:
        return replace(self, name=f"{file}:{self.label}")


@dataclass(frozen=True)
class MultimodalModel:
    """What is trained.

    Attributes:
        experts: A product ("mvae"), a mixture ("mmvae"), or a mixture of products ("mopoe").
        n_layers: Hidden layers of networks that leave the choice.
        local_step: Where a likelihood is multiplied by the largest dimension over its own.
        kl_weight: Weight of the rate; "rate:8" for one that holds a mean rate of the experts in nats.
        scale: How encoders make scales of posteriors positive, where the data set leaves the choice: "softmax" as
            in the paper, or "softplus"; empty for what the data set has by default.
        likelihood_weights: What the likelihood of every modality counts, in the data set's order; all 1 if empty.
    """

    experts: ExpertsLabel = "mmvae"
    n_layers: int = 1
    local_step: LocalStep = "forward"
    kl_weight: float | str = 1.0
    scale: Literal["", "softmax", "softplus"] = ""
    likelihood_weights: tuple[float, ...] = field(default=(), metadata=WRITTEN_IF_SET)

    @property
    def weights_label(self) -> str:
        """Weights other than 1 in the names of runs, such as "kl0.3" or "weights1-2-1"; empty for usual ones."""
        kl = f"kl{self.kl_weight:g}" if isinstance(self.kl_weight, (int, float)) else self.kl_weight.replace(":", "")
        likelihoods = "-".join(f"{weight:g}" for weight in self.likelihood_weights)
        parts = ["" if self.kl_weight == 1 else kl, f"weights{likelihoods}" if likelihoods else ""]
        return "-".join(filter(None, parts))

    def __post_init__(self) -> None:
        check_integer("model.n_layers", self.n_layers)
        for i, weight in enumerate(self.likelihood_weights):
            check_number(f"model.likelihood_weights[{i}]", weight, above=True)
        check_kl_weight("model.kl_weight", self.kl_weight)


@dataclass(frozen=True)
class MultimodalObjective:
    """What is maximised, a lower bound of the evidence.

    Attributes:
        name: "elbo", "iwae" or "siwae".
        n_samples: K.
        floor: Under "siwae", the share of the experts that should count (`Balanced`); 0 for the bound of the paper.
        n_backward: Of how many of the K samples of an expert likelihoods are differentiated; 0 for all.
    """

    name: Bound = "siwae"
    n_samples: int = 30
    floor: float = 0.0
    n_backward: int = 0

    def __post_init__(self) -> None:
        check_integer("objective.n_samples", self.n_samples)
        check_integer("objective.n_backward", self.n_backward, 0)
        check_number("objective.floor", self.floor, 0, 1, below=True)
        if self.floor and self.name != "siwae":
            raise ArgumentError("objective.floor", f"be 0 with objective.name={self.name!r}", repr(self.floor))
        if self.n_backward > self.n_samples:
            expected = f"be at most objective.n_samples={self.n_samples}"
            raise ArgumentError("objective.n_backward", expected, repr(self.n_backward))


@dataclass(frozen=True)
class Impartiality:
    """Which goals are pursued, with which method. No goals: plain training.

    Attributes:
        goals: Some of "LI", "EEI" and "DEI".
        method: Settles conflicts in all blocks.
        alpha: Of the method.
        preserve_norm: Whether blocks give gradients of the length of the plain sum.
    """

    goals: tuple[Goal, ...] = ()
    method: MethodLabel = "cagrad"
    alpha: float = 0.4
    preserve_norm: bool = True

    def __post_init__(self) -> None:
        if len(set(self.goals)) < len(self.goals):
            raise ValueError(f"impartial.goals should be different. Found {self.goals}.")
        check_number("impartial.alpha", self.alpha)

    @property
    def label(self) -> str:
        """The goals in words: "none", "LI", "LI+EEI" and so on."""
        return "+".join(self.goals) or "none"


@dataclass(frozen=True)
class MultimodalTraining:
    """How it is trained.

    Attributes:
        epochs: How often the rows are seen.
        batch_size: Rows of a step.
        seed: Of everything random.
        precision: Single, or half where that is enough.
        warm_up: Epochs, or the part of one, in which the learning rate rises from 0.
        clip: Longest gradient of a row at the posterior of an expert; 0 for any.
    """

    epochs: int = 30
    batch_size: int = 128
    seed: int = 0
    precision: Literal["32", "bf16"] = "32"
    warm_up: float = field(default=0.0, metadata=WRITTEN_IF_SET)
    clip: float = field(default=0.0, metadata=WRITTEN_IF_SET)

    def __post_init__(self) -> None:
        check_number("training.warm_up", self.warm_up, 0)
        check_number("training.clip", self.clip, 0)
        check_integer("training.epochs", self.epochs)
        check_integer("training.batch_size", self.batch_size)
        check_integer("training.seed", self.seed, 0)


@dataclass(frozen=True)
class MultimodalEvaluation:
    """How it is scored.

    Attributes:
        rows: How many test rows; 0 for all.
        judge: Which classifiers see generated images: "published", which are trained for less where `data.rows` takes
            a part of the rows, or the larger "strong" ones.
        without_latent: Whether latent classification is left out. It has a classifier for every subset of
            modalities, which takes longer than all other scores where there are many.
        follow: Whether coherence given every single modality is measured after every epoch, on some validation rows.
    """

    rows: int = 10_000
    judge: Judge = "published"
    without_latent: bool = field(default=False, metadata=WRITTEN_IF_SET)
    follow: bool = field(default=False, metadata=WRITTEN_IF_SET)

    def __post_init__(self) -> None:
        check_integer("evaluation.rows", self.rows, 0)


@dataclass(frozen=True)
class MultimodalExperiment:
    """One multimodal model, one f, one seed."""

    data: MultimodalData = field(default_factory=MultimodalData)
    model: MultimodalModel = field(default_factory=MultimodalModel)
    objective: MultimodalObjective = field(default_factory=MultimodalObjective)
    impartial: Impartiality = field(default_factory=Impartiality)
    training: MultimodalTraining = field(default_factory=MultimodalTraining)
    evaluation: MultimodalEvaluation = field(default_factory=MultimodalEvaluation)

    @property
    def name(self) -> str:
        """What the experiment is called: data, model, objective, goals, weights, seed."""
        goals = "-".join([*self.impartial.goals, f"{self.impartial.method}{self.impartial.alpha:g}"]).lower()
        how = goals if self.impartial.goals else "vanilla"
        parts = [self.data.label, self.model.experts, self.objective.name, how, self.model.weights_label]
        return "-".join([*filter(None, parts), str(self.training.seed)])
