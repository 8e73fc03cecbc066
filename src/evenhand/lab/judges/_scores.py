"""All scores of a multimodal model, to keep, print and compare."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...datasets.judges import Classifiers, Labelled
from ...modalities.inference import Subset, checked_subsets
from ...modalities.models import MixtureVAE
from ._coherence import (
    Judged,
    coherence,
    coherence_summary,
    conditional_log_likelihoods,
    joint_coherence,
    rates,
    sum_over_targets,
)
from ._latent_classification import latent_classification

FORMAT = 1


@dataclass(frozen=True)
class MultimodalScores:
    """What a model knows given every subset of its modalities. Accuracies are from 0 to 1, NaN where unknown.

    Attributes:
        names: The modalities.
        subsets: The sets A of given modalities.
        rates: KL(q(z | x_A) || p(z)) in nats, by A; read all other scores beside it.
        coherence: By A and modality d, how often d generated from A shows the right class.
        joint_coherence: How often all modalities generated from the prior show the same class.
        latent_classification: For test samples given A (rows) and classifiers of A' (columns), the accuracy.
        log_likelihoods: By A and d, the mean of log p(x_d | z) per dimension.
        classifiers: By modality, the accuracy of the classifier on real test items.
        n_rows: The number of test rows.
        hours: How long training took, if known.
    """

    names: tuple[str, ...]
    subsets: tuple[Subset, ...]
    rates: Mapping[Subset, float]
    coherence: Mapping[tuple[Subset, str], float] = field(default_factory=dict)
    joint_coherence: float = math.nan
    latent_classification: tuple[tuple[float, ...], ...] = ()
    log_likelihoods: Mapping[tuple[Subset, str], float] = field(default_factory=dict)
    classifiers: Mapping[str, float] = field(default_factory=dict)
    n_rows: int = 0
    hours: float | None = None

    @property
    def summary(self) -> dict[str, dict[str, float]]:
        """Self, cross and reconstruction coherence by modality."""
        return coherence_summary(self.coherence, self.names)

    @property
    def latent_self(self) -> float:
        """The mean accuracy of classifiers on samples given the subset they learnt from."""
        return _mean([row[i] for i, row in enumerate(self.latent_classification)])

    @property
    def latent_cross(self) -> float:
        """The mean accuracy of classifiers on samples given other subsets."""
        cells = ((i, j, x) for i, row in enumerate(self.latent_classification) for j, x in enumerate(row))
        return _mean([x for i, j, x in cells if i != j])

    @property
    def log_likelihood_sums(self) -> dict[Subset, float]:
        """The log-likelihoods per dimension summed over modalities, by A: the paper's X | A."""
        return sum_over_targets(self.log_likelihoods)

    def to_dict(self) -> dict[str, Any]:
        """Lists, strings and numbers, None where a number is unknown: what JSON can hold."""
        return {
            "format": FORMAT,
            "names": list(self.names),
            "subsets": [list(subset) for subset in self.subsets],
            "rates": [_number(self.rates[subset]) for subset in self.subsets],
            "coherence": to_records(self.coherence),
            "joint_coherence": _number(self.joint_coherence),
            "latent_classification": [[_number(x) for x in row] for row in self.latent_classification],
            "log_likelihoods": to_records(self.log_likelihoods),
            "classifiers": {name: _number(x) for name, x in self.classifiers.items()},
            "n_rows": self.n_rows,
            "hours": self.hours,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> MultimodalScores:
        """The scores that `to_dict` gave."""
        if saved.get("format") != FORMAT:
            found = saved.get("format")
            raise ValueError(f"saved should be what to_dict() gave, of format {FORMAT}. Found {found!r}.")
        subsets = tuple(tuple(subset) for subset in saved["subsets"])
        return cls(
            names=tuple(saved["names"]),
            subsets=subsets,
            rates={subset: _float(x) for subset, x in zip(subsets, saved["rates"], strict=True)},
            coherence=_from_records(saved["coherence"]),
            joint_coherence=_float(saved["joint_coherence"]),
            latent_classification=tuple(tuple(map(_float, row)) for row in saved["latent_classification"]),
            log_likelihoods=_from_records(saved["log_likelihoods"]),
            classifiers={name: _float(x) for name, x in saved["classifiers"].items()},
            n_rows=saved["n_rows"],
            hours=saved["hours"],
        )

    def __str__(self) -> str:
        return "\n".join([*self._by_subset(), "", *self._by_modality(), "", *self._without_subset()])

    def _by_subset(self) -> list[str]:
        """A line for every subset: its rate, then its scores."""
        judged = [name for name in self.names if any(target == name for _, target in self.coherence)]
        densities = [name for name in self.names if any(target == name for _, target in self.log_likelihoods)]
        header = ["given", "rate", *judged, *(["own", "others"] if self.latent_classification else [])]
        header += [*densities, *(["sum"] if densities else [])]
        lines = [header]
        for i, subset in enumerate(self.subsets):
            line = [", ".join(subset), f"{self.rates[subset]:.2f}"]
            line += [_percent(self.coherence.get((subset, name), math.nan)) for name in judged]
            if self.latent_classification:
                row = self.latent_classification[i]
                line += [_percent(row[i]), _percent(_mean([x for j, x in enumerate(row) if j != i]))]
            line += [f"{self.log_likelihoods.get((subset, name), math.nan):.3f}" for name in densities]
            line += [f"{self.log_likelihood_sums[subset]:.3f}"] if densities else []
            lines.append(line)
        groups = [("", 1), ("nats", 1), ("coherence, %", len(judged))]
        groups += [("classes of z, %", 2)] if self.latent_classification else []
        groups += [("log p(x|z) per dimension", len(densities) + 1)] if densities else []
        return _aligned([(text, n) for text, n in groups if n], lines)

    def _by_modality(self) -> list[str]:
        """A line for every modality: its coherence with the mean rate of what it was generated from."""
        lines = [["", "self", "rate", "cross", "rate", "all", "rate", "classifier"]]
        for name in self.names:
            line = [name]
            sources: dict[str, list[Subset]] = {
                "self": [(name,)],
                "cross": [subset for subset in self.subsets if name not in subset],
                "reconstruction": [self.names],
            }
            for view, given in sources.items():
                rate = _mean([self.rates[subset] for subset in given if subset in self.rates])
                line += [_percent(self.summary[view].get(name, math.nan)), f"{rate:.2f}"]
            lines.append([*line, _percent(self.classifiers.get(name, math.nan))])
        return _aligned([("", 1), ("coherence, %, and rate, nats", 6), ("on real items, %", 1)], lines)

    def _without_subset(self) -> list[str]:
        lines = [f"joint coherence of samples of the prior: {_percent(self.joint_coherence)} %"]
        if self.latent_classification:
            own, other = _percent(self.latent_self), _percent(self.latent_cross)
            lines.append(f"latent classification: self {own} %, cross {other} %")
        lines.append(f"{self.n_rows} test rows")
        return lines if self.hours is None else [*lines, f"{self.hours:.2f} hours of training"]


def evaluate(
    network: MixtureVAE,
    train: Labelled | None,
    test: Labelled,
    classifiers: Classifiers | None = None,
    *,
    subsets: Iterable[Iterable[str]] | None = None,
    n_rows: int | None = None,
    n_train: int | None = 20_000,
    n_prior: int = 10_000,
    n_samples: int = 1,
    batch_size: int = 512,
    seed: int = 0,
    hours: float | None = None,
) -> MultimodalScores:
    """All scores of a model on test rows; what it takes and the model stay as they are.

    Args:
        network: The model, evaluated where it is: ``model.network`` of a `MultimodalVAE`.
        train: Rows that latent classifiers learn from, with labels; None to leave them out.
        test: Rows to judge by, with labels.
        classifiers: Of generated modalities, from `digit_classifiers`; None to leave coherence out.
        subsets: The sets of given modalities; all by default.
        n_rows: Take so many random test rows; None for all.
        n_train: Take so many random training rows; None for all.
        n_prior: Samples of the prior for joint coherence.
        n_samples: Latent samples of every row for log-likelihoods.
        batch_size: Rows at once.
        seed: Of everything random.
        hours: How long training took, to keep it with the scores.
    """
    chosen = checked_subsets(network, subsets)
    common = {"subsets": chosen, "n_rows": n_rows, "batch_size": batch_size, "seed": seed}
    judged: Judged = {}
    joint = math.nan
    latent: tuple[tuple[float, ...], ...] = ()
    if classifiers is not None:
        judged = coherence(network, test.data, test.labels, classifiers, **common)  # type: ignore[arg-type]
        if len(set(classifiers.modules) & set(network.names)) > 1:
            joint = joint_coherence(network, classifiers, n=n_prior, batch_size=batch_size, seed=seed)
    if train is not None:
        matrix = latent_classification(
            network, train.data, train.labels, test.data, test.labels, subsets=chosen, n_train=n_train,
            n_test=n_rows, batch_size=batch_size, seed=seed,
        )  # fmt: skip
        latent = tuple(tuple(row) for row in matrix.tolist())
    return MultimodalScores(
        names=tuple(network.names),
        subsets=tuple(chosen),
        rates=rates(network, test.data, **common),  # type: ignore[arg-type]
        coherence=judged,
        joint_coherence=joint,
        latent_classification=latent,
        log_likelihoods=conditional_log_likelihoods(network, test.data, n_samples=n_samples, **common),  # type: ignore[arg-type]
        classifiers={} if classifiers is None else dict(classifiers.accuracies),
        n_rows=len(test.data) if n_rows is None else min(n_rows, len(test.data)),
        hours=hours,
    )


def to_records(table: Mapping[tuple[Subset, str], float]) -> list[dict[str, Any]]:
    """A number for what is given and what is judged as JSON can hold it."""
    return [{"given": list(subset), "target": d, "value": _number(x)} for (subset, d), x in table.items()]


def _from_records(records: Sequence[Mapping[str, Any]]) -> Judged:
    return {(tuple(record["given"]), record["target"]): _float(record["value"]) for record in records}


def _number(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None


def _float(x: float | None) -> float:
    return math.nan if x is None else float(x)


def _mean(values: Sequence[float]) -> float:
    known = [x for x in values if not math.isnan(x)]
    return sum(known) / len(known) if known else math.nan


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}"


def _aligned(groups: Sequence[tuple[str, int]], lines: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width, under a line that says what groups of them are."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    start, edges = 0, []
    for text, n in groups:  # a group is as wide as its title
        missing = len(text) - sum(widths[start : start + n]) - 2 * (n - 1)
        widths[start] += max(0, missing)
        edges.append(sum(widths[start : start + n]) + 2 * (n - 1))
        start += n
    title = " | ".join(text.rjust(width) for (text, _), width in zip(groups, edges, strict=True))
    return [title.rstrip(), *[_line(line, widths, groups) for line in lines]]


def _line(cells: Sequence[str], widths: Sequence[int], groups: Sequence[tuple[str, int]]) -> str:
    parts, start = [], 0
    for _, n in groups:
        pairs = zip(cells[start : start + n], widths[start : start + n], strict=True)
        parts.append("  ".join(cell.rjust(w) if start or len(groups) == 1 else cell.ljust(w) for cell, w in pairs))
        start += n
    return " | ".join(parts).rstrip()
