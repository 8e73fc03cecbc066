"""Who is neglected, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST = 0.5  # of the say
HARDLY = 0.98  # of the trivial error: what a column must beat to count as learnt
NOMINAL = ("binary", "categorical", "ordinal")
PLAIN = ("sum", "Sum()")


@dataclass(frozen=True)
class Report:
    """What a fitted model knows about every column. Print it, or take ``columns`` and ``selection`` into a DataFrame.

    Attributes:
        columns: For every column: error on hidden cells of held-out rows (root mean square over the range, or share
            of wrong categories), those of the network alone, of trees alone, of the mean or mode, and of ridge
            regression on the other columns; what trees count in its guesses; its share of the gradient where the
            heads meet; its mean log-likelihood; and, if cells are missing not at random, how much the log-odds of
            being missing differ between its largest and its smallest value.
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
        """Columns that the network guesses no better than by their mean or mode, although ridge or trees can."""
        return [c["column"] for c in self.columns if not _is_learnt(c) and _can_be_learnt(c)]

    @property
    def unpredictable(self) -> list[str]:
        """Columns that neither the network nor ridge regression nor trees guess better than their mean or mode."""
        return [c["column"] for c in self.columns if not _is_learnt(c) and not _can_be_learnt(c)]

    @property
    def error(self) -> float:
        """The mean error of the columns."""
        return sum(c["error"] for c in self.columns) / len(self.columns)

    def sentences(self) -> list[str]:
        """The report in words."""
        chosen = (
            f"Chosen: method {self.method!r} with KL weight {self.kl_weight:g}; a row leaves {self.rate:.1f} nats in "
            "the latent variables."
        )
        compared = [*self._against_plain(), *self._against_simple(), *self._of_trees()]
        return [chosen, *compared, *self._of_neglected(), *self._of_hopeless(), *self._of_missing()]

    def _against_plain(self) -> list[str]:
        """Plain training beside the chosen method, after the same number of steps."""
        plain = [s for s in self.selection if s["method"] in PLAIN and "error" in s]
        if not plain or self.method in PLAIN:
            return []
        best, chosen = min(plain, key=lambda s: s["error"]), next(s for s in self.selection if s["chosen"])
        return [
            f"Plain training reaches an error of {best['error']:.4f} on hidden cells, the chosen one "
            f"{chosen['error']:.4f}."
        ]

    def _against_simple(self) -> list[str]:
        """How guesses compare with the two simplest ones."""
        if any("ridge_error" not in c for c in self.columns):
            return []
        trivial, ridge = (
            sum(c[name] for c in self.columns) / len(self.columns) for name in ("trivial_error", "ridge_error")
        )
        return [
            f"Hidden cells are guessed with a mean error of {self.error:.3f}; means and modes have {trivial:.3f}, "
            f"ridge regression on the other columns {ridge:.3f}."
        ]

    def _of_trees(self) -> list[str]:
        """The columns that trees know better than the network, which alone makes draws and rows."""
        theirs = [repr(c["column"]) for c in self.columns if c.get("trees", 0.0) > MOST]
        if not theirs:
            return []
        return [
            f"Trees have most of the say in guesses of {', '.join(theirs)}: they know more of {_them(theirs)} than "
            "the network, which alone makes draws and new rows. Train longer (max_epochs) if these matter."
        ]

    def _of_neglected(self) -> list[str]:
        if not self.neglected and not self.unpredictable:
            return ["No column is neglected: all are predicted better than by their mean or mode."]
        return [
            f"{c['column']!r} is neglected by the network: no better than its {_trivial(c)} (error {_own(c):.3f} "
            f"against {c['trivial_error']:.3f}){_rival(c)}. Train longer (max_epochs), or try method='thorough'."
            for c in self.columns
            if c["column"] in self.neglected
        ]

    def _of_hopeless(self) -> list[str]:
        return [
            f"{c['column']!r} is predicted no better than by its {_trivial(c)} (error {_own(c):.3f} against "
            f"{c['trivial_error']:.3f}), and {_nobody(c)} better: the other columns do not tell it. Draws still have "
            "its distribution."
            for c in self.columns
            if c["column"] in self.unpredictable
        ]

    def _of_missing(self) -> list[str]:
        """The columns whose cells are missing because of what they hold."""
        return [
            f"{c['column']!r} is missing more often {_where(c)}: log-odds differ by {abs(c['missing_effect']):.1f}. "
            "Guesses, draws and new rows follow, which is right if nothing else decides which cells are missing."
            for c in self.columns
            if c.get("missing_effect")
        ]

    def __str__(self) -> str:
        width = max([6, *(len(c["column"]) for c in self.columns)])
        names = f"{'error':>7}  {'trivial':>7}  {'ridge':>7}  {'trees':>5}  {'gradient':>8}"
        lines = [f"{'column':{width}}  {'kind':11}  {names}"]
        for c in self.columns:
            ridge = f"{c['ridge_error']:7.3f}" if "ridge_error" in c else f"{'':7}"
            lines.append(
                f"{c['column']:{width}}  {c['kind']:11}  {c['error']:7.3f}  {c['trivial_error']:7.3f}  {ridge}  "
                f"{c.get('trees', 0.0):5.0%}  {c['gradient_share']:8.1%}"
            )
        return "\n".join([*lines, "", *self.sentences()])


def _where(column: dict[str, Any]) -> str:
    if column["kind"] in NOMINAL:
        return "in some categories than in others"
    return f"where it is {'large' if column['missing_effect'] > 0 else 'small'}"


def _own(column: dict[str, Any]) -> float:
    """The error of the network alone; files that do not say have no trees."""
    return float(column.get("network_error", column["error"]))


def _is_learnt(column: dict[str, Any]) -> bool:
    return _own(column) <= HARDLY * column["trivial_error"]


def _can_be_learnt(column: dict[str, Any]) -> bool:
    """Whether a rival learns it; unknown, and taken for granted, in files of version 0.1.0."""
    best = min((error for _, error in _rivals(column)), default=0.0)
    return best <= HARDLY * column["trivial_error"]


def _rivals(column: dict[str, Any]) -> list[tuple[str, float]]:
    """Who else guesses the column, and the error."""
    names = {"ridge_error": "ridge regression on the other columns is", "tree_error": "boosted trees are"}
    return [(words, column[name]) for name, words in names.items() if name in column]


def _nobody(column: dict[str, Any]) -> str:
    return "neither ridge regression nor trees do" if "tree_error" in column else "ridge regression does no"


def _rival(column: dict[str, Any]) -> str:
    best = min(_rivals(column), key=lambda rival: rival[1], default=None)
    return "" if best is None else f", while {best[0]} at {best[1]:.3f}"


def _them(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _trivial(column: dict[str, Any]) -> str:
    return "mode" if column["kind"] in NOMINAL else "mean"
