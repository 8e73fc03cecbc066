"""The configs of the count of survivors: the paper's setting, every remedy, and goals on top of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..modalities.training import Goal
from ._config import (
    Impartiality,
    MultimodalData,
    MultimodalEvaluation,
    MultimodalTraining,
    SurvivalExperiment,
    SurvivalModel,
    SurvivalObjective,
    TightnessLabel,
)


class Rule(NamedTuple):
    """A bound, and what care is taken in training.

    Attributes:
        tightness: How the experts' samples are weighed against each other.
        amount: How much of that; of a schedule, the part of the steps.
        warm_up: The part of the steps in which the learning rate rises from 0.
        clip: Longest gradient of a row at the posterior of an expert; 0 for any.
    """

    tightness: TightnessLabel
    amount: float = 0.0
    warm_up: float = 0.0
    clip: float = 0.0


# what can be asked for, in the order of tables: the paper's bound first, then remedies
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "tight": Rule("tight"),
        "tight-warm-up": Rule("tight", warm_up=0.1),
        "tight-clipped": Rule("tight", clip=20.0),
        "balanced0.5": Rule("balanced", 0.5),
        "balanced0.6": Rule("balanced", 0.6),
        "tempered": Rule("tempered", 0.02),
        "partly-tight": Rule("partly tight"),
        "loose-to-tight": Rule("loose to tight", 0.6),
        "defensive": Rule("defensive", 0.1),
        "loose": Rule("loose"),
    }
)
PAPER, OURS = "tight", "balanced0.6"
GOALS: tuple[tuple[Goal, ...], ...] = ((), ("LI",), ("LI", "EEI"), ("LI", "EEI", "DEI"))


@dataclass(frozen=True)
class Size:
    """How a data set is trained on for 2,000 steps.

    Attributes:
        rows: Training rows of an epoch.
        epochs: How often they are seen.
        batch_size: Rows of a step.
        n_samples: K.
        n_backward: Samples of an expert that are differentiated.
        half: Whether to compute in bf16.
        scales: How scales become positive, where there is a choice.
        test_rows: How many test rows are scored.
    """

    rows: int
    epochs: int
    batch_size: int
    n_samples: int
    n_backward: int
    half: bool
    scales: tuple[str, ...] = ("",)
    test_rows: int = 2_000


SIZES: Mapping[str, Size] = MappingProxyType(
    {
        "mnist_svhn_text": Size(256_000, 1, 128, 30, 4, half=True, scales=("softmax", "softplus")),
        "digits_in_three": Size(6_400, 20, 64, 5, 1, half=False),
    }
)


@dataclass(frozen=True)
class Arm:
    """What is trained with every seed."""

    rule: str
    goals: tuple[Goal, ...] = ()
    preserve_norm: bool = True
    scale: str = ""


def survival_jobs(
    data: str = "mnist_svhn_text",
    rules: Sequence[str] | None = None,
    seeds: Iterable[int] | None = None,
    quick: bool = False,
) -> list[SurvivalExperiment]:
    """Every arm with every seed; the first seed of all arms comes first.

    Args:
        data: The data set.
        rules: Only these bounds; all, or if quick the paper's and ours.
        seeds: Of everything random; 10 of them, or 2 if quick.
        quick: Whether to train for a quarter of the steps, in which most deaths are decided.

    Example:
        >>> [job.name for job in survival_jobs("digits_in_three", ["tight"], [0])][:2]
        ['digits_in_three-survival-tight-vanilla-0', 'digits_in_three-survival-tight-li-cagrad0.4-0']
    """
    chosen = rules or ((PAPER, OURS) if quick else tuple(RULES))
    planned = [arm for rule in chosen for arm in arms(rule, SIZES[data].scales)]
    numbers = range(2 if quick else 10) if seeds is None else seeds
    size = _quarter(SIZES[data]) if quick else SIZES[data]
    return [_job(data, size, arm, seed) for seed in numbers for arm in planned]


def arms(rule: str, scales: Sequence[str] = ("",)) -> list[Arm]:
    """A bound without and with goals. The paper's and ours: also without restored norms, and with other scales."""
    compared = rule in (PAPER, OURS)
    return [
        Arm(rule, some, restored, scale)
        for scale in (scales if compared else scales[:1])
        for some in GOALS
        for restored in ((True, False) if some and compared else (True,))
    ]


def _quarter(size: Size) -> Size:
    """A quarter of the steps."""
    return replace(size, epochs=size.epochs // 4) if size.epochs > 1 else replace(size, rows=size.rows // 4)


def _job(data: str, size: Size, arm: Arm, seed: int) -> SurvivalExperiment:
    rule = RULES[arm.rule]
    n_steps = size.rows * size.epochs // size.batch_size
    amount = rule.amount * n_steps if rule.tightness == "loose to tight" else rule.amount
    precision: Literal["32", "bf16"] = "bf16" if size.half else "32"
    return SurvivalExperiment(
        data=MultimodalData(data, rows=size.rows),
        model=SurvivalModel(arm.scale),
        objective=SurvivalObjective(rule.tightness, amount, size.n_samples, size.n_backward),
        impartial=Impartiality(arm.goals, preserve_norm=arm.preserve_norm),
        training=MultimodalTraining(
            size.epochs, size.batch_size, seed, precision, warm_up=rule.warm_up * size.epochs, clip=rule.clip
        ),
        evaluation=MultimodalEvaluation(size.test_rows),
    )
