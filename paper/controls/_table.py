"""The committed reports as one table, an answer at equal rate, and a figure."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from evenhand.evaluation import corrected_paired_t_test

PAPER = {  # vanilla and impartial of the paper's table 1, VAE-ELBO
    "hi": (0.170, 0.041),
    "labour": (0.109, 0.063),
    "rwm5yr": (0.105, 0.026),
    "wine": (0.086, 0.071),
}
MEASURES = ("error", "rate", "elbo", "log_likelihood", "hidden", "quality")


def show(folder: Path) -> None:
    reports = [json.loads((folder / f"{name}.json").read_text()) for name in PAPER]
    print(_table(reports))
    print(_by_kind(reports))
    print(_equal_rate(reports))
    figure(reports, folder.parent / "rate_distortion.svg")


def median(row: dict, measure: str) -> float:
    return float(np.median(row[measure])) if measure in row else float("nan")


def vanilla(report: dict) -> list[dict]:
    return [r for r in report["results"] if r["f"] == "vanilla"]


def best(report: dict, restored: bool) -> dict:
    """The choice of f with the lowest validation error, averaged over seeds, as in the paper."""
    rows = [r for r in report["results"] if r["f"] != "vanilla" and r["restored"] == restored]
    return min(rows, key=lambda r: np.mean(r["validation"]))


def p_value(report: dict, row: dict) -> float:
    """Is the row better than plain training? Corrected paired t-test; 20 % of rows are tested, 70 % trained on."""
    differences = np.array(row["error"]) - np.array(vanilla(report)[0]["error"])
    return corrected_paired_t_test(differences, 0.2 / 0.7).pvalue


def _table(reports: list[dict]) -> str:
    lines = [
        "| data | training | error | paper | better | p | rate | ELBO | log p (K = 100) | hidden cells | quality |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for report in reports:
        first = vanilla(report)[0]
        rows = [(f"vanilla, KL x {r['kl_weight']:g}", r) for r in vanilla(report)]
        rows += [
            (f"impartial, {best(report, True)['f']}", best(report, True)),
            (f"not restored, {best(report, False)['f']}", best(report, False)),
        ]
        for i, (label, row) in enumerate(rows):
            wins = sum(a < b for a, b in zip(row["error"], first["error"], strict=True))
            paper = {0: PAPER[report["data"]][0], 5: PAPER[report["data"]][1]}.get(i)
            p = p_value(report, row) if i else float("nan")
            numbers = [median(row, m) for m in MEASURES]
            lines.append(
                f"| {report['data']} | {label} | {numbers[0]:.3f} | {'' if paper is None else f'{paper:.3f}'} | "
                f"{f'{wins}/5' if i else ''} | {_p(p) if i else ''} | {numbers[1]:.1f} | {numbers[2]:.1f} | "
                f"{numbers[3]:.1f} | {numbers[4]:.3f} | {numbers[5]:.3f} |"
            )
    return "\n".join(lines) + "\n"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _by_kind(reports: list[dict]) -> str:
    """Medians by kind, vanilla -> impartial."""
    names = {"real": "real", "positive": "positive", "count": "count", "binary": "nominal", "categorical": "nominal"}
    lines = ["| data | real | positive | count | nominal |", "|---|---|---|---|---|"]
    for report in reports:
        kinds = np.array([names.get(k, "nominal") for k in report["kinds"]])
        cells = []
        for kind in ("real", "positive", "count", "nominal"):
            mine = kinds == kind
            if not mine.any():
                cells.append("")
                continue
            pair = [
                np.median(np.array(r["columns"])[:, mine].mean(1)) for r in (vanilla(report)[0], best(report, True))
            ]
            cells.append(f"{pair[0]:.3f} -> {pair[1]:.3f}")
        lines.append(f"| {report['data']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _at_rate(report: dict, measure: str, rate: float) -> float:
    """The plain curve over KL weights at a rate, linear in between."""
    points = sorted((median(r, "rate"), median(r, measure)) for r in vanilla(report))
    return float(np.interp(rate, [p[0] for p in points], [p[1] for p in points]))


def _equal_rate(reports: list[dict]) -> str:
    lines = [
        "| data | impartial | rate | error: plain at this rate | impartial | log p: plain | impartial | hidden: "
        "plain | impartial |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for report in reports:
        row = best(report, True)
        rate = median(row, "rate")
        cells = []
        for measure, digits in (("error", 3), ("log_likelihood", 1), ("hidden", 3)):
            cells += [f"{_at_rate(report, measure, rate):.{digits}f}", f"{median(row, measure):.{digits}f}"]
        lines.append(f"| {report['data']} | {row['f']} | {rate:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def figure(reports: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "evenhand"
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(1, len(reports), figsize=(13, 3.4), constrained_layout=True)
    for axis, report in zip(axes, reports, strict=True):
        plain = vanilla(report)
        axis.plot(
            [median(r, "rate") for r in plain], [median(r, "error") for r in plain], "o-", label="plain, KL weights"
        )
        for r in plain:
            axis.annotate(f"{r['kl_weight']:g}", (median(r, "rate"), median(r, "error")), fontsize=7)
        for restored, marker, label in ((True, "^", "impartial, each f"), (False, "x", "without norm restoration")):
            rows = [r for r in report["results"] if r["f"] != "vanilla" and r["restored"] == restored]
            points = np.array([[median(r, "rate"), median(r, "error")] for r in rows])
            axis.plot(points[:, 0], points[:, 1], marker, alpha=0.7, label=label)
        chosen = best(report, True)
        axis.plot(median(chosen, "rate"), median(chosen, "error"), "*", markersize=12, label="chosen by validation")
        axis.set(title=report["data"], xlabel="rate, nats", xlim=(0, 30))
        axis.set_yscale("log")
    axes[0].set_ylabel("reconstruction error")
    axes[-1].legend(fontsize=7)
    fig.savefig(path, metadata={"Date": None})
