"""What the page of multimodal experiments says: one report, or several side by side."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from ..figures import number
from ..judges import MultimodalScores
from ..results import (
    BASELINE,
    MODELS,
    Cell,
    Result,
    Row,
    coherence_rows,
    columns_of,
    different_settings,
    impartiality_label,
    latent_rows,
    log_likelihood_rows,
    rate_rows,
    reconstruction_rows,
)
from ._experts import lives
from ._html_table import Column, HtmlTable, html_table
from ._parts import count, listed, name, settings_of

Report = Mapping[str, Any]
MakeRows = Callable[[list[Result]], list[Row]]
LABELS = (Column("Model", words=True), Column("Method", words=True, short=True))


@dataclass(frozen=True)
class Entry:
    """A report, and what it is called among others."""

    report: Report
    image: bytes | None
    model: str

    @property
    def method(self) -> str:
        return impartiality_label(self.report["config"]["impartial"])

    @property
    def seed(self) -> int:
        seed: int = self.report["config"]["training"].get("seed", 0)
        return seed

    @property
    def title(self) -> str:
        return f"{self.model}, {self.method}, seed {self.seed}"


def multimodal_context(reports: Sequence[Report], images: Sequence[bytes | None]) -> dict[str, Any]:
    """Everything that the template of multimodal reports asks for."""
    entries, several = _entries(reports, images), len(reports) > 1
    results, first = _results(entries), entries[0].report
    heading = Markup("{} on <bdi>{}</bdi>").format(
        "Multimodal models" if several else _model(first), first["data"]["name"]
    )
    return {
        "title": f"{first['data']['name']}: {'multimodal models' if several else first['name']}",
        "heading": heading,
        "lead": [_several(results, len(entries)) if several else _lead(entries[0])],
        "several": several,
        "sentences": [{"title": e.title, "sentences": e.report.get("sentences", [])} for e in entries],
        "lives": [{"title": e.title, **life} for e in entries if (life := lives(e.report)) is not None],
        "parts": _parts(results, reports),
        "pictures": _pictures(entries),
        "settings": [{**settings_of(e.report), "title": e.title} for e in entries],
    }


def _model(report: Report) -> str:
    """Model and objective."""
    experts = report["config"]["model"]["experts"]
    return f"{MODELS.get(experts, experts)}-{report['config']['objective']['name'].upper()}"


def _entries(reports: Sequence[Report], images: Sequence[bytes | None]) -> list[Entry]:
    """Models in the order of their reports; of each, plain training first. What cannot stand together is refused."""
    data = list(dict.fromkeys(report["data"]["name"] for report in reports))
    if len(data) > 1:
        raise ValueError(f"reports should be of the same data. Found {', '.join(data)}. Write a page for each.")
    models = _names(reports)
    entries = [Entry(*found) for found in zip(reports, images, models, strict=True)]
    titles = [entry.title for entry in entries]
    twice = next((title for title in titles if titles.count(title) > 1), None)
    if twice is not None:
        raise ValueError(f"reports should have one of {twice}. Found {titles.count(twice)}; take one away.")
    kinds = list(map(_model, reports))

    def place(entry: Entry) -> tuple[int, bool, int, str, int]:
        kind, plain = kinds.index(_model(entry.report)), entry.method == BASELINE
        return kind, not plain, models.index(entry.model), entry.method, entry.seed

    return sorted(entries, key=place)


def _names(reports: Sequence[Report]) -> list[str]:
    """Model and objective, with the settings in which reports of these differ: other settings are other models."""
    differing = {
        model: [name.split(".") for name in different_settings([r for r in reports if _model(r) == model])]
        for model in dict.fromkeys(map(_model, reports))
    }
    names = []
    for report in reports:
        config, model = report["config"], _model(report)
        said = [f"{key} {config.get(section, {}).get(key, 'not set')}" for section, key in differing[model]]
        names.append(", ".join([model, *said]))
    return names


def _results(entries: Sequence[Entry]) -> list[Result]:
    """Scores over seeds, by model and method."""
    found: dict[tuple[str, str], list[MultimodalScores]] = {}
    for entry in entries:
        found.setdefault((entry.model, entry.method), []).append(MultimodalScores.from_dict(entry.report["scores"]))
    return [(*key, seeds) for key, seeds in found.items()]


def _several(results: Sequence[Result], n: int) -> Markup:
    names = [f"{model}, {method} ({count(len(seeds), 'seed')})" for model, method, seeds in results]
    return Markup("{} side by side: {}.").format(count(n, "run"), listed(names))


def _lead(entry: Entry) -> Markup:
    report = entry.report
    scores, data = MultimodalScores.from_dict(report["scores"]), report["data"]
    text = Markup("{} learnt {} of {} with {}: {}. ").format(
        name(entry.title), count(data["rows"], "row"), data["name"],
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
            *_made(coherence_rows, results, "Self and cross coherence, %", coherent),
            *_made(reconstruction_rows, results, "Coherence given all modalities, %", coherent),
            *_agreement(results),
        ]),
        _part("latent", "Latent space", "Does the latent space know the class?",
            "Accuracy in % of linear classifiers on latent samples: self where they learnt from samples given the "
            "same modalities, cross elsewhere.",
            _made(latent_rows, results, "Latent classification, %", any(s.latent_classification for s in scores))),
        _part("density", "Likelihood", "How probable are the data?",
            "Log-likelihood per dimension, summed over modalities X, by what is given.",
            _made(log_likelihood_rows, results, "Log-likelihoods", any(s.log_likelihoods for s in scores))),
        _part("rates", "Rates", "How much is stored?",
            "Nats that the latent variables keep of what is given. To be read beside every other table: a collapsed "
            "model keeps none.",
            _made(rate_rows, results, "Rates in nats", any(s.rates for s in scores))),
    ]  # fmt: skip
    return [part for part in made if part["tables"]]


def _part(id_: str, short: str, title: str, said: str, tables: list[HtmlTable]) -> dict[str, Any]:
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


def _made(make: MakeRows, results: list[Result], title: str, known: bool) -> list[HtmlTable]:
    """A table of results for the page; none where nothing was measured."""
    if not known:
        return []
    lines = make(results)
    names = columns_of(lines)
    columns = [*LABELS, *(Column(name, down=name != "hours") for name in names)]
    rows = [[str(line["model"]), str(line["method"]), *(_shown(line[name]) for name in names)] for line in lines]
    return [_sortable(html_table(title, title, columns, rows))]


def _agreement(results: list[Result]) -> list[HtmlTable]:
    rows: list[list[str | Cell]] = []
    for model, method, seeds in results:
        known = [s.joint_coherence for s in seeds if math.isfinite(s.joint_coherence)]
        mean = sum(known) / len(known) if known else math.nan
        rows.append([model, method, Cell(100 * mean, 2)])
    if not any(math.isfinite(s.joint_coherence) for _, _, seeds in results for s in seeds):
        return []
    title = "Joint coherence, %: all modalities generated from the prior agree"
    return [_sortable(html_table(title, title, [*LABELS, Column("all", down=True)], rows))]


def _sortable(made: HtmlTable) -> HtmlTable:
    """A table that readers may sort if there is something to sort."""
    return replace(made, sortable=len(made.table.rows) > 1)


def _shown(cell: str | Cell) -> str | Cell:
    """A number with fewer digits where it is large and its deviation stands beside it."""
    if isinstance(cell, str):
        return cell
    return replace(cell, digits=1 if math.isfinite(cell.std) and abs(cell.value) >= 10 else 2)


def _pictures(entries: Sequence[Entry]) -> list[dict[str, str]]:
    found = []
    for entry in entries:
        if entry.image is None:
            continue
        about = ", ".join(entry.report["data"]["modalities"])
        alternative = (
            f"Samples of {entry.title}: for every subset of {about} a panel with the given items of test "
            "rows, and below them what the model generates from these."
        )
        source = "data:image/png;base64," + base64.b64encode(entry.image).decode()
        found.append({"title": entry.title, "source": source, "words": alternative})
    return found
