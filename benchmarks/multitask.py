"""Two images on top of each other, two heads: methods, weightings and fixed weights, all seeds at once.

    EVENHAND_DATA=... python benchmarks/multitask.py --cache DIR [--device cuda] [--limit SECONDS]
    python benchmarks/multitask.py --cache DIR --quick      # seconds on a CPU
    python benchmarks/multitask.py --collect FILE           # runs nothing: the cache as one file
    python benchmarks/multitask.py --table FILE             # the tables of that file

MultiMNIST and its kin: LeNet with a block at the features that both heads share. Choices are made on validation
images.
"""

from __future__ import annotations

from collections.abc import Sequence

from several_losses._contenders import Contender, Meeting, apart, methods, weightings
from several_losses._contest import Contest, Predictions
from several_losses._data import OVERLAID, Splits, overlaid
from several_losses._networks import ALL, BEFORE_RELU, Encoder, Linear, Stack
from several_losses._optimizers import adam
from several_losses._runs import Benchmark, main
from several_losses._tasks_table import tables
from torch import Tensor, nn
from torch.nn.functional import relu

N_FEATURES, CHANNELS = 50, (10, 20)
GRID = tuple(w / 10 for w in range(1, 10))  # the share of the first task


class TwoTasks(Contest):
    """LeNet with two heads of two layers."""

    def __init__(self, contenders: Sequence[Contender], seeds: Sequence[int], splits: Splits) -> None:
        super().__init__(contenders, seeds, splits)
        stack = Stack(seeds, len(contenders))
        self.encoder = Encoder(stack, (1, 28, 28), CHANNELS, N_FEATURES)
        self.heads = nn.ModuleList(Head(stack) for _ in range(2))
        self.meeting = Meeting(contenders, len(seeds))

    def predict(self, inputs: Sequence[Tensor], of: slice = ALL, *, meet: bool = False) -> Predictions:
        features = self.encoder(*inputs, of)
        views = (self.meeting if meet else apart)(features, len(self.heads))
        return [head(view, of) for head, view in zip(self.heads, views, strict=True)]


class Head(nn.Module):
    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.hidden = Linear(stack, N_FEATURES, N_FEATURES, gain=BEFORE_RELU)
        self.last = Linear(stack, N_FEATURES, 10)

    def forward(self, x: Tensor, of: slice = ALL) -> Tensor:
        return self.last(relu(self.hidden(x, of)), of)


def contenders() -> list[Contender]:
    """Single tasks, fixed weights, weightings and methods."""
    alone = [Contender("first task alone", (1.0, 0.0)), Contender("second task alone", (0.0, 1.0))]
    fixed = [Contender(f"weights {w:.1f} : {1 - w:.1f}", (2 * w, 2 - 2 * w)) for w in GRID]
    return [*alone, *fixed, *weightings(2), *methods(2)]


BENCHMARK = Benchmark(
    name="multitask",
    data=dict.fromkeys(OVERLAID, overlaid),
    contest=TwoTasks,
    contenders=contenders,
    optimizer=adam,
    learning_rates=(0.001, 0.003),
    heads=("first task", "second task"),
    tables=tables,
)

if __name__ == "__main__":
    main(BENCHMARK, __doc__)
