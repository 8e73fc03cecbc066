"""The runs of a table or figure: what was asked for, and what the table adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..common import ArgumentError
from ._catalogue import EQUAL_RATE, MODALITIES, SURVIVAL
from ._config import Experiment
from ._paper import table1_jobs
from ._paper_equal_rate import equal_rate_jobs
from ._paper_multimodal import multimodal_jobs
from ._paper_survival import survival_jobs


def plan_tables(
    name: str,
    *,
    datasets: Sequence[str] | None,
    models: Sequence[str] | None,
    default_datasets: Sequence[str] = (),
    default_models: Sequence[str] = (),
    generate: int = 0,
    **options: Any,
) -> list[Experiment]:
    """Runs of section 5.1, on tables.

    Args:
        name: Of the table or figure.
        datasets: Those that were asked for, or None.
        models: Those that were asked for, or None.
        default_datasets: Those that are run if none were asked for; none here are the paper's.
        default_models: The same for models.
        generate: How many rows every run generates, 0 for as many as in the paper.
        options: The seeds, and how much to run.
    """
    jobs = table1_jobs(datasets or default_datasets, models or default_models, **options)
    if generate:
        jobs = [replace(job, evaluation=replace(job.evaluation, generate=generate)) for job in jobs]
    return [*jobs]


def plan_modalities(
    name: str,
    *,
    datasets: Sequence[str] | None,
    models: Sequence[str] | None,
    n_seeds: int | None,
    quick: bool,
    controls: bool,
    objectives: Any,
) -> list[Experiment]:
    """Runs of section 5.2, on images and text; there is one data set, and there are no controls.

    Args:
        name: Of the table or figure.
        datasets: Should be None.
        models: Those that were asked for, or None for all.
        n_seeds: How many seeds.
        quick: Whether to plan a small version.
        controls: Should be True.
        objectives: What the table or figure compares.
    """
    if not controls:
        raise ArgumentError("controls", f"be left out for {name}, which has none", "False")
    if datasets is not None:
        raise ArgumentError(
            "datasets", f"be left out for {name}, which is about MNIST-SVHN-Text", ", ".join(datasets)
        )
    _check_among("models", models, MODALITIES.models)
    experts: Any = models or MODALITIES.models
    return [*multimodal_jobs(objectives, experts, None if n_seeds is None else range(n_seeds), quick)]


def plan_survival(
    name: str,
    *,
    datasets: Sequence[str] | None,
    models: Sequence[str] | None,
    n_seeds: int | None,
    quick: bool,
    controls: bool,
) -> list[Experiment]:
    """Short trainings in which survivors are counted; models are bounds here, and there are no controls.

    Args:
        name: Of the table.
        datasets: Those that were asked for; None for the paper's, or if quick for digits in three modalities.
        models: The bounds that were asked for, or None for all; if quick, for the paper's and ours.
        n_seeds: How many seeds.
        quick: Whether to plan a small version.
        controls: Should be True.
    """
    if not controls:
        raise ArgumentError("controls", f"be left out for {name}, which has none", "False")
    _check_among("datasets", datasets, SURVIVAL.datasets)
    _check_among("models", models, SURVIVAL.models)
    chosen = datasets or [SURVIVAL.datasets[1 if quick else 0]]
    seeds = None if n_seeds is None else range(n_seeds)
    return [job for data in chosen for job in survival_jobs(data, models, seeds, quick)]


def plan_equal_rate(
    name: str,
    *,
    datasets: Sequence[str] | None,
    models: Sequence[str] | None,
    n_seeds: int | None,
    quick: bool,
    controls: bool,
) -> list[Experiment]:
    """Rivals that hold one rate; there is one model, and rivals are all there is.

    Args:
        name: Of the table.
        datasets: Those that were asked for; None for the paper's, without the three largest if quick.
        models: Should be None, or "vae-elbo".
        n_seeds: How many seeds.
        quick: Whether to plan a small version.
        controls: Should be True.
    """
    if not controls:
        raise ArgumentError("controls", f"be left out for {name}, which is made of them", "False")
    _check_among("models", models, EQUAL_RATE.models)
    return [*equal_rate_jobs(datasets, n_seeds=n_seeds, quick=quick)]


def _check_among(argument: str, asked: Sequence[str] | None, known: Sequence[str]) -> None:
    unknown = [name for name in asked or () if name not in known]
    if unknown:
        raise ArgumentError(argument, f"be among {', '.join(known)}", repr(unknown[0]))
