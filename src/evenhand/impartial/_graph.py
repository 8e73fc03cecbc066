"""The graph of autograd, as far as places are searched in it."""

from __future__ import annotations

from torch import Tensor
from torch.autograd.graph import Node

VIEWS = {"T", "Transpose", "Permute", "View", "UnsafeView", "Expand", "Unsqueeze", "Squeeze", "ToCopy", "Alias"}

Edge = tuple[Node, int]  # a tensor of the forward pass: the node that made it, and which of its outputs


def inputs_of(node: Node) -> list[Edge]:
    """The tensors that a node was computed from."""
    return [(n, i) for n, i in node.next_functions if n is not None]


def parameter_of(node: Node) -> Tensor | None:
    """The leaf that a node stands for, if it does."""
    return getattr(node, "variable", None)


def operation_of(node: Node) -> str:
    """What a node did, such as "Addmm"."""
    return node.name().removesuffix("Backward").rstrip("0123456789").removesuffix("Backward")


def base_of(edge: Edge) -> Edge:
    """The parameter, if the tensor is only another view of it, such as a transposed weight."""
    base = edge
    while operation_of(base[0]) in VIEWS and inputs_of(base[0]):
        base = inputs_of(base[0])[0]
    return edge if parameter_of(base[0]) is None else base
