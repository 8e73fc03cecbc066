"""A step as a CUDA graph where there is a GPU: called a few times, recorded, then replayed without Python."""

from __future__ import annotations

from collections.abc import Callable

import torch

WARM_UP = 4


class Replayed:
    """Calls a function that always does the same work on the same tensors; on a GPU soon without Python."""

    def __init__(self, function: Callable[[], None], device: torch.device) -> None:
        self._function, self._device = function, device
        self._graph: torch.cuda.CUDAGraph | None = None
        self._stream: torch.cuda.Stream | None = None  # one, because each keeps the memory of a step
        self._calls = 0

    def __call__(self) -> None:
        self._calls += 1
        if self._device.type != "cuda":
            self._function()
        elif self._graph is not None:
            self._graph.replay()
        elif self._calls <= WARM_UP:
            self._on_a_side_stream()
        else:
            self._record()

    def _on_a_side_stream(self) -> None:
        self._stream = self._stream or torch.cuda.Stream()
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            self._function()
        torch.cuda.current_stream().wait_stream(self._stream)

    def _record(self) -> None:
        torch.cuda.synchronize()
        self._stream = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._function()
        graph.replay()  # recording does nothing yet
        self._graph = graph
