"""What the page of multimodal experiments says: one report, or several side by side."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ..evaluation import (
    MultimodalScores,
    coherence_table,
    latent_table,
    log_likelihood_table,
    rate_table,
    reconstruction_table,
)
from ..evaluation._multimodal_tables import Cell as Score
from ..evaluation._multimodal_tables import Result
from ..evaluation._multimodal_tables import Row as Line
from ._page_parts import Cell, Header, Row, Table, count, listed, name, numeric, settings_of, words
from ._selection import MODELS, impartiality_label
from ._svg import number

Report = Mapping[str, Any]


def multimodal_context(reports: Sequence[Report], images: Sequence[bytes | None]) -> dict[str, Any]:
    """Everything that the template of multimodal reports asks for."""
    first, several = reports[0], len(reports) > 1
    results = _results(reports)
    heading = Markup("{} on <bdi>{}</bdi>").format(
        "Multimodal models" if several else _model(first), first["data"]["name"]
    )
    return {
        "title": f"{first['data']['name']}: {'multimodal models' if several else first['name']}",
        "heading": heading,
        "lead": [_lead(reports)],
        "several": several,
        "sentences": [{"title": _title(r), "sentences": r.get("sentences", [])} for r in reports],
        "parts": _parts(results, reports),
        "pictures": _pictures(reports, images),
        "settings": [{**settings_of(r), "title": _title(r)} for r in reports],
    }


def _model(report: Report) -> str:
    """Model and objective."""
    experts = report["config"]["model"]["experts"]
    return f"{MODELS.get(experts, experts)}-{report['config']['objective']['name'].upper()}"


def _title(report: Report) -> str:
    """What a report is called among others: model, objective, f, seed."""
    config = report["config"]
    return f"{_model(report)}, {impartiality_label(config['impartial'])}, seed {config['training'].get('seed', 0)}"


def _results(reports: Iterable[Report]) -> list[Result]:
    """Scores over seeds, by model with its objective and method."""
    found: dict[tuple[str, str], list[MultimodalScores]] = {}
    for report in reports:
        key = _model(report), impartiality_label(report["config"]["impartial"])
        found.setdefault(key, []).append(MultimodalScores.from_dict(report["scores"]))
    return [(*key, seeds) for key, seeds in found.items()]


def _lead(reports: Sequence[Report]) -> Markup:
    if len(reports) > 1:
        names = [f"{model}, {method} ({count(len(seeds), 'seed')})" for model, method, seeds in _results(reports)]
        return Markup("{} side by side: {}.").format(count(len(reports), "run"), listed(names))
    report = reports[0]
    scores, data = MultimodalScores.from_dict(report["scores"]), report["data"]
    text = Markup("{} learnt {} of {} with {}: {}. ").format(
        name(_title(report)), count(data["rows"], "row"), data["name"],
        count(len(data["modalities"]), "modality", "modalities"), listed(data["modalities"]),
    )  # fmt: skip
    cross = list(scores.summary["cross"].values())
    if cross:
        text += Markup(
            "Generated from other modalities, a modality shows the right class in <b>{}\u00a0%</b> of cases. "
        ).format(number(100 * sum(cross) / len(cross), 1))
    if math.isfinite(scores.joint_coherence):
        text += Markup("Generated together from the prior, all agree in <b>{}\u00a0%</b>.").format(
            number(100 * scores.joint_coherence, 1)
        )
    return text


def _parts(results: list[Result], reports: Sequence[Report]) -> list[dict[str, Any]]:
    scores = [s for _, _, seeds in results for s in seeds]
    coherent = any(s.coherence for s in scores)
    made = [
        _part("coherence", "Coherence", "Does it generate the right class?", _coherence_words(scores, len(reports)), [
            *_made(coherence_table, results, "Self and cross coherence, %", coherent),
            *_made(reconstruction_table, results, "Coherence given all modalities, %", coherent),
            *_agreement(results),
        ]),
        _part("latent", "Latent space", "Does the latent space know the class?",
            "Accuracy in % of linear classifiers on latent samples: self where they learnt from samples given the "
            "same modalities, cross elsewhere.",
            _made(latent_table, results, "Latent classification, %", any(s.latent_classification for s in scores))),
        _part("density", "Likelihood", "How probable are the data?",
            "Log-likelihood per dimension, summed over modalities X, by what is given.",
            _made(log_likelihood_table, results, "Log-likelihoods", any(s.log_likelihoods for s in scores))),
        _part("rates", "Rates", "How much is stored?",
            "Nats that the latent variables keep of what is given. To be read beside every other table: a collapsed "
            "model keeps none.",
            _made(rate_table, results, "Rates in nats", any(s.rates for s in scores))),
    ]  # fmt: skip
    return [part for part in made if part["tables"]]


def _part(id_: str, short: str, title: str, said: str, tables: list[Table]) -> dict[str, Any]:
    return {"id": id_, "short": short, "title": title, "words": said, "tables": tables}


def _coherence_words(scores: Sequence[MultimodalScores], n: int) -> str:
    said = (
        "Self coherence is of a modality generated from itself, cross coherence of one generated from others "
        "(target | given). All in %."
    )
    if scores[0].classifiers:
        judges = [f"{100 * x:.1f} ({d})" for d, x in scores[0].classifiers.items() if math.isfinite(x)]
        said += f" The judges are classifiers, which are right on real items in {', '.join(judges)} % of cases."
    return said + (
        " Bold: better than its rival by a one-sided t-test over seeds, at the level 0.1." if n > 2 else ""
    )


def _made(make: Callable[[list[Result]], list[Line]], results: list[Result], title: str, known: bool) -> list[Table]:
    """A table of evenhand.evaluation for the page; none where nothing was measured."""
    if not known:
        return []
    lines = make(results)
    columns = [key for key in lines[0] if key not in ("model", "method")]
    heads = [Header("Model", words=True), Header("Method", words=True)]
    heads += [Header(column, down=column != "hours") for column in columns]
    rows = []
    for line in lines:
        cells = [words(line["model"]), words(line["method"], short=True)]
        rows.append(Row([*cells, *(_score(line[column]) for column in columns)]))
    return [Table(title, title, heads, rows, sortable=len(rows) > 1)]


def _agreement(results: list[Result]) -> list[Table]:
    rows = []
    for model, method, seeds in results:
        known = [s.joint_coherence for s in seeds if math.isfinite(s.joint_coherence)]
        mean = sum(known) / len(known) if known else math.nan
        rows.append(Row([words(model), words(method, short=True), numeric(100 * mean, 2)]))
    title = "Joint coherence, %: all modalities generated from the prior agree"
    heads = [Header("Model", words=True), Header("Method", words=True), Header("all", down=True)]
    return (
        [Table(title, title, heads, rows, sortable=len(rows) > 1)]
        if any(r.cells[2].value is not None for r in rows)
        else []
    )


def _score(cell: str | Score) -> Cell:
    if isinstance(cell, str):
        return words(cell)
    digits = 1 if math.isfinite(cell.std) and abs(cell.mean) >= 10 else 2
    spread = f" ± {number(cell.std, digits)}" if math.isfinite(cell.std) else ""
    value = cell.mean if math.isfinite(cell.mean) else None
    return Cell(number(cell.mean, digits) + spread, value, "bold" if cell.bold else "")


def _pictures(reports: Sequence[Report], images: Sequence[bytes | None]) -> list[dict[str, str]]:
    found = []
    for report, image in zip(reports, images, strict=True):
        if image is None:
            continue
        about = ", ".join(report["data"]["modalities"])
        alternative = (
            f"Samples of {_title(report)}: for every subset of {about} a panel with the given items of test "
            "rows, and below them what the model generates from these."
        )
        source = "data:image/png;base64," + base64.b64encode(image).decode()
        found.append({"title": _title(report), "source": source, "words": alternative})
    return found
