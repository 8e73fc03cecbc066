"""Who is asked about a hidden cell, and how much everyone's opinion counts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..kinds import TableLikelihood
from ..trees import Forest

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
NETWORK, TREES, CONSTANT = range(3)
STEPS = 20  # in which an opinion can count from not at all to alone


@dataclass(frozen=True, eq=False)
class Opinions:
    """Three opinions on every cell, the weighted mean of which is the best guess.

    Opinions are expected numbers and probabilities of categories, in the likelihood's order of targets: that of the
    network, that of boosted trees, and what is known without looking at the row, means and frequencies.

    Attributes:
        weights: What opinions count for every column of the schema, ``[3, D]``; they add up to 1.
        constant: The opinion of all who do not look, ``[T]``.
        forest: The trees, if there are any.
    """

    weights: Array
    constant: Array
    forest: Forest | None = None

    @classmethod
    def of_shrinkage(cls, shrinkage: Array, trivial: Array, likelihood: TableLikelihood) -> Opinions:
        """What files say that know neither trees nor frequencies: the way from mean or mode to the network."""
        weights = np.stack([shrinkage, np.zeros_like(shrinkage), 1 - shrinkage])
        return cls(weights, as_targets(likelihood, torch.tensor(trivial)[None])[0].numpy())

    @property
    def grown(self) -> set[int]:
        """The columns that trees have an opinion on."""
        return set() if self.forest is None else self.forest.columns

    def settle(self, likelihood: TableLikelihood, network: Tensor, cells: Array, wanted: Mask) -> Tensor:
        """Who is asked, and what all say together, ``[n, T]``.

        Args:
            likelihood: Knows the columns.
            network: The network's opinion, ``[n, T]``.
            cells: The rows in the units of the data, ``[n, D]``; NaN where a cell is not to be seen.
            wanted: Which guesses are needed; elsewhere trees are not asked.
        """
        trees = ask_trees(self.forest, likelihood, cells, wanted & (self.weights[TREES] > 0))
        return self.together(likelihood, network, trees)

    def decide(self, likelihood: TableLikelihood, network: Tensor, trees: Tensor) -> Tensor:
        """Best guesses ``[n, D]`` from what network and trees say, ``[n, T]`` each."""
        return likelihood.decide(self.together(likelihood, network, trees))

    def together(self, likelihood: TableLikelihood, network: Tensor, trees: Tensor) -> Tensor:
        """The weighted mean ``[n, T]`` of what network and trees say, and of what is known without looking."""
        weights = torch.tensor(self.weights[:, likelihood.order], device=network.device)
        ours, theirs, rest = weights[:, likelihood.owners_of_targets]
        constant = torch.tensor(self.constant, device=network.device)
        return likelihood.limited(ours * network + theirs * trees.to(network.device) + rest * constant)


def ask_trees(forest: Forest | None, likelihood: TableLikelihood, cells: Array, asked: Mask) -> Tensor:
    """The opinion of trees ``[n, T]`` on the cells that they are asked about ``[n, D]``; 0 elsewhere."""
    opinion = torch.zeros(len(cells), likelihood.n_targets, dtype=torch.float64)
    owners = np.array(likelihood.owners_of_targets)
    for inner, d in enumerate(likelihood.order):
        rows = np.flatnonzero(asked[:, d])
        if forest is None or d not in forest.columns or not len(rows):
            continue
        targets = np.flatnonzero(owners == inner)
        said = forest.guess(cells[rows], d)[:, -len(targets) :]  # of two categories, the second is the target
        opinion[np.ix_(rows, targets)] = torch.tensor(said)
    return opinion


def as_targets(likelihood: TableLikelihood, values: Tensor) -> Tensor:
    """Cells in the units of the data ``[n, D]`` as an opinion that is sure of them, ``[n, T]``."""
    n = likelihood.n_numbers
    targets = likelihood.targets(values)
    return torch.cat([values[:, likelihood.order[:n]], targets[:, n:]], -1)


def frequencies(likelihood: TableLikelihood, trivial: Tensor, values: Tensor, observed: Tensor) -> Tensor:
    """Means of numbers and frequencies of categories, ``[T]``.

    Args:
        likelihood: Knows the columns.
        trivial: The mean or mode of every column, ``[D]``.
        values: Rows to count categories in, ``[N, D]``; where a column has none, it is its mode.
        observed: Which of their cells are there.
    """
    seen = observed[:, likelihood.order][:, likelihood.owners_of_targets]
    counted = (as_targets(likelihood, values) * seen).sum(0) / seen.sum(0).clamp(min=1)
    known = as_targets(likelihood, trivial[None])[0]
    counts = seen.any(0) & (torch.arange(len(known), device=known.device) >= likelihood.n_numbers)
    return torch.where(counts, counted, known)


def weigh(likelihood: TableLikelihood, opinions: Tensor, truth: Tensor, scored: Tensor, asked: Mask) -> Array:
    """The weights ``[3, D]`` whose mean opinion has the least squared error, for every column of the schema.

    Args:
        likelihood: Knows the columns.
        opinions: ``[3, n, T]``.
        truth: The cells, ``[n, D]`` in the units of the data.
        scored: Which of them count, ``[n, D]``.
        asked: Which columns have trees, ``[D]``.
    """
    owners = torch.tensor(likelihood.owners_of_targets, device=truth.device)
    wrong = opinions - as_targets(likelihood, torch.where(scored, truth, 0.0))
    wrong = wrong * scored[:, likelihood.order][:, owners]
    products = torch.einsum("int,jnt->ijt", wrong, wrong)  # a mean of opinions errs by w' G w
    gram = products.new_zeros(3, 3, likelihood.n).index_add_(-1, owners, products).cpu().numpy()
    tried = _simplex()
    errors = np.einsum("pi,ijd,pj->pd", tried, gram[..., likelihood.inverse.cpu().numpy()], tried)
    errors[(tried[:, TREES] > 0)[:, None] & ~asked] = np.inf
    return tried[errors.argmin(0)].T


def _simplex() -> Array:
    """All weights of three opinions in equal steps, ``[p, 3]``, the network alone first."""
    places = [(STEPS - i - j, i, j) for i, j in product(range(STEPS + 1), repeat=2) if i + j <= STEPS]
    return np.array(places) / STEPS
