"""Held-out rows with some cells hidden: what everything in `fit` is decided by."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..families import Family
from ..frames import RawTable, completely_at_random
from ..inference import column_errors, direct_losses
from ..kinds import TableLikelihood
from ..schema import Schema
from ..stack import Rows
from ..trees import Forest
from ._opinions import CONSTANT, Opinions, as_targets, ask_trees, weigh
from ._rival import ridge_guess
from ._way import Way

RIGHT, CLOSER = 1.5, 2.0
"""Standard errors by which guesses of categories must be right more often than the mode, or else be closer."""
SMALL = 0.1  # of the mode's errors: a gain that is larger is taken at its word
VIEWS, WORK, LEAST = 8_000, 5_000_000, 400  # rows, cells of all samples and models, rows
WATCHED_VIEWS, WATCHED_CELLS = 4_000, 25_000  # that training is watched by, dozens of times: a tenth of its price


class HeldOut:
    """Held-out rows, each several times with other cells hidden, and the errors of models on these cells.

    Args:
        table: The whole table.
        held_out: Which rows are held out.
        schema: The columns.
        limits: Smallest and largest value of every column, ``[2, D]``.
        rate: The share of cells to hide.
        seed: Of the choice of cells.
        device: Where the rows are.
    """

    def __init__(
        self,
        table: RawTable,
        held_out: NDArray[np.intp],
        schema: Schema,
        limits: NDArray[np.float64],
        *,
        rate: float,
        seed: int,
        device: torch.device,
    ) -> None:
        self._schema = schema
        rows = held_out[:VIEWS]
        self.once = torch.tensor(rows, device=device)
        rows = np.tile(rows, int(np.clip(VIEWS // len(rows), 1, 20)))
        self._alone = len(schema) == 1
        if self._alone:  # no other column to guess from: how well a cell comes back must do
            hidden = np.ones((len(rows), 1), dtype=bool)
        else:
            hidden = completely_at_random((len(rows), len(schema)), rate, seed=seed)
        self.index = torch.tensor(rows, device=device)
        self._hidden = torch.tensor(hidden, device=device)
        looked_at = table.rows(rows)
        self._truth = torch.tensor(np.where(looked_at.observed, looked_at.values, np.nan), device=device)
        ranges = np.where(limits[1] > limits[0], limits[1] - limits[0], 1.0)
        self._ranges = torch.tensor(ranges, device=device)

    def opinion(
        self, model: Family, rows: Rows, way: Way, generator: torch.Generator | None = None, *, most: int = VIEWS
    ) -> Tensor:
        """What models make of the views, ``[R, n, T]``; of fewer views if there is more work to do."""
        samples = 1 if way.direct == 1 or way.how == "mode" else way.n_draws
        n = min(most, max(LEAST, WORK // (len(next(model.parameters())) * samples * len(self._schema))))
        visible = None if self._alone else ~self._hidden[:n, model.likelihood.order]
        return way.opinion(model, rows, self.index[:n], visible, generator)

    def direct_loss(self, model: Family, rows: Rows) -> Tensor:
        """What the direct way of every replica lacks on hidden cells, ``[R]``, for each cell."""
        n = max(LEAST, WATCHED_CELLS // (len(next(model.parameters())) * len(self._schema)))
        visible = ~self._hidden[:n, model.likelihood.order]
        return direct_losses(model, rows, self.index[:n], visible)

    def rival(self, likelihood: TableLikelihood, rows: Rows, train: Tensor) -> Tensor:
        """The errors of ridge regression on the other columns, ``[D]``."""
        visible = None if self._alone else ~self._hidden[:, likelihood.order]
        return self.errors(ridge_guess(likelihood, rows, train, self.index, visible))

    def errors(self, guess: Tensor) -> Tensor:
        """The paper's error of every column over hidden cells, ``[..., D]``; 0 for a column without any."""
        n = guess.shape[-2]
        truth, hidden = self._truth[:n], self._hidden[:n]
        errors = column_errors(truth, guess, hidden, self._schema, ranges=self._ranges)
        unknown = ~(hidden & torch.isfinite(truth)).any(0)
        return torch.where(unknown, 0.0, errors)

    def score(self, model: Family, rows: Rows, worst: Tensor | None = None) -> Tensor:
        """The mean error of every replica on some of the views; infinite where it is not a number.

        Args:
            model: The replicas.
            rows: The table.
            worst: What the error of a column counts as at most ``[D]``: guesses shrink to the mean or mode.
        """
        quick = Way(0.0, "mode") if model.direct is None else Way(1.0)
        guess = model.likelihood.decide(self.opinion(model, rows, quick, most=WATCHED_VIEWS))
        errors = self.errors(guess).nan_to_num(nan=torch.inf)
        if worst is not None:
            errors = torch.where(errors.isfinite(), errors.minimum(worst.to(errors)), errors)
        return errors.mean(-1)

    def trivial(self, trivial: Tensor) -> Tensor:
        """The errors of one value for every column ``[D]``."""
        return self.errors(trivial.to(self._truth).expand_as(self._truth))

    def ask(self, forest: Forest | None, likelihood: TableLikelihood, n: int) -> Tensor:
        """What trees say of the hidden cells of the first n views, ``[n, T]``."""
        truth, hidden = self._truth[:n], self._hidden[:n]
        seen = torch.where(hidden, torch.nan, truth).cpu().numpy()
        asked = (hidden & truth.isfinite()).cpu().numpy()
        return ask_trees(forest, likelihood, seen, asked).to(truth.device)

    def weigh(self, likelihood: TableLikelihood, opinions: Tensor, asked: NDArray[np.bool_]) -> NDArray[np.float64]:
        """How much network, trees and constants ``[3, n, T]`` should count for every column, ``[3, D]``.

        The mean or mode counts alone where all of them together are no better on these cells. For categories that is
        not enough, because some hundred cells prove little: a gain that is small must be beyond doubt, in the share
        that is right or in the squared error of probabilities.

        Args:
            likelihood: Knows the columns.
            opinions: On the first n views.
            asked: Which columns have trees, ``[D]``.
        """
        network, trees, constant = opinions
        truth, hidden = self._truth[: len(network)], self._hidden[: len(network)]
        weights = weigh(likelihood, opinions, truth, hidden & truth.isfinite(), asked)
        mixed = Opinions(weights, constant[0].cpu().numpy()).together(likelihood, network, trees)
        trivial = self._wrong(likelihood, constant)
        gain, noise = self._gain(self._wrong(likelihood, mixed) - trivial)
        surer, doubt = self._gain(self._distance(likelihood, mixed) - self._distance(likelihood, constant))
        nominal = torch.tensor([column.kind.nominal for column in self._schema], device=gain.device)
        unsure = nominal & (gain < RIGHT * noise) & (surer < CLOSER * doubt) & (gain < SMALL * trivial.nanmean(0))
        return np.where((unsure | (gain < 0)).cpu().numpy(), np.eye(3)[CONSTANT][:, None], weights)

    def _wrong(self, likelihood: TableLikelihood, opinion: Tensor) -> Tensor:
        """Squared errors of guesses, or 1 for a wrong category, ``[n, D]``; NaN where nothing is scored."""
        guess, truth = likelihood.decide(opinion), self._scored(len(opinion))
        nominal = torch.tensor([column.kind.nominal for column in self._schema], device=truth.device)
        wrong = torch.where(nominal, (guess != truth).double(), (guess - truth).square())
        return torch.where(truth.isfinite(), wrong, torch.nan)

    def _distance(self, likelihood: TableLikelihood, opinion: Tensor) -> Tensor:
        """Squared errors of numbers and probabilities, ``[n, D]``; NaN where nothing is scored."""
        truth = self._scored(len(opinion))
        owners = torch.tensor(likelihood.owners_of_targets, device=truth.device)
        squares = (opinion - as_targets(likelihood, truth.nan_to_num())).square()
        summed = torch.zeros_like(truth).index_add_(1, owners, squares)[:, likelihood.inverse]
        return torch.where(truth.isfinite(), summed, torch.nan)

    def _scored(self, n: int) -> Tensor:
        """The hidden cells of the first n views; NaN elsewhere."""
        return torch.where(self._hidden[:n], self._truth[:n], torch.nan)

    def _gain(self, more: Tensor) -> tuple[Tensor, Tensor]:
        """How much less than another an opinion loses on every column, and the standard error of that.

        A row that is looked at several times is one piece of evidence, not several.

        Args:
            more: What it loses more on every cell of the first views, ``[n, D]``; NaN where nothing is scored.
        """
        rows, place = self.index[: len(more)].unique(return_inverse=True)
        parts = torch.stack([-more.nan_to_num(), more.isfinite().to(more)])
        gains, counts = parts.new_zeros(2, len(rows), more.shape[1]).index_add_(1, place, parts)
        cells = counts.sum(0).clamp(min=1)
        mean = gains.sum(0) / cells
        return mean, (gains - mean * counts).square().sum(0).sqrt() / cells
