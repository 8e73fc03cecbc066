"""The part of the page about generated rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from ...tables.schema import Schema
from ..figures import pair_plot
from ._answer import IMPARTIAL, PLAIN

MOST_PAIRED = 4


def generated_part(
    report: Mapping[str, Any], samples: Mapping[str, ArrayLike] | None, order: Sequence[str]
) -> dict[str, Any] | None:
    """The pair plot of the columns with the largest gain; None if nothing was generated."""
    if not samples or "generated" not in report or "real" not in samples:
        return None
    schema = Schema.from_toml(report["schema"])
    labels = [label for label in report["generated"]["labels"] if label in samples]
    shown = list(order[:MOST_PAIRED])
    numbers = [n for n in order if schema[n].kind.numeric]
    if numbers and not any(n in shown for n in numbers):
        shown[-1] = numbers[0]
    label = f"Pair plots of {', '.join(shown)}: real rows, and rows generated after {' and '.join(labels)} training."
    chart = pair_plot(samples["real"], {k: samples[k] for k in labels}, schema, shown, label=label, standalone=False)
    notes = ["Shown are the columns with the largest gain."] if len(order) > len(shown) else []
    notes += _quality(report, labels)
    notes += ["Dates are days since 1 January 1970."] if any(schema[n].unit for n in shown) else []
    said = Markup("{} real rows of the test set, and as many that each model made up: {}, {}. {}").format(
        f"{len(np.asarray(samples['real'])):,}", Markup('<b class="real">real</b>'),
        Markup(", ").join({"plain": PLAIN, "impartial": IMPARTIAL}.get(k, Markup.escape(k)) for k in labels),
        " ".join(notes),
    )  # fmt: skip
    return {"words": said, "chart": Markup(chart)}


def _quality(report: Mapping[str, Any], labels: Sequence[str]) -> list[str]:
    """How alike generated and real rows are, in a sentence."""
    runs = zip(report["generated"]["labels"], report["generated"]["runs"], strict=True)
    known = {label: (report["runs"][i].get("quality") or [None])[0] for label, i in runs}
    said = [f"{known[label]:.3f} ({label})" for label in labels if known.get(label) is not None]
    if not said:
        return []
    return [
        f"The shapes of columns and of pairs of columns agree with the real ones to {' and '.join(said)}; 1 is best."
    ]
