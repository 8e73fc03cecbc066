"""The tables that a report of `acquire.py` makes, in Markdown; needs nothing but the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

Report = Mapping[str, Any]
TITLES = {"vaem": "VAEM", "vae": "VAE"}
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # 97.5 % quantiles, by the number of seeds


def page(path: Path, *options: str) -> str:
    """Everything that a report holds, or with "--summary" the mean errors alone."""
    report = json.loads(path.read_text(encoding="utf-8"))
    return summary(report) if "--summary" in options else printed(report)


def printed(report: Report) -> str:
    """The summary, and the curve of every table and family."""
    curves = report["curves"]
    parts = [summary(report)]
    for table, families in curves.items():
        for family, seeds in families.items():
            parts.append(curve(f"{table}, target {report['targets'][table]}, {TITLES[family]}", seeds))
    return "\n\n".join(parts)


def summary(report: Report) -> str:
    """Mean errors over the whole curve, and what the reward gains against each of the others."""
    rows = []
    for table, families in report["curves"].items():
        for family, seeds in families.items():
            areas = {who: [inner_mean(seed[who]) for seed in seeds] for who in seeds[0]}
            gains = [against(areas["reward"], areas[who]) for who in areas if who != "reward"]
            cells = [f"{mean(area):.3f}" for area in areas.values()]
            rows.append([f"{table}, {report['targets'][table]}", TITLES[family], *cells, *gains])
    header = ["", "", "reward", "mutual information", "random", "reward - mutual information", "reward - random"]
    return markdown("Mean error of the target over the curve", header, rows)


def inner_mean(errors: Sequence[float]) -> float:
    """The mean of a curve without its ends, where all who ask know the same."""
    return mean(errors[1:-1])


def against(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The mean difference on the same seeds, bold if the 95 % interval of Student's t excludes zero."""
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    if len(differences) < 2:
        return f"{mean(differences):+.3f}"
    half = STUDENT[len(differences)] * stdev(differences) / len(differences) ** 0.5
    text = f"{mean(differences):+.3f} ± {half:.3f}"
    return f"**{text}**" if abs(mean(differences)) > half else text


def curve(title: str, seeds: Sequence[Mapping[str, Sequence[float]]]) -> str:
    """Mean errors over seeds, by the number of cells asked for."""
    number = len(seeds[0]["reward"])
    rows = [[who, *(f"{mean(seed[who][k] for seed in seeds):.3f}" for k in range(number))] for who in seeds[0]]
    return markdown(title, ["cells", *map(str, range(number))], rows)


def markdown(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a title above."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join([f"**{title}**", "", *("| " + " | ".join(line) + " |" for line in lines)])
