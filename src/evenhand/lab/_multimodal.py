"""One multimodal model, one f, one seed: trained, scored and looked at."""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from ..common import Tick
from ..datasets import (
    PAPER_SETTINGS,
    LabelledModalities,
    digits_in_three,
    mnist_svhn_text,
    mnist_svhn_text_modalities,
    split_pairs,
)
from ..datasets.judges import Classifiers, digit_classifiers
from ..impartial import CATALOGUE, Method
from ..modalities.estimator import Modality, MultimodalVAE
from ..modalities.likelihoods import Categorical, Laplace, Likelihood
from ._config import Impartiality, MultimodalExperiment, to_dict
from ._folder import Folder
from ._multimodal_figures import sample_grid
from ._multimodal_scores import evaluate

DATA = {"mnist_svhn_text": mnist_svhn_text, "digits_in_three": digits_in_three}
FEWEST = 10  # rows that can be split
VALIDATED = 8192  # validation rows that are looked at after every epoch
SHOWN = 8  # test rows in the grid of samples
PRIOR_SAMPLES = 10_000  # for joint coherence, where all test rows are scored
QUICK_EPOCHS = 2  # of the judges of MNIST-SVHN-Text, where training rows are few: the default takes long on a CPU
SAVE_STEPS = {"cpu": 200, "cuda": 2000}  # between checkpoints, and between rows of the history
DIGITS_LATENT, DIGITS_HIDDEN = 10, 128  # sizes of z and of the hidden layers for digits in three modalities
CLOCK = "clock.json"
PAPER: Mapping[str, Any] = PAPER_SETTINGS

Experts = Literal["product", "mixture", "mixture-of-products"]
EXPERTS: Mapping[str, Experts] = {"mvae": "product", "mmvae": "mixture", "mopoe": "mixture-of-products"}


def run_multimodal(
    config: MultimodalExperiment,
    folder: Folder,
    *,
    device: torch.device,
    tick: Tick,
    save_steps: int | None = None,
) -> dict[str, Any]:
    """Train and measure; what is measured is the report.

    Interrupted in training, it goes on from its last checkpoint; interrupted later, it does not train again.

    Args:
        config: The experiment.
        folder: Where checkpoints, weights, history and the grid of samples go.
        device: Where to train and to measure.
        tick: Called with the number of epochs done since the last call and a few words.
        save_steps: Steps between checkpoints and between rows of the history. There is always one after an epoch.
    """
    rows, model = _load(config), build_model(config)
    training = _train(model, rows, config, folder, device, tick, save_steps)
    started = time.monotonic()
    tick(0, "preparing the classifiers")
    judges = _judges(config, model.likelihoods, device)
    scores = {}
    for name, judged in (("scores", rows.test), ("validation", rows.validation)):
        tick(0, f"scoring {'test' if judged is rows.test else 'validation'} rows")
        scores[name] = _score(model, rows.train, judged, judges, config, training)
    few = rows.train.subset(torch.arange(min(config.training.batch_size, len(rows.train))))
    sentences = model.conflicts(few.data).sentences()  # of as many rows as a step, which has found memory before
    _draw(model, rows.test, folder)
    seconds = {"training": training, "evaluation": time.monotonic() - started}
    return {
        "experiment": "multimodal",
        "name": config.name,
        "config": to_dict(config),
        "data": rows.about(),
        **scores,
        "sentences": sentences,
        "seconds": {name: round(s, 1) for name, s in seconds.items()},
    }


# ---------------------------------------------------------------- the rows


class _Rows(NamedTuple):
    """The rows of an experiment; pairings, views and the validation part belong to its seed, test rows to all."""

    train: LabelledModalities
    validation: LabelledModalities
    test: LabelledModalities
    note: str

    def about(self) -> dict[str, Any]:
        """What a report says about the data."""
        return {
            "name": self.train.name,
            "rows": len(self.train) + len(self.validation),
            "train_rows": len(self.train),
            "validation_rows": len(self.validation),
            "test_rows": len(self.test),
            "modalities": self.train.data.names,
            "note": self.note,
        }


def _load(config: MultimodalExperiment) -> _Rows:
    load, seed, wanted = DATA[config.data.name], config.training.seed, config.data.rows
    everything = load("train", seed=seed)
    n, note = len(everything), everything.note
    if wanted and not FEWEST <= wanted <= n:
        raise ValueError(f"data.rows should be 0 for all, or from {FEWEST} to {n}. Found {wanted}.")
    if wanted:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
        everything = everything.subset(order[:wanted])
        note = f"{note} {wanted} of {n} training rows, taken at random.".strip()
    train, validation = split_pairs(everything, seed=seed)
    return _Rows(train, validation, load("test", seed=0), note)


# ---------------------------------------------------------------- the model


def build_model(config: MultimodalExperiment) -> MultimodalVAE:
    """The model of an experiment before training; ``load`` gives it the weights of a run's model.safetensors."""
    n_layers, seed = config.model.n_layers, config.training.seed
    if config.data.name == "mnist_svhn_text":
        n_latent = PAPER["model"]["n_latent"]
        modalities = mnist_svhn_text_modalities(n_latent, n_layers=n_layers, seed=seed)
    else:
        n_latent = DIGITS_LATENT
        modalities = digits_modalities(n_latent, n_layers=n_layers, seed=seed)
    return MultimodalVAE(
        modalities,
        n_latent=n_latent,
        experts=EXPERTS[config.model.experts],
        objective=config.objective.name,
        n_samples=config.objective.n_samples,
        impartial=dict.fromkeys(config.impartial.goals, _method(config.impartial)),
        local_step=config.model.local_step,
        kl_weight=config.model.kl_weight,
        seed=seed,
    )


def _method(impartial: Impartiality) -> Method:
    return CATALOGUE[impartial.method].make(impartial.alpha)


def digits_modalities(n_latent: int = DIGITS_LATENT, *, n_layers: int = 1, seed: int = 0) -> dict[str, Modality]:
    """Small networks for digits in three modalities, with the likelihoods of MNIST-SVHN-Text.

    Args:
        n_latent: Size of the latent space.
        n_layers: Hidden layers of every network.
        seed: Of the initial weights.
    """
    images = {"digit": (1, 8, 8), "colour": (3, 16, 16)}
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
        torch.manual_seed(seed)
        found = {
            name: Modality(*_networks(shape, n_latent, n_layers), Laplace(0.75)) for name, shape in images.items()
        }
        return found | {"text": Modality(*_networks((8, 71), n_latent, n_layers), Categorical(71))}


def _networks(shape: tuple[int, ...], n_latent: int, n_layers: int) -> tuple[nn.Module, nn.Module]:
    """An encoder and a decoder."""
    n = math.prod(shape)
    encoder = nn.Sequential(nn.Flatten(), *_hidden(n, n_layers), nn.Linear(DIGITS_HIDDEN, 2 * n_latent))
    decoder = [*_hidden(n_latent, n_layers), nn.Linear(DIGITS_HIDDEN, n), nn.Unflatten(1, shape)]
    return encoder, nn.Sequential(*decoder)


def _hidden(n_in: int, n_layers: int) -> list[nn.Module]:
    sizes = pairwise([n_in, *[DIGITS_HIDDEN] * n_layers])
    return [layer for before, after in sizes for layer in (nn.Linear(before, after), nn.ReLU())]


# ---------------------------------------------------------------- training


def _train(
    model: MultimodalVAE,
    rows: _Rows,
    config: MultimodalExperiment,
    folder: Folder,
    device: torch.device,
    tick: Tick,
    save_steps: int | None,
) -> float:
    """Train to the end, or load what was trained to its end before. Returns how many seconds training took."""
    weights, history = folder.path / "model.safetensors", folder.path / "history.json"
    if weights.is_file() and history.is_file():
        found = json.loads(history.read_text())
        model.load(weights).to(device)
        tick(config.training.epochs, "trained before")
        return float(found["seconds"])
    if device.index:
        raise ValueError(f"device should be the first one that is visible. Found {device}. Set CUDA_VISIBLE_DEVICES.")
    progress = _Progress(folder, tick, config.training.epochs)
    every = save_steps or SAVE_STEPS.get(device.type, SAVE_STEPS["cpu"])
    model.fit(
        rows.train.data,
        epochs=config.training.epochs,
        batch_size=config.training.batch_size,
        learning_rate=PAPER["fit"]["learning_rate"],
        validation=rows.validation.subset(torch.arange(min(VALIDATED, len(rows.validation)))).data,
        device=device.type,
        precision=config.training.precision,
        compile=device.type == "cuda",
        logger=progress,
        folder=folder.path,
        checkpoint_every=every,
        log_every=every,
        seed=config.training.seed,
        verbose=False,
    )
    seconds = progress.seconds
    model.save(weights)
    folder.write_json("history.json", {"rows": model.history, "seconds": seconds})  # last: both are there now
    (folder.path / CLOCK).unlink(missing_ok=True)
    return seconds


class _Progress:
    """A logger for Fabric that says how far training is, and keeps how long it has taken over all starts."""

    def __init__(self, folder: Folder, tick: Tick, epochs: int) -> None:
        self._folder, self._tick, self._epochs = folder, tick, epochs
        clock = folder.path / CLOCK
        self._before = float(json.loads(clock.read_text())["seconds"]) if clock.is_file() else 0.0
        self._started, self._done = time.monotonic(), 0.0

    @property
    def seconds(self) -> float:
        """Of training, that of earlier starts included."""
        return self._before + time.monotonic() - self._started

    def log_metrics(self, metrics: Mapping[str, float], step: int) -> None:
        """Called with every row of the history; the first one after a resume counts what was done before."""
        self._folder.write_json(CLOCK, {"seconds": self.seconds})
        done, self._done = self._done, metrics["epoch"]
        bound = f", bound {metrics['bound']:.2f}" if "bound" in metrics else ""
        self._tick(self._done - done, f"epoch {math.ceil(metrics['epoch'])}/{self._epochs}{bound}")

    def save(self) -> None:
        """Fabric asks for it; nothing is held back."""


# ---------------------------------------------------------------- measures


def _judges(config: MultimodalExperiment, likelihoods: Mapping[str, Likelihood], device: torch.device) -> Classifiers:
    """The classifiers of generated digits: the same for all seeds, trained once and kept in the cache of the user."""
    load = DATA[config.data.name]
    quick = config.data.rows and config.data.name == "mnist_svhn_text"
    train, test = load("train", seed=0), load("test", seed=0)
    return digit_classifiers(train, test, likelihoods, epochs=QUICK_EPOCHS if quick else None, device=device)


def _score(
    model: MultimodalVAE,
    train: LabelledModalities,
    judged: LabelledModalities,
    judges: Classifiers,
    config: MultimodalExperiment,
    seconds: float,
) -> dict[str, Any]:
    n = config.evaluation.rows or None
    # one seed for all: whatever is compared is compared on the same test rows
    found = evaluate(
        model.network, train, judged, judges, n_rows=n, n_prior=n or PRIOR_SAMPLES, seed=0, hours=seconds / 3600
    )
    return found.to_dict()


def _draw(model: MultimodalVAE, test: LabelledModalities, folder: Folder) -> None:
    """The grid of samples, if matplotlib is there."""
    few = test.subset(torch.linspace(0, len(test) - 1, SHOWN).long())  # rows are ordered by digit
    try:
        figure = sample_grid(model.network, few.data, n_columns=SHOWN)
    except ImportError:
        return
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=80)
    folder.write("samples.png", content.getvalue())
