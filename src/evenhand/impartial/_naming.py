"""What to call a place of the graph, and how to write it down in Python."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from torch import Tensor, nn
from torch.autograd.graph import Node

from ._graph import Edge, base_of, inputs_of, operation_of, parameter_of
from ._parameter_block import trained

Uses = Mapping[Edge, Mapping[int, set[Edge]]]  # for every tensor and every loss: what was computed from it


class Naming:
    """Names of tensors after the modules of a model, as far as they can be known from the graph.

    Args:
        model: The model, called ``model`` in what is written; None if there is none.
    """

    def __init__(self, model: nn.Module | None) -> None:
        self._model = model
        self._modules = {} if model is None else dict(model.named_modules())
        self._names: dict[Tensor, str] = {}
        if model is not None:
            self._names = {p: name for name, p in model.named_parameters()}

    def operation(self, node: Node) -> str:
        """The operation, and the module whose parameters are nearest before it."""
        todo, visited = [node], {node}
        while todo:
            current = todo.pop(0)
            parameter = parameter_of(current)
            if parameter is not None and parameter in self._names:
                name = self._names[parameter]
                return f"{operation_of(node)} after {name.rpartition('.')[0] or name}"
            before = [n for n, _ in inputs_of(current) if n not in visited]
            visited |= set(before)
            todo += before
        return operation_of(node)

    def common(self, parameters: Sequence[Tensor]) -> str:
        """The smallest part of the model that holds all these parameters."""
        modules = (self._names[p].split(".")[:-1] for p in parameters if p in self._names)
        shared = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*modules, strict=False))
        return ".".join(parts[0] for parts in shared) or "parameters"

    def module(self, parameters: Sequence[Tensor]) -> str:
        """The module with exactly these parameters, as Python, or ``place`` if there is none."""
        wanted = set(parameters)
        path = next((path for path, part in self._modules.items() if set(trained(part)) == wanted), None)
        return "place" if path is None else self._python(path)

    def output(self, edge: Edge, uses: Uses) -> str:
        """The module that returns a tensor, as Python, or ``place`` if none is known to."""
        path = self._returned_by(edge, uses)
        return "place" if path is None else f"Output({self._python(self._outermost(path))})"

    def _returned_by(self, edge: Edge, uses: Uses) -> str | None:
        """The path of the innermost module whose output a tensor is, if that is beyond doubt."""
        bases = [base_of(e) for e in inputs_of(edge[0])]
        own = {p for node, _ in bases if (p := parameter_of(node)) is not None and p in self._names}
        if own:
            # of torch's own layers one operation is all; a layer that is used twice has two outputs
            once = all(len(_users(e, uses)) == 1 for e in bases if parameter_of(e[0]) in own)
            return next((path for path in self._leaves() if set(trained(self._modules[path])) == own and once), None)
        return self._activation(edge, uses) if len(bases) == 1 else None

    def _activation(self, edge: Edge, uses: Uses) -> str | None:
        """The path of an activation that follows a known layer in a Sequential."""
        (before,) = inputs_of(edge[0])
        parent, _, name = (self._returned_by(before, uses) or "").rpartition(".")
        if type(self._modules.get(parent)) is not nn.Sequential or not name.isdigit():
            return None
        path = _joined(parent, str(int(name) + 1))
        kind = type(self._modules.get(path)).__name__
        return path if path in self._modules and kind.lower() == operation_of(edge[0]).lower() else None

    def _leaves(self) -> list[str]:
        own = (path for path, part in self._modules.items() if type(part).__module__.startswith("torch.nn.modules"))
        return [path for path in own if not list(self._modules[path].children())]

    def _outermost(self, path: str) -> str:
        """The largest Sequential that ends with a module: both return the same tensor."""
        parent, _, name = path.rpartition(".")
        holder = self._modules[parent]
        if path and type(holder) is nn.Sequential and name == str(len(holder) - 1):
            return self._outermost(parent)
        return path

    def _python(self, path: str) -> str:
        text, at = "model", ""
        for name in path.split(".") if path else []:
            holder, at = self._modules[at], _joined(at, name)
            if isinstance(holder, nn.ModuleDict):
                text += f"[{name!r}]"
            elif isinstance(holder, nn.ModuleList | nn.Sequential) and name.isdigit():
                text += f"[{name}]"
            else:
                text += f".{name}"
        return text


def _users(edge: Edge, uses: Uses) -> set[Edge]:
    return set().union(*uses[edge].values())


def _joined(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name
