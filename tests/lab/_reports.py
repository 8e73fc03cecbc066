"""Reports of experiments that never ran: plausible numbers, for tests of what is made from reports."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.tables.schema import Column, Kind, Schema

COLUMNS = ("age", "income", "visits", "smoker", "region", "health")
KINDS = ("real", "positive", "count", "binary", "categorical", "ordinal")
METHODS = ("sum", "graddrop", "pcgrad", "gradnorm", "mgda", "imtlg", "imtlg>>pcgrad")
CATEGORIES = {"binary": 2, "categorical": 4, "ordinal": 5}


def table_report(
    columns: Sequence[str] = COLUMNS,
    kinds: Sequence[str] = KINDS,
    seeds: int = 3,
    methods: Sequence[str] = METHODS,
    kl_weights: Sequence[float] = (1.0, 0.3, 0.1),
    *,
    unrestored: bool = False,
    categories: Sequence[str] = (),
    seed: int = 0,
) -> dict[str, Any]:
    """A report of a table experiment as the contract has it, with numbers that could be true.

    Args:
        columns: Names of the columns.
        kinds: Their kinds, repeated if there are more columns.
        seeds: Number of seeds.
        methods: Choices of f, "sum" among them.
        kl_weights: KL weights of plain training.
        unrestored: Whether every f is there without norm restoration, too.
        categories: Labels of the categories, the first ones of every column of categories.
        seed: Of the numbers.
    """
    generator = np.random.default_rng(seed)
    kinds = [kinds[i % len(kinds)] for i in range(len(columns))]
    schema = _schema(columns, kinds, categories)
    trivial = generator.uniform(0.1, 0.6, len(columns))
    hard = generator.permutation(np.linspace(0.25, 1.0, len(columns)))  # of the trivial error, in plain training
    choices = [(method, 1.0, True) for method in methods]
    choices += [("sum", weight, True) for weight in kl_weights if weight != 1]
    choices += [(method, 1.0, False) for method in methods if method != "sum" and unrestored]
    runs = [_run(generator, trivial, hard, seeds, *choice) for choice in choices]
    chosen = _chosen(runs)
    report = {
        "format": 1,
        "experiment": "table",
        "name": "people-vae-elbo",
        "config": _config(methods, seeds, kl_weights, unrestored),
        "command": "evenhand run people-vae-elbo.toml",
        "data": {
            "name": "people", "rows": 2000, "train_rows": 1400, "test_rows": 400, "missing": 0.03,
            "columns": list(columns), "kinds": list(kinds), "note": "",
            "ignored": {"id": "Every row has its own value."},
            "reasons": [f"Looks {kind}." for kind in kinds], "conversions": ["3 empty texts were read as missing."],
        },
        "schema": schema.to_toml(),
        "seeds": list(range(seeds)),
        "runs": runs,
        "trivial": {"columns": trivial.tolist(), "hidden_columns": trivial.tolist()},
        "conflicts": _conflicts(generator, len(columns), chosen is not None),
        "seconds": {"training": 12.3, "all": 14.0},
        "versions": {"evenhand": "0.1.0", "torch": "2.13.0", "numpy": "2.4.6", "python": "3.11.2"},
        "hardware": "CPU",
        "finished": "2026-11-16T03:00:00Z",
    }  # fmt: skip
    labels = ["plain"] if chosen is None else ["plain", "impartial"]
    report["generated"] = {"labels": labels, "runs": [0, chosen][: len(labels)], "seed": 0}
    return report


def samples(report: dict[str, Any], n: int = 300, seed: int = 0) -> dict[str, np.ndarray]:
    """Rows such as samples.npz would hold for a report: "real", and an array for every label of "generated"."""
    generator = np.random.default_rng(seed)
    schema = Schema.from_toml(report["schema"])
    names = ["real", *report["generated"]["labels"]]
    return {name: _rows(generator, schema, n, shift=0.3 * i) for i, name in enumerate(names)}


def multimodal_report(goals: Sequence[str] = ("EEI",), seed: int = 0) -> dict[str, Any]:
    """A report of a multimodal experiment as the contract has it."""
    from evenhand.lab import MultimodalScores
    from evenhand.modalities.inference._given import all_subsets

    generator = np.random.default_rng(seed)
    names = ("mnist", "svhn", "text")
    subsets = tuple(all_subsets(names))
    pairs = [(subset, name) for subset in subsets for name in names]
    scores = MultimodalScores(
        names, subsets, {s: float(x) for s, x in zip(subsets, generator.uniform(5, 20, len(subsets)), strict=True)},
        {pair: float(x) for pair, x in zip(pairs, generator.uniform(0.2, 0.99, len(pairs)), strict=True)},
        0.31, tuple(tuple(row) for row in generator.uniform(0.2, 0.99, (len(subsets),) * 2).tolist()),
        {pair: float(x) for pair, x in zip(pairs, generator.uniform(-4, 1, len(pairs)), strict=True)},
        {"mnist": 0.99, "svhn": 0.92, "text": 1.0}, 1000, 1.5,
    )  # fmt: skip
    impartial = {"goals": list(goals), "method": "cagrad", "alpha": 0.4}
    config = {
        "experiment": "multimodal", "data": {"name": "mnist_svhn_text", "rows": 0},
        "model": {"experts": "mmvae", "n_layers": 1}, "objective": {"name": "siwae", "n_samples": 30},
        "impartial": impartial, "training": {"epochs": 30, "seed": seed},
    }  # fmt: skip
    return {
        "format": 1, "experiment": "multimodal",
        "name": f"mnist_svhn_text-mmvae-siwae-{'-'.join(goals).lower()}-{seed}",
        "config": config, "data": {"name": "mnist_svhn_text", "rows": 20000, "modalities": list(names)},
        "scores": scores.to_dict(), "validation": None,
        "sentences": ["'text' receives 3 % of the gradient at decoder, where an even share would be 33 %."],
        "seconds": {"training": 5000.0, "all": 5300.0}, "versions": {"evenhand": "0.1.0", "torch": "2.13.0"},
        "hardware": "NVIDIA H200", "finished": "2026-11-16T03:00:00Z",
    }  # fmt: skip


def _schema(columns: Sequence[str], kinds: Sequence[str], categories: Sequence[str]) -> Schema:
    made = []
    for name, kind in zip(columns, kinds, strict=True):
        n = CATEGORIES.get(kind, 0)
        labels = [*categories[:n], *(f"c{i}" for i in range(len(categories[:n]), n))]
        made.append(Column(name, Kind(kind), tuple(labels)))
    return Schema(tuple(made))


def _run(
    generator: np.random.Generator,
    trivial: np.ndarray,
    hard: np.ndarray,
    seeds: int,
    method: str,
    weight: float,
    restored: bool,
) -> dict[str, Any]:
    gain = 0.0 if method == "sum" else generator.uniform(0.0, 0.7) * (1 if restored else 0.2)
    reach = hard * (1 - gain * np.linspace(-0.1, 1, len(trivial))) * (0.6 + 0.4 * weight**0.3)
    columns = (trivial * np.minimum(reach, 1.02))[None] * generator.normal(1, 0.02, (seeds, len(trivial)))
    rate = (2 + 8 * gain - 3 * math.log10(max(weight, 1e-3))) * generator.normal(1, 0.05, seeds)
    error = columns.mean(1)
    return {
        "method": method, "kl_weight": weight, "restored": restored,
        "validation": (error * 1.02).tolist(), "error": error.tolist(), "columns": columns.tolist(),
        "rate": rate.tolist(), "elbo": (-20 - rate).tolist(), "log_likelihood": (-19 - rate).tolist(),
        "hidden": (error * 1.4).tolist(), "hidden_columns": (columns * 1.4).tolist(), "quality": [None] * seeds,
        "validation_error": error.tolist(), "validation_hidden": (error * 1.4).tolist(),
        "validation_log_likelihood": (-19 - rate).tolist(),
    }  # fmt: skip


def _chosen(runs: Sequence[dict[str, Any]]) -> int | None:
    among = [i for i, r in enumerate(runs) if r["method"] != "sum" and r["restored"] and r["kl_weight"] == 1]
    return min(among, key=lambda i: float(np.mean(runs[i]["validation"]))) if among else None


def _conflicts(generator: np.random.Generator, n: int, impartial: bool, checks: int = 20) -> dict[str, Any]:
    def one(power: float) -> dict[str, Any]:
        start, end = generator.uniform(0.2, 1, n) ** power, generator.uniform(0.2, 1, n) ** power
        path = np.linspace(0, 1, checks)[:, None]
        shares = start * (1 - path) + end * path
        directions = generator.normal(size=(n, 6))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return {
            "shares": (shares / shares.sum(1, keepdims=True)).tolist(),
            "cosines": (directions @ directions.T).tolist(),
        }

    found = {"steps": [50 * (i + 1) for i in range(checks)], "plain": one(3.0)}
    return found | ({"impartial": one(0.2)} if impartial else {})


def _rows(generator: np.random.Generator, schema: Schema, n: int, shift: float) -> np.ndarray:
    hidden = generator.normal(size=n)  # what ties the columns together
    parts = []
    for i, column in enumerate(schema):
        z = 0.7 * hidden + 0.7 * generator.normal(size=n) + shift * (i % 2)
        if column.kind.nominal:
            parts.append(np.clip(np.floor((z + 2) / 4 * column.size), 0, column.size - 1))
        else:
            parts.append({"real": 40 + 10 * z, "positive": np.exp(z), "count": np.floor(np.exp(z))}[str(column.kind)])
    return np.stack(parts, 1)


def _config(methods: Sequence[str], seeds: int, kl_weights: Sequence[float], unrestored: bool) -> dict[str, Any]:
    return {
        "experiment": "table",
        "data": {"name": "", "path": "people.csv", "rows": 0},
        "model": {"name": "vae", "n_hidden": 50},
        "objective": {"name": "elbo", "n_samples": 1},
        "training": {"epochs": 400, "batch_size": 128, "lr": 0.001, "hide": 0.2},
        "runs": {
            "methods": list(methods), "seeds": list(range(seeds)), "kl_weights": list(kl_weights),
            "unrestored": unrestored,
        },
        "evaluation": {"n_samples": 100, "hidden": 0.2, "generate": 300},
    }  # fmt: skip


def survival_report(
    share: Sequence[float] = (0.3, 0.6, 0.1),
    rate: Sequence[float] = (17.0, 20.0, 15.0),
    *,
    rule: str = "balanced 0.6",
    goals: str = "none",
    restored: bool = True,
    seed: int = 0,
    sentences: Sequence[str] = (),
) -> dict[str, Any]:
    """A report of a short training, with the shares and rates of its three experts at the end."""
    pairs = [f"{d}|{given}" for given in "dct" for d in "dct"]
    run = {
        "rule": rule, "goals": goals, "restored": restored, "scale": "", "seed": seed, "steps": 1000,
        "share": list(share), "rate": list(rate),
        "coherence": {pair: 0.9 if pair[0] == pair[2] else 0.5 for pair in pairs},
    }  # fmt: skip
    return {
        "format": 1, "experiment": "survival", "name": f"digits_in_three-survival-{rule}-{goals}-{restored}-{seed}",
        "data": {"name": "digits_in_three"}, "experts": ["digit", "colour", "text"], "runs": [run],
        "sentences": list(sentences), "hardware": "an abacus", "command": "evenhand reproduce survival",
    }  # fmt: skip


def held_report(
    methods: Sequence[str] = ("sum", "imtlg", "pcgrad"),
    weights: Sequence[str] = ("nominal:2", "nominal:8", "gradient"),
    rate: float = 8.0,
    *,
    data: str = "people",
    lipschitz: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """A report of runs that hold a rate.

    Args:
        methods: Choices of f, "sum" among them.
        weights: Weights of columns with which plain training is there too.
        rate: That all hold.
        data: The name of the table.
        lipschitz: Whether numbers are standardised so.
        options: As for `table_report`.
    """
    report = table_report(methods=methods, kl_weights=(1.0,), **options)
    plain = report["runs"][0]
    report["runs"] += [copy.deepcopy(plain) | {"column_weights": word} for word in weights]
    generator, n = np.random.default_rng(1), len(report["seeds"])
    for run in report["runs"]:
        settled = [rate * (1 + 0.5 * math.exp(-i)) for i in range(5)]
        over = [[0.95 * x, x, 1.05 * x] for x in settled]
        run["kl_weight"], run["weight"] = f"rate:{rate:g}", [0.3] * n
        run["held"] = {"steps": [100 * (i + 1) for i in range(5)], "rate": over, "kl_weight": [[0.1, 0.3, 0.4]] * 5}
        run["rate"] = [rate * x for x in generator.uniform(0.98, 1.02, n)]
    kind = "held-lipschitz" if lipschitz else "held"
    report["name"], report["data"]["name"] = f"{data}-{kind}-vae-elbo", data
    report["config"]["data"] |= {"preprocessing": "lipschitz"} if lipschitz else {}
    report["config"]["runs"] |= {"kl_weights": [f"rate:{rate:g}"], "label": kind}
    return report
