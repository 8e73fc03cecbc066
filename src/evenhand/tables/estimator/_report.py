"""Who is neglected, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HARDLY = 0.98  # of the trivial error: what a column must beat to count as learnt


@dataclass(frozen=True)
class Report:
    """What a fitted model knows about every column. Print it, or take ``columns`` and ``selection`` into a DataFrame.

    Attributes:
        columns: For every column: error on hidden cells of held-out rows (root mean square over the range, or share
            of wrong categories), that of the mean or mode, its share of the gradient where the heads meet, and its
            mean log-likelihood.
        selection: All candidates that were tried.
        method: The one that was chosen.
        kl_weight: Its KL weight.
        rate: Nats that a row leaves in the latent variables.
    """

    columns: list[dict[str, Any]]
    selection: list[dict[str, Any]]
    method: str
    kl_weight: float
    rate: float

    @property
    def neglected(self) -> list[str]:
        """Columns that the model predicts no better than their mean or mode."""
        return [c["column"] for c in self.columns if c["error"] > HARDLY * c["trivial_error"]]

    @property
    def error(self) -> float:
        """The mean error of the columns."""
        return sum(c["error"] for c in self.columns) / len(self.columns)

    def sentences(self) -> list[str]:
        """The report in words."""
        found = [
            f"Chosen: method {self.method!r} with KL weight {self.kl_weight:g}; a row leaves {self.rate:.1f} nats in "
            "the latent variables."
        ]
        plain = [s for s in self.selection if s["method"] in ("sum", "Sum()") and "error" in s]
        if plain and self.method not in ("sum", "Sum()"):
            best = min(plain, key=lambda s: s["error"])
            chosen = next(s for s in self.selection if s["chosen"])
            found.append(
                f"Plain training reaches an error of {best['error']:.4f} on hidden cells, the chosen one "
                f"{chosen['error']:.4f}."
            )
        for column in self.columns:
            if column["column"] in self.neglected:
                found.append(
                    f"{column['column']!r} is predicted no better than by its "
                    f"{'mode' if column['kind'] in ('binary', 'categorical', 'ordinal') else 'mean'} "
                    f"(error {column['error']:.3f} against {column['trivial_error']:.3f})."
                )
        if not self.neglected:
            found.append("No column is neglected: all are predicted better than by their mean or mode.")
        return found

    def __str__(self) -> str:
        width = max([6, *(len(c["column"]) for c in self.columns)])
        lines = [f"{'column':{width}}  {'kind':11}  {'error':>7}  {'trivial':>7}  {'gradient':>8}"]
        for c in self.columns:
            lines.append(
                f"{c['column']:{width}}  {c['kind']:11}  {c['error']:7.3f}  {c['trivial_error']:7.3f}  "
                f"{c['gradient_share']:8.1%}"
            )
        return "\n".join([*lines, "", *self.sentences()])
