"""Which method is chosen for a multimodal model, and the scores of plain training and of that one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ...impartial import short_method_label
from ..judges import MultimodalScores
from ._score_rows import BASELINE, Result

Rule = Literal["relative", "count"]
DATA = "mnist_svhn_text"  # the paper's
MODELS = {"mvae": "MVAE", "mmvae": "MMVAE", "mopoe": "MoPoE"}


def multimodal_results(
    reports: Iterable[Mapping[str, Any]],
    objective: str,
    *,
    data: str = DATA,
    validation: bool = False,
    controls: bool = False,
) -> list[Result]:
    """Scores over seeds by model and method, for the tables of `evenhand.lab`; plain training first.

    Args:
        reports: All that there are; those of other experiments, objectives and data are passed over.
        objective: "elbo", "iwae" or "siwae".
        data: The name of the data.
        validation: Whether to take the scores of validation rows; reports without them are an error.
        controls: Whether to take trainings with other weights of the rate or of likelihoods, each as a method of its
            own. Otherwise they are passed over where the same model was also trained with the usual ones.
    """
    several = _multimodal(reports, objective, data)
    found: dict[tuple[str, str], dict[int, MultimodalScores]] = {}
    firsts: dict[tuple[str, str], Mapping[str, Any]] = {}
    for report in several if controls else _without_controls(several):
        saved = report.get("validation") if validation else report["scores"]
        if saved is None:
            raise ValueError(f"{report['name']} should have validation scores to choose a method by. Found none.")
        config = report["config"]
        key = _model(report), arm_label(config) if controls else impartiality_label(config["impartial"])
        seeds, seed = found.setdefault(key, {}), report["config"]["training"]["seed"]
        if seed in seeds:
            raise ValueError(f"reports should have one of {report['name']}. Found two; take one away.")
        differing = different_settings([firsts.setdefault(key, report), report])
        if differing:
            raise ValueError(
                f"reports of {', '.join(key)} should differ in their seeds only. {report['name']} differs in "
                f"{', '.join(differing)}; take it away."
            )
        seeds[seed] = MultimodalScores.from_dict(saved)
    order = list(MODELS.values())
    keys = sorted(found, key=lambda key: (order.index(key[0]), key[1] != BASELINE, key[1]))
    return [(*key, [scores for _, scores in sorted(found[key].items())]) for key in keys]


def chosen_results(reports: Iterable[Mapping[str, Any]], objective: str, *, data: str = DATA) -> list[Result]:
    """Plain training and the chosen method of every model: by relative improvement, for MVAE by counts.

    Methods that were tried with fewer seeds than plain training are passed over, unless none of the others improves.

    Args:
        reports: As for `multimodal_results`; those of models with several methods need validation scores.
        objective: "elbo", "iwae" or "siwae".
        data: The name of the data.
    """
    several = _multimodal(reports, objective, data)
    kept = []
    for model in MODELS.values():
        mine = [report for report in several if _model(report) == model]
        results = multimodal_results(mine, objective, data=data)
        methods = {method for _, method, _ in results}
        if BASELINE in methods and len(methods) > 2:
            seen = multimodal_results(mine, objective, data=data, validation=True)
            methods = {BASELINE, _choose(seen, "count" if model == "MVAE" else "relative")}
        kept += [result for result in results if result[1] in methods]
    return kept


def _choose(results: Sequence[Result], rule: Rule) -> str:
    """The best method of those with as many seeds as plain training; of all if none of these is any good."""
    plain = next(len(seeds) for _, method, seeds in results if method == BASELINE)
    finished = [result for result in results if result[1] == BASELINE or len(result[2]) >= plain]
    if len(finished) > 1:
        best, gain = _best(finished, rule, BASELINE)
        if gain > (0.5 if rule == "count" else 0.0):
            return best
    return select(results, rule)


def data_of(reports: Iterable[Mapping[str, Any]]) -> str:
    """The paper's data if reports are of these, or if there are none; else those of the first report."""
    names = [str(report["data"]["name"]) for report in reports]
    return DATA if DATA in names or not names else names[0]


def select(results: Iterable[Result], rule: Rule, *, baseline: str = BASELINE) -> str:
    """The method of one model that improves most over plain training, on the scores that are given.

    Self and cross coherence and self and cross latent classification are four groups of equal weight, within each of
    which modalities (or experts) have equal weight, as in the paper. Means over seeds are compared.

    Args:
        results: Model, method and the (validation) scores of every seed.
        rule: "relative", the mean of (x - y) / y; or "count", the share of metrics with x >= y.
        baseline: The method that others are compared with.
    """
    if rule not in ("relative", "count"):
        raise ValueError(f"rule should be 'relative' or 'count'. Found {rule!r}.")
    return _best(list(results), rule, baseline)[0]


def _best(results: Sequence[Result], rule: Rule, baseline: str) -> tuple[str, float]:
    """The method that improves most, and by how much."""
    methods = [method for _, method, _ in results]
    if len({model for model, _, _ in results}) != 1 or len(set(methods)) < len(methods):
        raise ValueError(f"results should be of one model with different methods. Found {[r[:2] for r in results]}.")
    if baseline not in methods or len(methods) < 2:
        raise ValueError(f"results should have {baseline!r} and another method. Found {', '.join(methods)}.")
    metrics = {method: _metrics(seeds) for _, method, seeds in results}
    gains = {m: _gain(x, metrics[baseline], rule) for m, x in metrics.items() if m != baseline}
    known = {method: gain for method, gain in gains.items() if not math.isnan(gain)}
    if not known:
        raise ValueError("results should have coherence or latent classification to compare. Found neither.")
    best = max(known, key=lambda method: known[method])
    return best, known[best]


def impartiality_label(section: Mapping[str, Any]) -> str:
    """The [impartial] section of a config in words: "vanilla", or "CG (α=0.4), LI + EEI" as in the paper."""
    if not section["goals"]:
        return BASELINE
    label = f"{short_method_label(section['method'], section['alpha'])}, {' + '.join(section['goals'])}"
    return label if section.get("preserve_norm", True) else f"{label}, not restored"


def arm_label(config: Mapping[str, Any]) -> str:
    """What distinguishes a training from others: its method, and weights if it has any."""
    return ", ".join(filter(None, [impartiality_label(config["impartial"]), weights_label(config["model"])]))


def weights_label(section: Mapping[str, Any]) -> str:
    """The weights of a [model] section in words, such as "KL x 0.3" or "weights 1, 2, 1"; empty for usual ones."""
    kl, likelihoods = section.get("kl_weight", 1.0), section.get("likelihood_weights", ())
    rate = kl if isinstance(kl, str) else f"KL x {kl:g}" if kl != 1 else ""
    weights = f"weights {', '.join(f'{w:g}' for w in likelihoods)}" if likelihoods else ""
    return ", ".join(filter(None, [rate, weights]))


def different_settings(reports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which settings differ between reports, such as "training.epochs"; but for the seed and the choice of f."""
    flat = [
        {f"{section}.{key}": value for section, settings in report["config"].items() if section != "impartial"
         for key, value in (settings.items() if isinstance(settings, Mapping) else ())}
        for report in reports
    ]  # fmt: skip
    names = dict.fromkeys(name for settings in flat for name in settings if name != "training.seed")
    return [name for name in names if any(settings.get(name) != flat[0].get(name) for settings in flat)]


def _without_controls(reports: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of a model with the usual weights; all of them if it has none such."""
    usual = {_model(report) for report in reports if not weights_label(report["config"]["model"])}
    return [r for r in reports if _model(r) not in usual or not weights_label(r["config"]["model"])]


def _model(report: Mapping[str, Any]) -> str:
    return MODELS[report["config"]["model"]["experts"]]


def _multimodal(reports: Iterable[Mapping[str, Any]], objective: str, data: str) -> list[Mapping[str, Any]]:
    several = [report for report in reports if report["experiment"] == "multimodal"]
    return [r for r in several if r["data"]["name"] == data and r["config"]["objective"]["name"] == objective]


Metrics = dict[str, dict[str, dict[Any, float]]]
"""By group, by modality or expert, by what it is tested with."""


def _metrics(seeds: Sequence[MultimodalScores]) -> Metrics:
    found: dict[tuple[str, str, Any], list[float]] = {}
    for scores in seeds:
        for (given, d), x in scores.coherence.items():
            if given == (d,) or d not in given:
                found.setdefault(("self" if d in given else "cross", d, given), []).append(x)
        for i, row in enumerate(scores.latent_classification):
            for j, x in enumerate(row):  # j: whose classifier it is
                group = "latent self" if i == j else "latent cross"
                found.setdefault((group, ", ".join(scores.subsets[j]), scores.subsets[i]), []).append(x)
    metrics: Metrics = {}
    for (group, name, source), values in found.items():
        metrics.setdefault(group, {}).setdefault(name, {})[source] = _mean(values)
    return metrics


def _gain(ours: Metrics, plain: Metrics, rule: Rule) -> float:
    groups = []
    for group, names in plain.items():
        of_names = []
        for name, sources in names.items():
            pairs = [(ours.get(group, {}).get(name, {}).get(source, math.nan), y) for source, y in sources.items()]
            of_names.append(_mean([_improvement(x, y, rule) for x, y in pairs]))
        groups.append(_mean(of_names))
    return _mean(groups)


def _improvement(x: float, y: float, rule: Rule) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if rule == "count":
        return float(x >= y)
    return (x - y) / y if y else math.nan


def _mean(values: Sequence[float]) -> float:
    known = [x for x in values if math.isfinite(x)]
    return statistics.fmean(known) if known else math.nan
