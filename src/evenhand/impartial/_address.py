"""Where a tensor is in the graph of some losses, in words that hold for the graph of the next step, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor
from torch.autograd.graph import GradientEdge, Node

CHANGED = (
    "at should be a place in the graph of these losses, as find_blocks saw it. Found another graph: {found}. Call "
    "find_blocks again for these losses, or name the place by a tensor or by the Output of a module."
)


@dataclass(frozen=True)
class Address:
    """The way from a loss back to the operation that made a tensor.

    Attributes:
        routes: For every loss that reaches the tensor: the names of the operations on the way, from the loss to the
            tensor, and before each but the first which input of the previous one it made.
        output: Which output of the last operation the tensor is.
        shape: The shape of the tensor. The number of axes and the length of the last one stay.
    """

    routes: Mapping[str, tuple[tuple[int, str], ...]]
    output: int
    shape: tuple[int, ...]

    def follow(self, losses: Mapping[str, Tensor]) -> GradientEdge:
        """The same tensor in the graph of other losses; raises ValueError if that has changed."""
        name = next((name for name in self.routes if name in losses and losses[name].grad_fn is not None), None)
        if name is None:
            raise ValueError(
                f"losses should have one that find_blocks knew at this place, {_listed(self.routes)}, and that is no "
                f"constant. Found {_listed(losses)}."
            )
        node, output = _walk(losses[name], name, self.routes[name])
        if output != self.output or not _fits(shape_at(node, output), self.shape):
            found = f"a tensor of shape {list(shape_at(node, output))} where one of {list(self.shape)} was"
            raise ValueError(CHANGED.format(found=found))
        return GradientEdge(node, output)


def address_of(edge: tuple[Node, int], losses: Mapping[str, Tensor]) -> Address:
    """The address of a tensor of the graph, given by the node that made it and the number of its output."""
    routes = {name: route for name, loss in losses.items() if (route := _route(loss, edge)) is not None}
    return Address(routes, edge[1], shape_at(*edge))


def shape_at(node: Node, output: int) -> tuple[int, ...]:
    """The shape of an output of an operation."""
    return tuple(node._input_metadata[output].shape)


def _walk(loss: Tensor, name: str, route: tuple[tuple[int, str], ...]) -> tuple[Node, int]:
    node, output = loss.grad_fn, loss.output_nr
    for step, (index, expected) in enumerate(route):
        if step > 0:
            inputs = node.next_functions if node is not None else ()
            node, output = inputs[index] if index < len(inputs) else (None, 0)
        if node is None or node.name() != expected:
            found = f"{step} operations before losses[{name!r}], {'nothing' if node is None else node.name()}"
            raise ValueError(CHANGED.format(found=f"{found} instead of {expected}"))
    assert node is not None
    return node, output


def _route(loss: Tensor, edge: tuple[Node, int]) -> tuple[tuple[int, str], ...] | None:
    """The shortest way from a loss to a tensor, or None if there is none."""
    assert loss.grad_fn is not None
    start = (loss.grad_fn, loss.output_nr)
    came_from: dict[tuple[Node, int], tuple[tuple[Node, int], int] | None] = {start: None}
    todo = [start]
    for current in todo:  # grows while it is walked: breadth first
        if current == edge:
            return _back(current, came_from)
        for index, (node, output) in enumerate(current[0].next_functions):
            if node is not None and (node, output) not in came_from:
                came_from[node, output] = (current, index)
                todo.append((node, output))
    return None


def _back(
    edge: tuple[Node, int], came_from: dict[tuple[Node, int], tuple[tuple[Node, int], int] | None]
) -> tuple[tuple[int, str], ...]:
    steps = []
    while (previous := came_from[edge]) is not None:
        steps.append((previous[1], edge[0].name()))
        edge = previous[0]
    return (0, edge[0].name()), *reversed(steps)


def _fits(found: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    return len(found) == len(expected) and found[-1:] == expected[-1:]


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(map(repr, names))
