"""A data set of several modalities with everything that an experiment needs to know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch

from ..common import check_integer, check_number, seeded
from ..modalities.estimator import Modality
from ..modalities.likelihoods import Likelihood
from ._labelled import LabelledModalities, Split
from .judges import Classifiers, Judge, Labelled, digit_classifiers


class Load(Protocol):
    """Gives the rows of a split; whatever is random about them belongs to the seed."""

    def __call__(self, split: Split, *, seed: int) -> LabelledModalities: ...


class MakeModalities(Protocol):
    """Makes the networks and likelihoods, with initial weights that belong to the seed."""

    def __call__(self, n_latent: int, *, n_layers: int, seed: int) -> Mapping[str, Modality]: ...


@dataclass(frozen=True)
class MultimodalDataset:
    """A data set that brings its modalities, its judges and its settings; experiments know no more about it.

    ``evenhand run`` takes one of your own: ``name = "path/to/file.py:my_dataset"`` in the section ``[data]``.

    Args:
        name: What it is called, in reports and in the names of directories.
        load: ``load("train", seed=0)`` gives the rows for training, ``load("test", seed=0)`` those for tests. A part
            of the former is set aside for validation. Without labels, what needs them is left out of a report.
        modalities: ``modalities(n_latent, n_layers=1, seed=0)`` gives a `Modality` for each name.
        n_latent: Size of the latent space.
        learning_rate: Of AMSGrad.
        judge_epochs: How often the classifiers that judge generated items see a real one; None for a default that
            depends on how many there are.
        quick_judge_epochs: The same for experiments with a part of the rows only.
        scales: The ways in which its encoders can make scales of posteriors positive, where there is a choice, its
            default first; `modalities` then also takes ``scale``.

    Example:
        >>> import torch
        >>> from evenhand.modalities import Categorical, Modalities, Modality, Normal
        >>> def load(split, *, seed):
        ...     generator = torch.Generator().manual_seed(seed + 1000 * (split == "test"))
        ...     label = torch.randint(3, (60,), generator=generator)
        ...     place = label[:, None] + 0.1 * torch.randn(60, 2, generator=generator)
        ...     return LabelledModalities(Modalities({"place": place, "label": label}), label, name="places")
        >>> def modalities(n_latent, *, n_layers, seed):
        ...     return {
        ...         "place": Modality(likelihood=Normal(0.1), shape=(2,)),
        ...         "label": Modality(likelihood=Categorical(3), shape=()),
        ...     }
        >>> places = MultimodalDataset("places", load, modalities, n_latent=2)
        >>> len(places.load("train", seed=0))
        60
    """

    name: str
    load: Load
    modalities: MakeModalities
    n_latent: int = 20
    learning_rate: float = 1e-3
    judge_epochs: int | None = None
    quick_judge_epochs: int | None = None
    scales: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_integer("n_latent", self.n_latent)
        check_number("learning_rate", self.learning_rate, above=True)
        for name in ("judge_epochs", "quick_judge_epochs"):
            check_integer(name, getattr(self, name), optional=True)

    def make_modalities(self, *, n_layers: int = 1, seed: int = 0, scale: str = "") -> Mapping[str, Modality]:
        """The networks and likelihoods, for the latent space of this data set.

        Args:
            n_layers: Hidden layers.
            seed: Of the initial weights.
            scale: One of `scales`; empty for the default.
        """
        make: Any = self.modalities
        options = {"scale": scale} if scale else {}
        with seeded(seed):  # networks of users start from torch's own numbers
            made: Mapping[str, Modality] = make(self.n_latent, n_layers=n_layers, seed=seed, **options)
        return made

    def judges(
        self,
        likelihoods: Mapping[str, Likelihood],
        *,
        device: torch.device | str = "cpu",
        quick: bool = False,
        judge: Judge = "published",
    ) -> Classifiers | None:
        """Classifiers of generated items; None if rows have no labels, or if all modalities are tables.

        They are the same for all seeds of an experiment, trained once and kept in the cache of the user.

        Args:
            likelihoods: Of the modalities.
            device: Where to train them.
            quick: Whether to train them for `quick_judge_epochs`.
            judge: Which classifiers see images: "published", or the larger "strong" ones.
        """
        train, test = self.load("train", seed=0), self.load("test", seed=0)
        labelled = train.labels is not None and test.labels is not None
        if not labelled or not any(likelihood.mean_is_an_item for likelihood in likelihoods.values()):
            return None
        epochs = self.quick_judge_epochs if quick else self.judge_epochs
        return digit_classifiers(
            cast("Labelled", train), cast("Labelled", test), likelihoods, epochs=epochs, judge=judge, device=device
        )
