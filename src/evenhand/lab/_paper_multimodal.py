"""The configs of the paper's multimodal tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..modalities.objectives import BOUNDS, Bound
from ..modalities.training import Goal
from ._config import (
    ExpertsLabel,
    Impartiality,
    MethodLabel,
    MultimodalData,
    MultimodalEvaluation,
    MultimodalExperiment,
    MultimodalModel,
    MultimodalObjective,
    MultimodalTraining,
)

Goals = tuple[Goal, ...]

# Appendix D.5 and its tables: hand-picked methods, the same one in all blocks, goals added one by one.
METHODS: tuple[tuple[MethodLabel, float], ...] = (
    ("cagrad", 0.4),
    ("cagrad", 10.0),
    ("gradnorm", 0.0),
    ("gradnorm", 0.5),
)
GOALS: tuple[Goals, ...] = (("LI",), ("LI", "EEI"), ("LI", "EEI", "DEI"))


def multimodal_jobs(
    objectives: Sequence[Bound] = BOUNDS,
    experts: Sequence[ExpertsLabel] = ("mvae", "mmvae", "mopoe"),
    seeds: Iterable[int] | None = None,
    quick: bool = False,
) -> list[MultimodalExperiment]:
    """Plain training and the paper's choices of f, for every objective, model and seed.

    Args:
        objectives: "elbo", "iwae" and "siwae".
        experts: "mvae", "mmvae" and "mopoe".
        seeds: Of everything random; 5 of them, or 2 if quick.
        quick: Whether to look in minutes, on a CPU, at digits in three modalities: few epochs, CAGrad with
            alpha = 0.4 only, and with the first goal or all of them.

    Example:
        >>> [job.name for job in multimodal_jobs(["siwae"], ["mvae"], [0], quick=True)]
        ['digits_in_three-mvae-siwae-vanilla-0', 'digits_in_three-mvae-siwae-li-cagrad0.4-0']
    """
    build = _quick if quick else _full
    chosen = list(range(2 if quick else 5) if seeds is None else seeds)
    return [
        build(objective, model, impartial, seed)
        for objective in objectives
        for model in experts
        for impartial in choices(model, quick=quick)
        for seed in chosen
    ]


def choices(experts: ExpertsLabel, *, quick: bool = False) -> list[Impartiality]:
    """Plain training, then every method with every set of goals."""
    methods = METHODS[:1] if quick else METHODS
    goals = (GOALS[0], GOALS[-1]) if quick else GOALS
    if experts == "mvae":  # one expert, to which the other goals do not apply
        goals = goals[:1]
    return [Impartiality(), *(Impartiality(goal, method, alpha) for method, alpha in methods for goal in goals)]


def _full(objective: Bound, experts: ExpertsLabel, impartial: Impartiality, seed: int) -> MultimodalExperiment:
    return MultimodalExperiment(
        model=MultimodalModel(experts),
        objective=MultimodalObjective(objective),
        impartial=impartial,
        training=MultimodalTraining(seed=seed, precision="bf16"),
    )


def _quick(objective: Bound, experts: ExpertsLabel, impartial: Impartiality, seed: int) -> MultimodalExperiment:
    return MultimodalExperiment(
        data=MultimodalData("digits_in_three", rows=2000),
        model=MultimodalModel(experts),
        objective=MultimodalObjective(objective, n_samples=2),
        impartial=impartial,
        training=MultimodalTraining(epochs=10, batch_size=32, seed=seed),
        evaluation=MultimodalEvaluation(rows=500),
    )
