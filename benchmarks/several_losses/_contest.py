"""A stack of contenders in training: one step advances all of them, for all seeds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ._contenders import Contender, Weigher
from ._data import Examples, Splits
from ._networks import ALL, cross_entropy
from ._optimizers import fallen
from ._replayed import Replayed

EVALUATED = 250  # images at a time
Predictions = Sequence[Tensor]  # logits [S, C, B, classes], one for each loss


class Contest(nn.Module, ABC):
    """Networks of S seeds and C contenders on one data set.

    Args:
        contenders: Who takes part.
        seeds: Of initial parameters and the order of batches; all contenders of a seed share both.
        splits: The data, on the device.
    """

    def __init__(self, contenders: Sequence[Contender], seeds: Sequence[int], splits: Splits) -> None:
        super().__init__()
        self.contenders, self.seeds, self.splits = list(contenders), list(seeds), splits
        self.weigher = Weigher(contenders, len(seeds))

    @abstractmethod
    def predict(self, inputs: Sequence[Tensor], of: slice = ALL, *, meet: bool = False) -> Predictions:
        """Logits of every loss for images ``[S, B, ...]``; with `meet`, gradients are settled on their way back."""

    def losses(self, batch: Examples, of: slice = ALL, *, meet: bool = False) -> Tensor:
        """All losses ``[S, C, T]`` of a batch of every seed."""
        logits = self.predict(scaled(batch), of, meet=meet)
        return torch.stack([cross_entropy(x, batch.labels[..., t]) for t, x in enumerate(logits)], -1)

    def adjust_gradients(self) -> None:
        """What a contender does to gradients of parameters, after the backward pass."""

    def train_for(
        self,
        epochs: int,
        batch_size: int,
        lr: float,
        optimizer: Callable[[Iterable[nn.Parameter], Tensor], Any],
        after_epoch: Callable[[int], None] = lambda epoch: None,
    ) -> None:
        """Train with a learning rate that falls to zero; within an epoch nothing is read on the host."""
        rows = self.splits.train.labels
        batches = len(rows) // batch_size
        index = torch.zeros(len(self.seeds), batch_size, dtype=torch.long, device=rows.device)
        rate = torch.tensor(lr, device=rows.device)
        step = Replayed(Step(self, optimizer(self.parameters(), rate), index), rows.device)
        for epoch in range(epochs):
            order = orders(self.seeds, epoch, len(rows)).to(rows.device)
            for i in range(batches):
                index.copy_(order[:, i * batch_size : (i + 1) * batch_size])
                rate.fill_(lr * fallen(epoch * batches + i, epochs * batches))
                step()
            after_epoch(epoch)

    def evaluate(self) -> dict[str, Tensor]:
        """All that is measured, ``[S, C, measures]``, on validation and test images."""
        return {part: self.accuracies(getattr(self.splits, part)) for part in ("validation", "test")}

    @torch.no_grad()
    def accuracies(self, part: Examples, batch_size: int = EVALUATED) -> Tensor:
        """Shares of right answers ``[S, C, T]``."""
        right: Tensor | int = 0
        for rows in torch.arange(len(part.labels), device=part.labels.device).split(batch_size):
            batch = part.take(rows.expand(len(self.seeds), -1))
            logits = torch.stack([x.argmax(-1) for x in self.predict(scaled(batch))], -1)  # [S, C, B, T]
            right = right + (logits == batch.labels.unsqueeze(1)).sum(2)
        return right / len(part.labels)


class Step:
    """One step of all networks, on the batch that an index ``[S, B]`` names."""

    def __init__(self, contest: Contest, optimizer: Any, index: Tensor) -> None:
        self._contest, self._optimizer, self._index = contest, optimizer, index

    def __call__(self) -> None:
        contest, batch = self._contest, self._contest.splits.train.take(self._index)
        self._optimizer.zero_grad()
        contest.weigher(contest.losses(batch, meet=True)).backward()
        contest.adjust_gradients()
        self._optimizer.step()
        contest.weigher.update(lambda of: contest.losses(batch, of))


def scaled(batch: Examples) -> list[Tensor]:
    """Bytes as numbers between -1 and 1."""
    return [x.float() / 127.5 - 1 for x in batch.inputs]


def orders(seeds: Sequence[int], epoch: int, n: int) -> Tensor:
    """The order of the rows in an epoch, for every seed ``[S, n]``."""
    generators = [torch.Generator().manual_seed(1_000_003 * (seed + 1) + epoch) for seed in seeds]
    return torch.stack([torch.randperm(n, generator=g) for g in generators])
