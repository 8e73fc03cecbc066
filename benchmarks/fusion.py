"""A digit seen twice, in MNIST and in SVHN: one encoder learns fast and one slowly. What becomes of the slow one?

    EVENHAND_DATA=... python benchmarks/fusion.py --cache DIR [--device cuda] [--limit SECONDS]
    python benchmarks/fusion.py --cache DIR --quick      # seconds on a CPU
    python benchmarks/fusion.py --collect FILE           # runs nothing: the cache as one file
    python benchmarks/fusion.py --table FILE             # the tables of that file

Two encoders, a linear head on both features and one on each. At the features of an encoder the gradients of the joint
loss and of its own loss meet. Choices are made on validation images.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import torch
from several_losses._contenders import Contender, Meeting, apart, methods, weightings
from several_losses._contest import EVALUATED, Contest, Predictions, scaled
from several_losses._data import Examples, Splits, paired
from several_losses._fusion_table import tables
from several_losses._networks import ALL, Encoder, Linear, Stack
from several_losses._ogm_ge import coefficients, modulate, scores
from several_losses._optimizers import Momentum
from several_losses._probe import probed
from several_losses._runs import Benchmark, main
from torch import Tensor, nn

N_FEATURES = 64
SHAPES = (((1, 28, 28), (10, 20)), ((3, 32, 32), (10, 20)))  # images and channels of each encoder
GRID = (0.3, 1.0, 3.0)  # the weight of each own loss; the joint loss has weight one
STRENGTHS = (0.1, 0.3, 0.8)  # of OGM-GE
PARTS = ("train", "validation", "test")


class Fusion(Contest):
    """Two encoders; the joint logits are the sum of what each modality adds to them."""

    def __init__(self, contenders: Sequence[Contender], seeds: Sequence[int], splits: Splits) -> None:
        super().__init__(contenders, seeds, splits)
        stack = Stack(seeds, len(contenders))
        self.encoders = nn.ModuleList(Encoder(stack, *shape, N_FEATURES) for shape in SHAPES)
        self.joint = nn.ModuleList(Linear(stack, N_FEATURES, 10) for _ in SHAPES)
        self.own = nn.ModuleList(Linear(stack, N_FEATURES, 10) for _ in SHAPES)
        self.meetings = nn.ModuleList(Meeting(contenders, len(seeds)) for _ in SHAPES)
        self.held_back = HeldBack(contenders)

    def predict(self, inputs: Sequence[Tensor], of: slice = ALL, *, meet: bool = False) -> Predictions:
        added, alone = [], []
        for m, x in enumerate(inputs):
            features = self.encoders[m](x, of)
            together, apart_ = (self.meetings[m] if meet else apart)(features, 2)
            added.append(self.joint[m](together, of))
            alone.append(self.own[m](apart_, of))
        self.held_back.seen = added
        return [added[0] + added[1], *alone]

    def losses(self, batch: Examples, of: slice = ALL, *, meet: bool = False) -> Tensor:
        losses = super().losses(batch, of, meet=meet)
        if meet:
            self.held_back.decide(batch.labels[..., 0])
        return losses

    def adjust_gradients(self) -> None:
        self.held_back.apply(self.encoders)

    def evaluate(self) -> dict[str, Tensor]:
        probes = [self._probe(m) for m in range(len(SHAPES))]
        found = super().evaluate()
        return {part: torch.cat([x, *(p[part].unsqueeze(-1) for p in probes)], -1) for part, x in found.items()}

    def _probe(self, modality: int) -> dict[str, Tensor]:
        parts = {part: getattr(self.splits, part) for part in PARTS}
        features = {part: self._features(modality, examples) for part, examples in parts.items()}
        return probed(features, {part: examples.labels[:, 0] for part, examples in parts.items()})

    @torch.no_grad()
    def _features(self, modality: int, examples: Examples) -> Tensor:
        rows = torch.arange(len(examples.labels), device=examples.labels.device)
        batches = (scaled(examples.take(r.expand(len(self.seeds), -1)))[modality] for r in rows.split(EVALUATED))
        return torch.cat([self.encoders[modality](x) for x in batches], 2)


class HeldBack:
    """The contenders that OGM-GE acts on; they are neighbours."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        places = [i for i, c in enumerate(contenders) if c.modulation]
        self.places = slice(places[0], places[-1] + 1) if places else slice(0)
        self._alpha = torch.tensor([contenders[i].modulation for i in places])
        self.seen: list[Tensor] = []
        self._k: list[Tensor] = []

    def decide(self, labels: Tensor) -> None:
        """How much of the gradient each encoder keeps in this step."""
        self._alpha = self._alpha.to(labels.device)
        with torch.no_grad():
            first, second = (scores(logits[:, self.places], labels) for logits in self.seen)
            self._k = [coefficients(first, second, self._alpha), coefficients(second, first, self._alpha)]

    def apply(self, encoders: nn.ModuleList) -> None:
        """Modulate the gradients of all parameters of both encoders."""
        for encoder, k in zip(encoders, self._k, strict=True):
            for parameter in encoder.parameters() if k.numel() else ():
                part: Any = parameter.grad[:, self.places]  # type: ignore[index]
                part.copy_(modulate(part, k))


def contenders() -> list[Contender]:
    """One loss, fixed weights, OGM-GE, weightings and methods."""
    ends = [Contender("joint loss alone", (1.0, 0.0, 0.0)), Contender("each modality alone", (0.0, 1.0, 1.0))]
    fixed = [Contender(f"weights 1 : {a:g} : {b:g}", (1.0, a, b)) for a, b in product(GRID, GRID)]
    held_back = [Contender(f"OGM-GE {a:g}", (1.0, 0.0, 0.0), modulation=a) for a in STRENGTHS]
    return [*ends, *fixed, *held_back, *weightings(3), *methods(3)]


BENCHMARK = Benchmark(
    name="fusion",
    data={"MNIST and SVHN": lambda name, folder: paired(folder)},
    contest=Fusion,
    contenders=contenders,
    optimizer=Momentum,
    learning_rates=(0.03, 0.01),
    heads=("joint", "MNIST head", "SVHN head", "MNIST probe", "SVHN probe"),
    tables=tables,
)

if __name__ == "__main__":
    main(BENCHMARK, __doc__)
