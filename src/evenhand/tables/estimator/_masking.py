"""Cells that are missing because of what they hold: how much so, and what that says of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ..families import Family, How
from ..inference import direct_outputs
from ..stack import Rows

ROWS = 10_000  # that are looked at
LEAST = 20  # cells of a column that must be missing, and as many observed
NEVER = -20.0  # the log-odds of columns that are never missing, as far as is seen
LOWEST = 1e-3  # rank of an outcome: pieces beyond the last have none of their own
DEVIATION = 2.0  # of log-odds, before any cell was looked at: what cannot be told stays near 0
ROUNDS = 100  # of the search for the most probable log-odds


@dataclass(frozen=True, eq=False)
class Masking:
    r"""For every column, how the odds of being missing depend on the cell: self-masking, as in not-MIWAE.

    Heads learn from cells that are there, so they know p(x | rest, observed). If the log-odds of being missing are
    :math:`\eta(x)`, Bayes' rule gives the others exactly:

    .. math:: p(x | \text{rest, missing}) \propto e^{\eta(x)} p(x | \text{rest, observed}), \qquad
              p(x | \text{rest}) \propto (1 + e^{\eta(x)}) \, p(x | \text{rest, observed}).

    Ipsen et al., "not-MIWAE: Deep Generative Modelling with Missing not at Random Data", ICLR 2021.

    Attributes:
        missing: What the outputs of the direct way need more for cells that are missing, ``[outputs]``.
        anyhow: What they need for cells of which it is not known, as those of new rows.
        effects: The log-odds of every column at its largest outcome less those at its smallest, ``[D]`` in inner
            order; for categories, the largest less the smallest log-odds.
    """

    missing: Tensor
    anyhow: Tensor
    effects: Tensor

    @classmethod
    def fit(cls, model: Family, rows: Rows, index: Tensor) -> Masking:
        """Find the log-odds that explain which cells of training rows are missing.

        Args:
            model: One trained replica with a direct way.
            rows: The table.
            index: The training rows.
        """
        direct = model.direct
        assert direct is not None
        some = index[:: len(index) // ROWS + 1]
        mask = rows.split(rows.record[some])[2]
        numbers, odds = direct.pieces.n, []
        for d in range(model.likelihood.n):
            others = (torch.arange(mask.shape[1], device=mask.device) != d).expand_as(mask)
            outcomes = direct.outcomes(direct_outputs(model, rows, some, others)[0])[d].double()
            odds.append(log_odds(outcomes, mask[:, d] == 0, ordered=d < numbers))
        effects = [x[-1] - x[0] if d < numbers else x.max() - x.min() for d, x in enumerate(odds)]
        missing, anyhow = (direct.as_outputs(x).float().cpu() for x in (odds, [F.softplus(x) for x in odds]))
        return cls(missing, anyhow, torch.stack(effects).cpu())

    def of_missing(self, model: Family, rows: Rows, index: Tensor, opinion: Tensor, how: How) -> Tensor:
        """What an opinion on cells ``[n, T]``, formed on those that are there, means for those that are missing.

        Args:
            model: The replica that this was fitted to.
            rows: The table.
            index: Which rows.
            opinion: Expected numbers in the units of the data and probabilities of categories.
            how: Whether numbers are means, medians or modes.
        """
        assert model.direct is not None
        outputs = direct_outputs(model, rows, index)
        moved = model.direct.reweigh(opinion.unsqueeze(0), outputs, self.missing, how)
        return model.likelihood.limited(moved).squeeze(0)


def log_odds(outcomes: Tensor, missing: Tensor, *, ordered: bool) -> Tensor:
    r"""The most probable log-odds of being missing, for every outcome of a column.

    A row whose cell is probably large is more often without it, if large cells are missing more often. Exactly,

    .. math:: \frac{P(\text{missing} | \text{rest})}{P(\text{observed} | \text{rest})} =
              \sum_x e^{\eta(x)} p(x | \text{rest, observed}),

    which makes this a logistic regression. The log-odds of numbers are linear in normal scores of their ranks, those
    of categories are free; both are drawn towards 0 by a Gaussian. Where they do not explain the mask better than
    chance would, by the Bayesian information criterion, all outcomes are alike.

    Args:
        outcomes: log p(x | rest, observed) of rows, ``[n, outcomes]`` in double precision.
        missing: Which rows are without the cell, ``[n]``.
        ordered: Whether outcomes have an order, as pieces of numbers have.
    """
    absent = int(missing.sum())
    if min(absent, len(missing) - absent) < LEAST:
        return outcomes.new_full((outcomes.shape[1],), NEVER)
    design = _scores(outcomes[~missing]) if ordered else torch.eye(outcomes.shape[1]).to(outcomes)
    start = torch.logit(missing.to(outcomes).mean())
    found = torch.cat([start[None], outcomes.new_zeros(design.shape[1])]).requires_grad_()

    def doubt(parameters: Tensor) -> Tensor:
        """Minus the log-likelihood of the mask."""
        odds = torch.logsumexp(outcomes + design @ parameters[1:], 1) + parameters[0]
        return F.binary_cross_entropy_with_logits(odds, missing.to(odds), reduction="sum")

    def closure() -> Tensor:
        search.zero_grad()
        loss = doubt(found) + 0.5 * (found[1:] / DEVIATION).square().sum()
        loss.backward()
        return loss

    before = float(doubt(found.detach()))
    search = torch.optim.LBFGS([found], max_iter=ROUNDS, line_search_fn="strong_wolfe")
    search.step(closure)
    free = design.shape[1] - (not ordered)  # what all categories have in common is the intercept's
    parameters = found.detach()
    if before - float(doubt(parameters)) <= 0.5 * free * math.log(len(missing)):
        return start.expand(outcomes.shape[1]).clone()
    return parameters[0] + design @ parameters[1:]


def _scores(outcomes: Tensor) -> Tensor:
    """Normal scores of the ranks of all outcomes among observed cells, ``[outcomes, 1]``."""
    shares = outcomes.exp().mean(0)
    middle = shares.cumsum(0) - shares / 2
    return torch.special.ndtri(middle.clamp(LOWEST, 1 - LOWEST))[:, None]
