"""How best guesses are made: directly, through the latent variables, or by the mean of both."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..families import Family, How
from ..inference import direct_expectations, expectations
from ..stack import Rows


@dataclass(frozen=True)
class Way:
    """The way from visible cells to best guesses.

    Attributes:
        direct: The share of the direct way, from 0 to 1; the rest goes through the latent variables.
        how: Whether numbers are means, medians or modes.
        n_draws: Samples of the latent variables; a mode takes the most probable ones alone.
        weighted: Whether samples are weighted by p(x, z) / q(z|x) of the visible cells.
    """

    direct: float
    how: How = "mean"
    n_draws: int = 20
    weighted: bool = False

    def opinion(
        self,
        model: Family,
        rows: Rows,
        index: Tensor,
        visible: Tensor | None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Expected numbers in the units of the data and probabilities of categories, ``[R, n, T]``."""
        averages: Tensor | float = 0.0
        if self.direct > 0:
            averages = self.direct * direct_expectations(model, rows, index, visible, self.how)
        if self.direct < 1:
            averages = averages + (1 - self.direct) * self._through_latent(model, rows, index, visible, generator)
        assert isinstance(averages, Tensor)
        return averages

    def _through_latent(
        self, model: Family, rows: Rows, index: Tensor, visible: Tensor | None, generator: torch.Generator | None
    ) -> Tensor:
        n_samples = 0 if self.how == "mode" else self.n_draws
        return expectations(
            model,
            rows,
            index,
            visible,
            n_samples=n_samples,
            weighted=self.weighted,
            median=self.how == "median",
            generator=generator,
        )
