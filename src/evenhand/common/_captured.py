"""A training step as a CUDA graph: recorded once, then replayed without Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

WARM_UP = 5

Inputs = Mapping[str, Tensor]


class CapturedStep:
    """Calls a function of tensors a few times, records it, and from then on replays the record.

    The function must do the same work whatever the numbers are: it never looks at them. Batches of another shape than
    the first are computed without the graph. A step without inputs reads what lies on the device already.

    Args:
        function: A step, with all its tensors given by name; what it returns is not needed.
        advice: What to do if the step cannot be recorded, a sentence for the error.
        generators: Where the step draws random numbers from, besides torch's own generator: every replay goes on
            with their next numbers.
    """

    def __init__(
        self,
        function: Callable[[Inputs], None],
        advice: str = "Train with compile=False.",
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        self._function, self._advice, self._generators = function, advice, generators
        self._inputs: dict[str, Tensor] | None = None
        self._graph: torch.cuda.CUDAGraph | None = None
        self._calls = 0

    def __call__(self, inputs: Inputs | None = None) -> None:
        inputs = {} if inputs is None else inputs
        if self._inputs is None:
            self._inputs = {name: torch.empty_like(x) for name, x in inputs.items()}
        if {n: x.shape for n, x in inputs.items()} != {n: x.shape for n, x in self._inputs.items()}:
            self._function(inputs)
            return
        for name, x in inputs.items():
            self._inputs[name].copy_(x)
        if self._graph is not None:
            self._graph.replay()
        elif self._calls < WARM_UP:
            self._on_a_side_stream(self._inputs)
        else:
            self._capture(self._inputs)
        self._calls += 1

    def forget(self) -> None:
        """Drop the record, because the tensors that it reads and writes have been replaced by others."""
        self._inputs, self._graph, self._calls = None, None, 0

    def _on_a_side_stream(self, inputs: Inputs) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._function(inputs)
        torch.cuda.current_stream().wait_stream(stream)

    def _capture(self, inputs: Inputs) -> None:
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        for generator in self._generators:
            graph.register_generator_state(generator)
        try:
            with torch.cuda.graph(graph):
                self._function(inputs)
        except RuntimeError as error:
            raise RuntimeError(
                "The training step could not be recorded as a CUDA graph; a network or a method may look at numbers "
                f"on the way. {self._advice} {error}"
            ) from error
        self._graph = graph
        graph.replay()


def pack(values: Mapping[str, Tensor], **others: Tensor | None) -> dict[str, Tensor]:
    """All tensors of a step by name."""
    return {f"values.{n}": x for n, x in values.items()} | {n: x for n, x in others.items() if x is not None}


def unpack(inputs: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `pack` was given."""
    values = {n.removeprefix("values."): x for n, x in inputs.items() if n.startswith("values.")}
    return values, {n: x for n, x in inputs.items() if not n.startswith("values.")}
