"""One short training under a bound from loose to tight: how its experts fare, and what they are good for."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any, cast

import torch

from ..common import Tick
from ..datasets import LabelledModalities, MultimodalDataset, multimodal
from ..datasets.judges import Labelled
from ..impartial import CATALOGUE
from ..modalities.estimator import MultimodalVAE
from ..modalities.training import Health
from ._config import SurvivalExperiment, to_dict
from ._folder import Folder
from ._multimodal import CLOCK, Progress, load_split, some_training_rows
from .judges import coherence, rates


def run_survival(
    config: SurvivalExperiment, folder: Folder, *, device: torch.device, tick: Tick, save_steps: int = Health.every
) -> dict[str, Any]:
    """Train and measure; what is measured is the report.

    Interrupted in training, it resumes from its last checkpoint; interrupted later, it does not train again.

    Args:
        config: The experiment.
        folder: Where the checkpoint and the history go.
        device: Where to train and to measure.
        tick: Called with the number of epochs done since the last call and a few words.
        save_steps: Steps between checkpoints and between rows of the history, each of which is a look at the experts.
    """
    dataset = multimodal(config.data.name)
    train, test = _rows(config, dataset), load_split(dataset, "test", 0)
    model = build_survivor(config, dataset)
    seconds = _train(model, train, config, dataset.learning_rate, folder, device, tick, save_steps)
    (folder.path / CLOCK).unlink(missing_ok=True)
    started = time.monotonic()
    tick(0, "scoring test rows")
    measured = _measure(model, test, dataset, config, device)
    history = _looks(model)
    return {
        "experiment": "survival",
        "name": config.name,
        "config": to_dict(config),
        "data": {"name": dataset.name, "train_rows": len(train), "test_rows": len(test), "note": train.note},
        "experts": model.core.expert_names,
        "runs": [_entry(config, dataset, history[-1], model.core.expert_names) | measured],
        "history": _lives(history, model.core.expert_names),
        "sentences": _sentences(history, model.core.expert_names),
        "seconds": {"training": round(seconds, 1), "evaluation": round(time.monotonic() - started, 1)},
    }


def build_survivor(config: SurvivalExperiment, dataset: MultimodalDataset) -> MultimodalVAE:
    """The model of an experiment before training."""
    seed, objective, impartial = config.training.seed, config.objective, config.impartial
    rule = objective.make()
    return MultimodalVAE(
        dataset.make_modalities(n_layers=config.model.n_layers, seed=seed, scale=config.model.scale),
        n_latent=dataset.n_latent,
        objective="iwae" if rule is None else "siwae",
        tightness=rule,
        n_samples=objective.n_samples,
        n_backward=objective.n_backward or None,
        impartial={goal: CATALOGUE[impartial.method].make(impartial.alpha) for goal in impartial.goals},
        preserve_norm=impartial.preserve_norm,
        local_step=config.model.local_step,
        seed=seed,
    )


def _rows(config: SurvivalExperiment, dataset: MultimodalDataset) -> LabelledModalities:
    """The rows for training; there is no validation, the last weights are measured."""
    everything = load_split(dataset, "train", config.training.seed)
    return some_training_rows(everything, config.data.rows, config.training.seed)


def _train(
    model: MultimodalVAE,
    rows: LabelledModalities,
    config: SurvivalExperiment,
    learning_rate: float,
    folder: Folder,
    device: torch.device,
    tick: Tick,
    save_steps: int,
) -> float:
    """Train to the end; returns how many seconds it took. What was trained before is in the checkpoint."""
    progress = Progress(folder, tick, config.training.epochs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of deaths, which are what is counted
        model.fit(
            rows.data,
            epochs=config.training.epochs,
            batch_size=config.training.batch_size,
            learning_rate=learning_rate,
            device=device.type,
            precision=config.training.precision,
            logger=progress,
            folder=folder.path,
            checkpoint_every=save_steps,
            log_every=save_steps,
            seed=config.training.seed,
            learning_rate_warm_up=config.training.warm_up,
            clip_expert_norm=config.training.clip or None,
            verbose=False,
        )
    return progress.seconds


def _looks(model: MultimodalVAE) -> list[dict[str, float]]:
    """The rows of the history that have readings of the experts."""
    return [row for row in model.history if f"rate/{model.core.expert_names[0]}" in row]


def _entry(
    config: SurvivalExperiment, dataset: MultimodalDataset, last: Mapping[str, float], experts: list[str]
) -> dict[str, Any]:
    """What tables count: the arm, the seed, and readings of the last steps."""
    return {
        "rule": config.rule,
        "goals": config.impartial.label,
        "restored": config.impartial.preserve_norm,
        "scale": config.model.scale or next(iter(dataset.scales), ""),
        "seed": config.training.seed,
        "steps": int(last["step"]),
        "n_backward": config.objective.n_backward or None,
        "share": [round(last[f"share/{name}"], 7) for name in experts],
        "rate": [round(last[f"rate/{name}"], 1) for name in experts],
        "bound": round(last["bound"], 1),
    }


def _lives(history: list[dict[str, float]], experts: list[str]) -> dict[str, Any]:
    """Shares and rates of the experts over training, a row for every look."""
    found = {kind: [[round(row[f"{kind}/{e}"], 7) for e in experts] for row in history] for kind in ("share", "rate")}
    return {"steps": [int(row["step"]) for row in history], **found}


def _sentences(history: list[dict[str, float]], experts: list[str]) -> list[str]:
    """What `fit` would have warned of."""
    health = Health(experts)
    return [sentence for row in history for sentence in health.look(int(row["step"]), row)]


def _measure(
    model: MultimodalVAE,
    test: LabelledModalities,
    dataset: MultimodalDataset,
    config: SurvivalExperiment,
    device: torch.device,
) -> dict[str, Any]:
    """Coherence from every single modality to every other, and rates of test rows."""
    names = model.network.names
    short = short_names(names)
    some: dict[str, Any] = {"subsets": [[name] for name in names], "n_rows": config.evaluation.rows or None}
    test_rates = rates(model.network, test.data, **some)
    found: dict[str, Any] = {"test_rate": [round(test_rates[name,], 1) for name in names]}
    judges = dataset.judges(model.likelihoods, device=device, judge=config.evaluation.judge)
    if judges is None:
        return found
    judged = coherence(model.network, test.data, cast("Labelled", test).labels, judges, **some)
    shares = {f"{short[d]}|{short[given]}": round(x, 4) for ((given,), d), x in judged.items()}
    return found | {"coherence": shares}


def short_names(names: list[str]) -> dict[str, str]:
    """A letter for every modality, as in the paper's tables; the whole name where two begin alike."""
    first = [name[0] for name in names]
    return {name: name[0] if first.count(name[0]) == 1 else name for name in names}
