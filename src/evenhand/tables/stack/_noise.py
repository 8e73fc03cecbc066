"""Everything random in a training step; it belongs to the seed of a replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ._state import check_settings

CHUNK = 64


@dataclass(frozen=True)
class Draw:
    """The random numbers of one step, for R replicas.

    Attributes:
        rows: Which rows make up the batch, ``[R, B]``.
        normal: Standard normal numbers for the latent variables, ``[R, K, B, L]``.
        keep: Dropout's multipliers of inputs, ``[R, B, I]``, if there is dropout.
        visible: 1 for cells the encoder may see, ``[R, B, D]``, if cells are hidden.
        uniform: Numbers for the methods, ``[R, m]``, if any method is random.
    """

    rows: Tensor
    normal: Tensor
    keep: Tensor | None
    visible: Tensor | None
    uniform: Tensor | None


class Noise:
    """Random numbers drawn in chunks, one stream for every seed.

    Two replicas with one seed get the same numbers, and no replica's depend on who shares its stack. Chunks lie
    on the device and a counter there picks the step, so that a captured step needs nothing from the host. What is
    drawn is never saved: generators are, as they were before the chunk and the order of rows that are in use.

    Args:
        seeds: One for every replica.
        rows: For every distinct seed, in order of appearance, the rows to train on ``[S, n]``.
        batch_size: B.
        shape: (K, L) of the latent noise.
        n_inputs: I.
        n_columns: D.
        n_uniform: How many numbers the methods need; 0 for none.
        dropout: Probability that an input is dropped.
        hide: Probability that a cell is hidden from the encoder; it varies from row to row, from 0 to twice this.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        rows: Tensor,
        *,
        batch_size: int,
        shape: tuple[int, int],
        n_inputs: int,
        n_columns: int,
        n_uniform: int = 0,
        dropout: float = 0.0,
        hide: float = 0.0,
    ) -> None:
        self.device, self._rows = rows.device, rows
        self.batch_size = min(batch_size, rows.shape[1])
        self.steps_per_epoch = rows.shape[1] // self.batch_size
        self._shape, self._n_inputs, self._n_columns = shape, n_inputs, n_columns
        self._n_uniform, self._dropout, self._hide = n_uniform, dropout, hide
        self._seeds = list(dict.fromkeys(int(seed) for seed in seeds))
        self._of_replica = [self._seeds.index(seed) for seed in seeds]
        # two streams for each seed: the order of rows, and the rest
        self._orders = [self._generator(2 * seed) for seed in self._seeds]
        self._streams = [self._generator(2 * seed + 1) for seed in self._seeds]
        self._before_order, self._before_chunk = _states(self._orders), _states(self._streams)
        self.step = 0
        self._cursors = torch.zeros(2, 1, dtype=torch.long, device=self.device)
        self._chunk: dict[str, Tensor] = {}
        self._select()

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(seed)

    def _select(self) -> None:
        self._everyone = self._of_replica == list(range(len(self._seeds)))
        self._index = torch.tensor(self._of_replica, device=self.device)

    def keep(self, replicas: Sequence[int]) -> None:
        """Go on for some replicas only."""
        self._of_replica = [self._of_replica[r] for r in replicas]
        self._select()

    def prepare(self) -> None:
        """Draw new numbers where the old ones are used up; to be called before every step, outside of a graph."""
        if self.step % self.steps_per_epoch == 0:
            self._new_order()
            self._cursors[0].zero_()
        if self.step % CHUNK == 0:
            self._new_chunk()
            self._cursors[1].zero_()
        self.step += 1

    def _new_order(self) -> None:
        self._before_order = _states(self._orders)
        self._fill("order", [self._shuffled(s) for s in range(len(self._seeds))])

    def _new_chunk(self) -> None:
        self._before_chunk = _states(self._streams)
        drawn = [self._draw(stream) for stream in self._streams]
        for name in drawn[0]:
            self._fill(name, [d[name] for d in drawn])

    def _fill(self, name: str, drawn: list[Tensor]) -> None:
        # in place, because a captured graph reads from this very memory
        if name not in self._chunk:
            self._chunk[name] = torch.stack(drawn)
        else:
            torch.stack(drawn, out=self._chunk[name])

    def _shuffled(self, s: int) -> Tensor:
        order = torch.randperm(self._rows.shape[1], generator=self._orders[s], device=self.device)
        used = order[: self.steps_per_epoch * self.batch_size]
        return self._rows[s][used].view(self.steps_per_epoch, self.batch_size)

    def _draw(self, stream: torch.Generator) -> dict[str, Tensor]:
        def uniform(*shape: int) -> Tensor:
            return torch.rand(CHUNK, *shape, generator=stream, device=self.device)

        k, n_latent = self._shape
        b = self.batch_size
        drawn = {"normal": torch.randn(CHUNK, k, b, n_latent, generator=stream, device=self.device)}
        if self._dropout:
            drawn["keep"] = (uniform(b, self._n_inputs) >= self._dropout) / (1 - self._dropout)
        if self._hide:
            rate = 2 * self._hide * uniform(b, 1)
            drawn["visible"] = (uniform(b, self._n_columns) >= rate).to(torch.get_default_dtype())
        if self._n_uniform:
            drawn["uniform"] = uniform(self._n_uniform)
        return drawn

    def look(self) -> Draw:
        """The numbers of this step; works inside of a captured graph, and a compiler reads them where they lie."""
        rows = self._pick("order", self._cursors[0])
        rest = [self._pick(name, self._cursors[1]) for name in ("normal", "keep", "visible", "uniform")]
        assert rows is not None
        assert rest[0] is not None
        return Draw(rows, rest[0], *rest[1:])

    def advance(self) -> None:
        """Go on to the numbers of the next step."""
        self._cursors.add_(1)

    def _pick(self, name: str, cursor: Tensor) -> Tensor | None:
        if name not in self._chunk:
            return None
        chunk = self._chunk[name]
        free = cursor.device.type == "cpu" and not torch.compiler.is_compiling()  # to read the number
        step = chunk.select(1, int(cursor)) if free else chunk.index_select(1, cursor).squeeze(1)
        return step if self._everyone else step.index_select(0, self._index)

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to resume with the very next numbers; to be called between two steps."""
        in_epoch, in_chunk = self.step % self.steps_per_epoch, self.step % CHUNK
        return {
            "settings": self._settings(),
            "step": self.step,
            "seeds": list(self._seeds),
            "orders": list(self._before_order) if in_epoch else _states(self._orders),
            "streams": list(self._before_chunk) if in_chunk else _states(self._streams),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another source with these settings was; it may have had more seeds."""
        self.check_state(state)
        place = {seed: i for i, seed in enumerate(state["seeds"])}
        for s, seed in enumerate(self._seeds):
            if seed in place:
                _set_state(self._orders[s], state["orders"][place[seed]])
                _set_state(self._streams[s], state["streams"][place[seed]])
        self.step = state["step"]
        in_epoch, in_chunk = self.step % self.steps_per_epoch, self.step % CHUNK
        if in_epoch:
            self._new_order()
        if in_chunk:
            self._new_chunk()
        self._cursors[0].fill_(in_epoch)
        self._cursors[1].fill_(in_chunk)

    def check_state(self, state: Mapping[str, Any]) -> None:
        """Raise ValueError if a state cannot be loaded."""
        check_settings(state["settings"], self._settings())
        unknown = {self._seeds[i] for i in self._of_replica} - set(state["seeds"])
        if unknown:
            raise ValueError(
                f"seeds should be among {state['seeds']}, of which the state has the random numbers. Found "
                f"{sorted(unknown)}."
            )
        size = self._before_order[0].shape
        if any(saved.shape != size for name in ("orders", "streams") for saved in state[name]):
            raise ValueError(
                "The random numbers of the state should come from the kind of device that resumes. Found "
                f"others than those of {self.device.type}. Go on with the same type of device."
            )

    def _settings(self) -> dict[str, Any]:
        return {
            "chunk": CHUNK,
            "n_rows": self._rows.shape[1],
            "batch_size": int(self.batch_size),
            "n_samples": int(self._shape[0]),
            "n_noise": int(self._shape[1]),
            "n_inputs": int(self._n_inputs),
            "n_columns": int(self._n_columns),
            "n_uniform": int(self._n_uniform),
            "dropout": float(self._dropout),
            "hide": float(self._hide),
        }


def _states(generators: list[torch.Generator]) -> list[Tensor]:
    return [generator.get_state() for generator in generators]


def _set_state(generator: torch.Generator, state: Tensor) -> None:
    # cloned, because set_state crashes on a tensor that begins in the midst of its memory
    generator.set_state(state.cpu().clone())
