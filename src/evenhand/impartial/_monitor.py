"""Blocks followed through training: which heads are heard, which are neglected, which are in conflict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ._base_block import BaseBlock
from ._log import Log, ScalarWriter, log_function
from ._reading import Reading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("step", "block", "head", "norm", "weight", "share", "agreement", "conflict")


@dataclass(frozen=True)
class _Record:
    """What one block read when `record` was called."""

    order: int  # the number of the call
    step: int
    reading: Reading  # on the host, averaged over samples


class Monitor:
    """Collect what blocks read in every step, as rows of a table, a figure, and sentences.

    Nothing is hooked into the model: call `record` after ``backward`` whenever a row is wanted. Reading a
    block on a GPU waits for it, so record every tenth or hundredth step there.

    Args:
        blocks: The blocks by name, or a single one.
        heads: The names of the heads, for all blocks or by block; if None, those of the losses that `backward` was
            given, or numbers.
        log: Where every record goes as well: TensorBoard's `SummaryWriter`, or a function of a dictionary of numbers
            and a step, such as ``run.log`` of W&B, ``mlflow.log_metrics``, ``accelerator.log``, or ``log_metrics``
            of a logger of Lightning. Names are those of `latest`.

    Example:
        >>> from evenhand import Block, Sum
        >>> block = Block(Sum())
        >>> monitor = Monitor({"y": block}, heads=["age", "region"])
        >>> y = torch.ones(4, 3, requires_grad=True)
        >>> age, region = block(y, 2)
        >>> (100 * age.sum() + 0.3 * region.sum()).backward()
        >>> monitor.record()
        >>> print(*monitor.sentences())
        'region' receives 0.3 % of the gradient at y, where an even share would be 50 %.
    """

    def __init__(
        self,
        blocks: Mapping[str, BaseBlock] | BaseBlock,
        heads: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        *,
        log: Log | ScalarWriter | None = None,
    ) -> None:
        self.blocks = {"block": blocks} if isinstance(blocks, BaseBlock) else dict(blocks)
        for name, block in self.blocks.items():
            if not isinstance(block, BaseBlock):
                raise ValueError(f"blocks[{name!r}] should be a block. Found {type(block).__name__}.")
        self._heads = heads
        self._log = None if log is None else log_function(log)
        self._count = 0
        self._records: dict[str, list[_Record]] = {name: [] for name in self.blocks}
        self._seen: dict[str, Reading] = {}  # the blocks' own, by which a new backward pass is recognised

    def record(self, step: int | None = None) -> None:
        """Record the last backward pass of every block that had one since the previous record.

        Steps are counted if no number is given.
        """
        number = self._count if step is None else step
        last = {name: block.last for name, block in self.blocks.items()}
        new = {name: _mean_over_samples(r) for name, r in last.items() if self._seen.get(name) is not r}
        for name, reading in new.items():
            self._names(name, reading)
        for name, reading in new.items():  # all or nothing
            self._records[name].append(_Record(self._count, number, reading))
        self._seen = last
        self._count += 1
        if self._log is not None and new:
            self._log(self.latest(), number)

    def latest(self) -> dict[str, float]:
        """The numbers of the last record by name, for any logger: ``{"share/y/region": 0.003, ...}``.

        A name is a column of `table`, the block and the head. Blocks that had no backward pass since the record
        before are not there.
        """
        records = [(record, name) for name, records in self._records.items() for record in records[-1:]]
        new = [(record, name) for record, name in records if record.order == self._count - 1]
        rows = [row for record, name in new for row in self._rows(record, name)]
        return {
            f"{column}/{block}/{head}": number
            for _, block, head, *numbers in rows
            for column, number in zip(COLUMNS[3:], numbers, strict=True)
        }

    def table(self) -> dict[str, list[object]]:
        """One row for every step, block and head, as columns: ``pandas.DataFrame(monitor.table())``.

        ``norm`` is the length of the head's gradient, ``weight`` its weight in the sum, ``share`` its part of
        the gradient, ``agreement`` its cosine with the sum, and ``conflict`` its lowest cosine with
        another head.
        """
        records = [(record, name) for name, records in self._records.items() for record in records]
        records.sort(key=lambda pair: pair[0].order)
        rows = [row for record, name in records for row in self._rows(record, name)]
        return {column: [row[i] for row in rows] for i, column in enumerate(COLUMNS)}

    def sentences(self, *, neglected: float = 0.5, last: int = 100) -> list[str]:
        """A plain sentence for every head that is neglected, and for every head that is worked against.

        Args:
            neglected: A head is neglected if its share is below this part of an even share.
            last: How many of the last records are averaged.
        """
        texts = []
        for name, records in self._records.items():
            readings = [r.reading for r in _alike([r for r in records[-last:] if r.reading.gram.isfinite().all()])]
            if not readings:
                continue
            shares = torch.stack([r.shares for r in readings]).mean(0)
            agreement = torch.stack([r.agreement for r in readings]).mean(0)
            even = 1 / len(shares)
            for head, share, cosine in zip(self._names(name, readings[-1]), shares, agreement, strict=True):
                if share < neglected * even:
                    texts.append(
                        f"{head!r} receives {_percent(share.item())} of the gradient at {name}, where an even "
                        f"share would be {_percent(even)}."
                    )
                if cosine < 0:
                    texts.append(
                        f"{head!r} is worked against at {name}: the step and its gradient have a cosine of "
                        f"{cosine.item():.2f}."
                    )
        return texts

    def plot(self) -> Figure:
        """A figure with the shares over training and the cosines of the last record, a row per block."""
        try:
            import matplotlib
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("plot needs matplotlib: pip install 'evenhand[plot]'") from error

        if not all(self._records.values()):
            raise RuntimeError("Nothing has been recorded yet: call record() after loss.backward().")
        figure = Figure(figsize=(10, 3.5 * len(self.blocks)), layout="constrained")
        axes = figure.subplots(len(self.blocks), 2, squeeze=False, width_ratios=(2, 1))
        for (left, right), (name, records) in zip(axes, self._records.items(), strict=True):
            shown = _alike(records)
            readings = [r.reading for r in shown]
            heads = self._names(name, readings[-1])
            shares = torch.stack([r.shares for r in readings]).T.numpy()
            colors = [matplotlib.colormaps["tab20"](t % 20) for t in range(len(heads))]
            left.stackplot([r.step for r in shown], shares, labels=heads, colors=colors)
            left.set(title=f"Shares of the gradient at {name}", xlabel="step", ylabel="share", ylim=(0, 1))
            left.margins(x=0)
            if len(heads) <= 20:
                place = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
                left.legend(**place, fontsize="small", reverse=True)  # in the order of the stack
            image = right.imshow(readings[-1].cosines.numpy(), vmin=-1, vmax=1, cmap="RdBu")
            right.set_xticks(range(len(heads)), heads, rotation=90, fontsize="small")
            right.set_yticks(range(len(heads)), heads, fontsize="small")
            right.set_title("Cosines at the last record")
            figure.colorbar(image, ax=right, shrink=0.8)
        return figure

    def _rows(self, record: _Record, name: str) -> list[tuple[Any, ...]]:
        reading = record.reading
        others = reading.cosines.clone().fill_diagonal_(torch.inf).amin(-1)  # not the cosine with itself
        others = others.where(others.isfinite(), torch.nan)  # a single head is in conflict with no other
        values = (reading.norms, reading.weights, reading.shares, reading.agreement, others)
        heads = self._names(name, reading)
        return [(record.step, name, *row) for row in zip(heads, *(v.tolist() for v in values), strict=True)]

    def _names(self, block: str, reading: Reading) -> list[str]:
        n = len(reading.weights)
        if self._heads is None:
            return [str(t) for t in range(n)] if reading.heads is None else list(reading.heads)
        names = list(self._heads[block] if isinstance(self._heads, Mapping) else self._heads)
        if len(names) != n:
            raise ValueError(f"heads should name the {n} heads of {block}. Found {len(names)} names.")
        return names


def _mean_over_samples(reading: Reading) -> Reading:
    """A reading on the host, over all samples if the block settles each on its own."""

    def mean(tensor: Tensor, axes: int) -> Tensor:
        tensor = tensor.detach().cpu()
        return tensor.reshape(-1, *tensor.shape[tensor.ndim - axes :]).mean(0)

    gram = reading.gram
    if reading.scale is not None:  # of every sample its own
        gram = gram.to(reading.scale.dtype) / reading.scale.square()[..., None, None]
    return Reading(mean(gram, 2), mean(reading.weights, 1), heads=reading.heads)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.095 else f"{100 * share:.0f} %"


def _alike(records: Sequence[_Record]) -> list[_Record]:
    """Those of the same heads as the last one: what is averaged or drawn over time is of one and the same head."""
    if not records:
        return []
    last = records[-1].reading
    return [r for r in records if r.reading.heads == last.heads and len(r.reading.weights) == len(last.weights)]
