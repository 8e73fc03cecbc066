"""Rivals at one rate for each table: plain training, weights of columns, Lipschitz standardization, the best f."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from ._config import GRADIENT, TableExperiment
from ._paper import ROWS, table1_jobs

LABEL = "equal-rate"
STEPS, QUICK_STEPS = 30_000, 4_000
CHECKS, QUICK_CHECKS = 60, 20
COLUMN_WEIGHTS = ("nominal:2", "nominal:4", "nominal:8", "nominal:16", GRADIENT)
QUICK_WEIGHTS = ("nominal:4", GRADIENT)
HOMOGENEOUS = ("elnino", "magic", "miniboone")  # their columns are of one kind: there is only the gradient
LARGEST = ("diamonds", "bank", "elnino")  # are left out where it has to be quick


class Contest(NamedTuple):
    """What is compared on a table, from the committed reports of table 1 (VAE-ELBO).

    Attributes:
        rate: In nats per row: the median over seeds of the rate of the impartial choice, to a tenth.
        methods: The three f with the lowest mean validation error, the best one first.
    """

    rate: float
    methods: tuple[str, str, str]


CONTESTS: Mapping[str, Contest] = MappingProxyType(
    {
        "adult": Contest(10.3, ("gradnorm-1", "gradnorm-1>>pcgrad", "gradnorm-1>>graddrop")),
        "credit": Contest(15.7, ("imtlg", "imtlg>>pcgrad", "gradnorm")),
        "wine": Contest(10.4, ("gradnorm-1", "gradnorm-1>>pcgrad", "gradnorm>>pcgrad")),
        "diamonds": Contest(6.0, ("imtlg>>pcgrad", "imtlg", "gradnorm-1>>pcgrad")),
        "bank": Contest(35.3, ("gradnorm", "gradnorm>>pcgrad", "imtlg")),
        "imdb": Contest(15.6, ("gradnorm", "gradnorm>>pcgrad", "gradnorm-1>>pcgrad")),
        "hi": Contest(10.5, ("gradnorm>>pcgrad", "gradnorm", "gradnorm>>graddrop")),
        "rwm5yr": Contest(8.4, ("gradnorm-1", "gradnorm-1>>pcgrad", "gradnorm-1>>graddrop")),
        "labour": Contest(7.3, ("gradnorm-1", "gradnorm-1>>pcgrad", "gradnorm>>pcgrad")),
        "elnino": Contest(12.6, ("imtlg", "imtlg>>pcgrad", "pcgrad")),
        "magic": Contest(4.0, ("pcgrad", "imtlg", "imtlg>>pcgrad")),
        "miniboone": Contest(10.6, ("imtlg", "imtlg>>pcgrad", "mgda>>pcgrad")),
    }
)


def equal_rate_jobs(
    datasets: Sequence[str] | None = None, *, n_seeds: int | None = None, quick: bool = False
) -> list[TableExperiment]:
    """Two stacks for every table: all that is trained on standardised numbers, and on Lipschitz-standardised ones.

    Args:
        datasets: Names of data sets; all twelve, or without the three largest if quick.
        n_seeds: The number of splits; 5, or 2 if quick.
        quick: Whether to train the best f and two weights of columns for 4,000 steps instead of all for 30,000.
    """
    names = list(datasets) if datasets else [name for name in CONTESTS if not (quick and name in LARGEST)]
    jobs = table1_jobs(names, ["vae-elbo"], n_seeds=n_seeds or (2 if quick else 5), controls=False)
    return [one for job in jobs for one in _of_table(job, quick)]


def _of_table(job: TableExperiment, quick: bool) -> list[TableExperiment]:
    name = job.data.name
    rate, methods = CONTESTS[name]
    steps = QUICK_STEPS if quick else STEPS
    per_epoch = max(1, int(0.7 * ROWS[name]) // job.training.batch_size)
    checks = QUICK_CHECKS if quick else CHECKS
    training = replace(job.training, epochs=max(1, round(steps / per_epoch)), checks=checks)
    weights = QUICK_WEIGHTS if quick else COLUMN_WEIGHTS
    runs = replace(
        job.runs,
        methods=("sum", *(methods[:1] if quick else methods)),
        kl_weights=(f"rate:{rate:g}",),
        unrestored=False,
        label=LABEL,
        column_weights=tuple(w for w in weights if w == GRADIENT or name not in HOMOGENEOUS),
    )
    evaluation = replace(job.evaluation, n_samples=20 if quick else 100, generate=0)
    plain = replace(job, training=training, runs=runs, evaluation=evaluation)
    other = replace(runs, methods=("sum", methods[0]), label=f"{LABEL}-lipschitz", column_weights=())
    return [plain, replace(plain, data=replace(job.data, preprocessing="lipschitz"), runs=other)]
