"""A stand-in for CUDA graphs on the CPU: operations are recorded without effect, and a replay carries them out."""

from contextlib import contextmanager, nullcontext

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Graph:
    """What `torch.cuda.CUDAGraph` promises: the recorded operations, on the same memory, as often as wanted."""

    def __init__(self):
        self.operations = []
        self.replays = 0

    def replay(self):
        self.replays += 1
        for operation, args, kwargs, output in self.operations:
            result = operation(*args, **kwargs)
            if not operation._schema.is_mutable:
                output.copy_(result)


class _Recording(TorchDispatchMode):
    """While it is on, tensors of others do not change, as on a GPU whose stream is being captured."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        kwargs = kwargs or {}
        output = args[0] if operation._schema.is_mutable else operation(*args, **kwargs)
        self.graph.operations.append((operation, args, kwargs, output))
        return output


class Stream:
    """A stream that remembers for whom it waited."""

    def __init__(self):
        self.waited_for = []

    def wait_stream(self, other):
        self.waited_for.append(other)


class Cuda:
    """All of `torch.cuda` that a captured step uses."""

    def __init__(self, monkeypatch):
        self.main, self.side, self.graphs, self.synchronised, self.capturing = Stream(), [], [], 0, False
        stands_in = {
            "Stream": self.new_stream,
            "current_stream": lambda *_: self.main,
            "stream": nullcontext,
            "synchronize": self.synchronise,
            "CUDAGraph": self.new_graph,
            "graph": self.capture,
        }
        for name, thing in stands_in.items():
            monkeypatch.setattr(torch.cuda, name, thing)

    def new_stream(self, *_):
        self.side.append(Stream())
        return self.side[-1]

    def synchronise(self, *_):
        self.synchronised += 1

    def new_graph(self):
        self.graphs.append(Graph())
        return self.graphs[-1]

    @contextmanager
    def capture(self, graph):
        self.capturing = True
        try:
            with _Recording(graph):
                yield
        finally:
            self.capturing = False
