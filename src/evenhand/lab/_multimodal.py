"""One multimodal model, one f, one seed: trained, scored and looked at."""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import torch

from ..common import ArgumentError, Tick
from ..datasets import LabelledModalities, MultimodalDataset, Split, multimodal, split_pairs
from ..datasets.judges import Classifiers, Labelled
from ..impartial import CATALOGUE, Method
from ..modalities.estimator import MultimodalVAE
from ..modalities.inference import usual_subsets
from ..modalities.models import ExpertsName
from ..modalities.objectives import Balanced, Tight, Tightness
from ._config import ExpertsLabel, Impartiality, MultimodalExperiment, MultimodalObjective, to_dict
from ._folder import Folder
from ._follow import Follow, rows_at_once
from .figures import sample_grid
from .judges import evaluate

FEWEST = 10  # rows that can be split
VALIDATED = 8192  # validation rows that are looked at after every epoch
SHOWN = 8  # test rows in the grid of samples
BOUNDED, ROWS_AT_ONCE = 2048, 128  # rows of which the objective is computed at most, and how many at once
PRIOR_SAMPLES = 10_000  # for joint coherence, where all test rows are scored
SAVE_STEPS = {"cpu": 200, "cuda": 2000}  # between checkpoints, and between rows of the history
CLOCK = "clock.json"
UNLABELLED = "The rows have no labels: coherence and latent classification are left out."

EXPERTS: Mapping[ExpertsLabel, ExpertsName] = {"mvae": "product", "mmvae": "mixture", "mopoe": "mixture-of-products"}


def run_multimodal(
    config: MultimodalExperiment,
    folder: Folder,
    *,
    device: torch.device,
    tick: Tick,
    save_steps: int | None = None,
) -> dict[str, Any]:
    """Train and measure; what is measured is the report.

    Interrupted in training, it resumes from its last checkpoint; interrupted later, it does not train again.

    Args:
        config: The experiment.
        folder: Where checkpoints, weights, history and the grid of samples go.
        device: Where to train and to measure.
        tick: Called with the number of epochs done since the last call and a few words.
        save_steps: Steps between checkpoints and between rows of the history. There is always one after an epoch.
    """
    dataset = multimodal(config.data.name)
    model = build_model(config)
    rows = _load(config, dataset).read_by(model)
    judges = _judges(model, dataset, config, device, tick) if config.evaluation.follow else None
    look = None if judges is None else Follow(model.network, rows.validation, judges, folder)
    training = _train(model, rows, dataset.learning_rate, config, folder, device, tick, save_steps, look)
    started = time.monotonic()
    judges = judges or _judges(model, dataset, config, device, tick)
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
        "data": {"name": dataset.name, **rows.about()},
        **scores,
        "bounds": {"test": _bound(model, rows.test, config), "validation": _bound(model, rows.validation, config)},
        "sentences": sentences,
        "experts": _lives(folder, model.core.expert_names, model.core.names),
        **({} if look is None else {"followed": look.seen()}),
        "seconds": {name: round(s, 1) for name, s in seconds.items()},
    }


# ---------------------------------------------------------------- the rows


class _Rows(NamedTuple):
    """The rows of an experiment; pairings, views and the validation part belong to its seed, test rows to all."""

    train: LabelledModalities
    validation: LabelledModalities
    test: LabelledModalities
    note: str

    def read_by(self, model: MultimodalVAE) -> _Rows:
        """The same, checked by the model before any work; what rows do not have is hidden from its networks."""
        train, validation, test = (replace(part, data=model.read(part.data)) for part in self[:3])
        return self._replace(train=train, validation=validation, test=test)

    def about(self) -> dict[str, Any]:
        """What a report says about the data."""
        return {
            "rows": len(self.train) + len(self.validation),
            "train_rows": len(self.train),
            "validation_rows": len(self.validation),
            "test_rows": len(self.test),
            "modalities": self.train.data.names,
            "note": self.note,
        }


def _load(config: MultimodalExperiment, dataset: MultimodalDataset) -> _Rows:
    seed, wanted = config.training.seed, config.data.rows
    everything, test = load_split(dataset, "train", seed), load_split(dataset, "test", 0)
    everything = some_training_rows(everything, wanted, seed)
    note = everything.note
    if everything.labels is None or test.labels is None:
        note = f"{note} {UNLABELLED}".strip()
    train, validation = split_pairs(everything, seed=seed)
    return _Rows(train, validation, test, note)


def some_training_rows(everything: LabelledModalities, wanted: int, seed: int) -> LabelledModalities:
    """So many rows, taken at random, with a note that says so; all if 0 are wanted."""
    n = len(everything)
    if not FEWEST <= (wanted or n) <= n:
        raise ValueError(f"data.rows should be 0 for all, or from {FEWEST} to {n}. Found {wanted}.")
    if not wanted:
        return everything
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    note = f"{everything.note} {wanted} of {n} training rows, taken at random.".strip()
    return replace(everything.subset(order[:wanted]), note=note)


def load_split(dataset: MultimodalDataset, split: Split, seed: int) -> LabelledModalities:
    """The rows of a split, checked."""
    rows: object = dataset.load(split, seed=seed)
    if not isinstance(rows, LabelledModalities):
        raise ValueError(
            f"load({split!r}, seed={seed}) of {dataset.name} should give evenhand.datasets.LabelledModalities. "
            f"Found {type(rows).__name__}."
        )
    return rows


# ---------------------------------------------------------------- the model


def build_model(config: MultimodalExperiment) -> MultimodalVAE:
    """The model of an experiment before training; ``load`` gives it the weights of a run's model.safetensors."""
    dataset, seed = multimodal(config.data.name), config.training.seed
    _check_scale(config, dataset)
    modalities = dataset.make_modalities(n_layers=config.model.n_layers, seed=seed, scale=config.model.scale)
    return MultimodalVAE(
        modalities,
        n_latent=dataset.n_latent,
        experts=EXPERTS[config.model.experts],
        objective=config.objective.name,
        tightness=_tightness(config.objective),
        n_samples=config.objective.n_samples,
        n_backward=config.objective.n_backward or None,
        impartial=dict.fromkeys(config.impartial.goals, _method(config.impartial)),
        preserve_norm=config.impartial.preserve_norm,
        local_step=config.model.local_step,
        likelihood_weights=_weights(config.model.likelihood_weights, list(modalities)),
        kl_weight=config.model.kl_weight,
        seed=seed,
    )


def _tightness(objective: MultimodalObjective) -> Tightness | None:
    if objective.name != "siwae":
        return None
    return Balanced(objective.floor) if objective.floor else Tight()


def _check_scale(config: MultimodalExperiment, dataset: MultimodalDataset) -> None:
    scale = config.model.scale
    if scale and scale not in dataset.scales:
        known = ", ".join(map(repr, ("", *dataset.scales)))
        raise ArgumentError("model.scale", f"be one of {known} for {dataset.name}", repr(scale))


def _weights(weights: Sequence[float], names: Sequence[str]) -> dict[str, float]:
    if weights and len(weights) != len(names):
        expected = f"have a number for each of {', '.join(names)}"
        raise ArgumentError("model.likelihood_weights", expected, str(list(weights)))
    return dict(zip(names, weights, strict=True)) if weights else {}


def _method(impartial: Impartiality) -> Method:
    return CATALOGUE[impartial.method].make(impartial.alpha)


# ---------------------------------------------------------------- training


def _train(
    model: MultimodalVAE,
    rows: _Rows,
    learning_rate: float,
    config: MultimodalExperiment,
    folder: Folder,
    device: torch.device,
    tick: Tick,
    save_steps: int | None,
    look: Follow | None,
) -> float:
    """Train to the end, or load what was trained to its end before. Returns how many seconds training took."""
    weights, history = folder.path / "model.safetensors", folder.path / "history.json"
    if weights.is_file() and history.is_file():
        model.load(weights).to(device)
        tick(config.training.epochs, "trained before")
        return float(json.loads(history.read_text())["seconds"])
    if device.index:
        raise ValueError(f"device should be the first one that is visible. Found {device}. Set CUDA_VISIBLE_DEVICES.")
    progress = Progress(folder, tick, config.training.epochs, look)
    every = save_steps or SAVE_STEPS.get(device.type, SAVE_STEPS["cpu"])
    model.fit(
        rows.train.data,
        epochs=config.training.epochs,
        batch_size=config.training.batch_size,
        learning_rate=learning_rate,
        validation=rows.validation.subset(torch.arange(min(VALIDATED, len(rows.validation)))).data,
        device=device.type,
        precision=config.training.precision,
        compile=device.type == "cuda",
        logger=progress,
        folder=folder.path,
        checkpoint_every=every,
        log_every=every,
        seed=config.training.seed,
        learning_rate_warm_up=config.training.warm_up,
        clip_expert_norm=config.training.clip or None,
        verbose=False,
    )
    seconds = progress.seconds
    model.save(weights)
    folder.write_json("history.json", {"rows": model.history, "seconds": seconds})  # last: both are there now
    (folder.path / CLOCK).unlink(missing_ok=True)
    return seconds


def _lives(folder: Folder, names: list[str], modalities: list[str]) -> dict[str, Any]:
    """How experts fared over training, from the history, and how well each told every modality at the end."""
    rows = json.loads((folder.path / "history.json").read_text())["rows"]
    rows = [row for row in rows if any(f"share/{name}" in row for name in names)]
    kinds = ("share", "rate", "gradient_norm")
    lives = {kind: [[row.get(f"{kind}/{name}", 0.0) for name in names] for row in rows] for kind in kinds}
    last = rows[-1] if rows else {}
    told = [[last.get(f"log_likelihood_from/{name}/{other}") for other in modalities] for name in names]
    counted = [row.get("effective_experts", 1.0) for row in rows]
    about = {"effective_experts": counted, "modalities": modalities, "log_likelihood_from": told}
    return {"names": names, "steps": [row["step"] for row in rows], **lives, **about}


class Progress:
    """A logger for Fabric that says how far training is, and keeps how long it has taken over all starts."""

    def __init__(self, folder: Folder, tick: Tick, epochs: int, look: Callable[[int], None] | None = None) -> None:
        self._folder, self._tick, self._epochs, self._look = folder, tick, epochs, look
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
        if self._look is not None and "validation" in metrics:
            self._look(step)

    def save(self) -> None:
        """Fabric asks for it; nothing is held back."""


# ---------------------------------------------------------------- measures


def _judges(
    model: MultimodalVAE, dataset: MultimodalDataset, config: MultimodalExperiment, device: torch.device, tick: Tick
) -> Classifiers | None:
    tick(0, "preparing the classifiers")
    judge = config.evaluation.judge
    quick = bool(config.data.rows) and judge == "published"  # whoever asks for a strong one gets it
    return dataset.judges(model.likelihoods, device=device, quick=quick, judge=judge)


def _score(
    model: MultimodalVAE,
    train: LabelledModalities,
    judged: LabelledModalities,
    judges: Classifiers | None,
    config: MultimodalExperiment,
    seconds: float,
) -> dict[str, Any]:
    n = config.evaluation.rows or None
    labelled = train.labels is not None and judged.labels is not None
    learns = labelled and not config.evaluation.without_latent
    # one seed for all: whatever is compared is compared on the same test rows
    return evaluate(
        model.network,
        cast("Labelled", train) if learns else None,
        cast("Labelled", judged),  # labels are not asked for where there are no judges
        judges,
        subsets=usual_subsets(model.core.names),
        n_rows=n,
        n_prior=n or PRIOR_SAMPLES,
        batch_size=rows_at_once(model.network),
        seed=0,
        hours=seconds / 3600,
    ).to_dict()


@torch.no_grad()
def _bound(model: MultimodalVAE, judged: LabelledModalities, config: MultimodalExperiment) -> float:
    """The mean of the objective over some rows, with the same noise for all models."""
    core, device = model.core.eval(), model.network.subsets.device
    generator = torch.Generator(device).manual_seed(0)
    n = min(config.evaluation.rows or BOUNDED, BOUNDED)
    order = torch.randperm(len(judged), generator=torch.Generator().manual_seed(0))[:n]
    total = 0.0
    for index in order.split(ROWS_AT_ONCE):
        batch = judged.data.rows(index.to(judged.data.device)).to(device)
        noise = core.noise(len(index), generator)
        total += len(index) * float(core(batch.values, batch.mask(), noise).bound)
    return total / len(order)


def _draw(model: MultimodalVAE, test: LabelledModalities, folder: Folder) -> None:
    """The grid of samples, if matplotlib is there and rows that have all modalities."""
    whole = test.data.complete()
    if not len(whole):
        return
    few = whole.subset(torch.linspace(0, len(whole) - 1, SHOWN).long())  # rows are ordered by digit
    try:
        figure = sample_grid(model.network, few, n_columns=SHOWN, subsets=usual_subsets(model.core.names))
    except ImportError:
        return
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=80)
    folder.write("samples.png", content.getvalue())
