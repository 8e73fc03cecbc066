"""Do visits conflict with one another, and does settling their gradients help? `LongitudinalVAE` on three panels."""

from __future__ import annotations

from typing import Any

import torch
from _panel_sides import BATCH, error
from _panels import Holes, holes_of
from torch import Tensor, nn

from evenhand import Output, find_blocks, impartial_sum
from evenhand.tables import LongitudinalVAE
from evenhand.tables.frames import read
from evenhand.tables.longitudinal import _fitted
from evenhand.tables.longitudinal._training import Training
from evenhand.tables.longitudinal._visits import Visits

STEPS = 300
HISTORIES = 128  # that are looked at
AT_PARAMETERS = " at parameters"
OVER_TIME = ("sum", "imtlg", "pcgrad", f"pcgrad{AT_PARAMETERS}")


class OverTime(Training):
    """A training that settles the gradients of visits where these meet: at what the posterior says of all visits.

    Or at the parameters of decoder and heads, which all visits share. Columns are not settled here, so that one
    thing differs at a time.
    """

    over_time = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._posterior = Output(self.network.posterior)
        self._shared = nn.ModuleList([self.network.decoder, self.network.head])

    def _loss(self, visits: Visits, kl_weight: Tensor | float) -> Tensor:
        if self.over_time == "sum":
            return super()._loss(visits, kl_weight)
        elbo, rest = self._terms(visits, kl_weight)
        losses = {f"visit {t}": -elbo[:, t].sum() / visits.histories.present.sum() for t in range(elbo.shape[1])}
        at = self._shared if self.over_time.endswith(AT_PARAMETERS) else self._posterior
        return impartial_sum(losses, at=at, method=self.over_time.removesuffix(AT_PARAMETERS)) + rest

    def _terms(self, visits: Visits, kl_weight: Tensor | float) -> tuple[Tensor, Tensor]:
        """log p of every visit, ``[N, T]``, and the other terms: the rate, and the surprise at hidden cells."""
        visible, present, network = self._visible(visits.mask), visits.histories.present, self.network
        seen, line = visits.seen(visible)
        context = network.context(seen, visits.histories.clock, present)
        noise = torch.randn(*present.shape, network.n_latent, generator=self._generator)
        path = network.infer(context, visits.histories.clock, noise)
        elbo = network.likelihood.log_prob(network.head(path.features), visits.targets) * visits.mask
        direct = network.direct_head(network.direct(context)) + network.skip(line)
        guesses = network.likelihood.log_prob(direct, visits.targets) * (visits.mask - visible)
        rest = (kl_weight * path.kl[present].sum() - guesses.sum()) / present.sum()
        return elbo.sum(-1), rest


def trained(holes: Holes, method: str, seed: int, steps: int = STEPS) -> LongitudinalVAE:
    """A model whose visits were settled by this method."""
    n = holes.frame[holes.who].nunique()
    settled = type("Settled", (OverTime,), {"over_time": method})
    usual = _fitted.Training
    _fitted.Training = settled  # type: ignore[misc]
    try:
        return LongitudinalVAE(
            id=holes.who,
            time="year",
            schema=holes.schema,
            max_epochs=max(1, round(steps * BATCH / n)),
            batch_size=BATCH,
            random_state=seed,
            verbose=False,
        ).fit(holes.frame)
    finally:
        _fitted.Training = usual  # type: ignore[misc]


def measured(panel: str, method: str, seed: int) -> dict[str, float]:
    """What a model reaches whose visits were settled by this method."""
    holes = holes_of(panel, seed)
    model = trained(holes, method, seed)
    through_z = read(model.reconstruct(holes.frame), holes.schema).values
    filled = read(model.transform(holes.frame), holes.schema).values
    hidden = holes.hidden | holes.visits
    return {
        "reconstruction": error(holes, through_z, holes.shown.observed),
        "hidden, through z": error(holes, through_z, hidden),
        "hidden": error(holes, filled, hidden),
        "rate": float(model.rates(holes.frame).mean()),
    }


def found(panel: str, steps: int) -> list[dict[str, Any]]:
    """What `find_blocks` says of the losses of visits: where they meet, and how they get on there."""
    holes = holes_of(panel, 0)
    model = trained(holes, "sum", 0, steps)
    fitted, table = model._fitted, model._read(holes.frame)
    longest = max(map(len, table.visits))
    table_rows = [rows for rows in table.visits if len(rows) == longest][:HISTORIES]
    (visits,) = fitted._seen(table.table, table.times, table_rows)
    network, clock = fitted.network.train(), visits.histories.clock
    context = network.context(visits.seen(visits.mask)[0], clock, visits.histories.present)
    noise = torch.randn(*clock.shape[:2], network.n_latent, generator=torch.Generator().manual_seed(0))
    features = network.infer(context, clock, noise).features
    log_p = (network.likelihood.log_prob(network.head(features), visits.targets) * visits.mask).sum(-1)
    losses = {f"visit {t}": -log_p[:, t].sum() for t in range(longest)}
    return [_described(block) for block in find_blocks(losses, network)]


def _described(block: Any) -> dict[str, Any]:
    cosines = block.reading.cosines
    apart = cosines[~torch.eye(len(cosines), dtype=torch.bool)]
    apart, norms = apart[apart.isfinite()], block.reading.norms
    return {
        "place": block.place,
        "shapes": [list(shape) for shape in block.shapes],
        "losses": len(block.names),
        "lowest cosine": float(apart.min()),
        "mean cosine": float(apart.mean()),
        "largest norm to smallest": float(norms.max() / norms[norms > 0].min()),
    }
