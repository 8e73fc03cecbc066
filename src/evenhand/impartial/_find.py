"""Where do the gradients of a model meet? An answer from its autograd graph alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node

from ._address import Address, address_of
from ._base_block import neutral_blocks
from ._block import dense, real_view
from ._graph import Edge, base_of, inputs_of, parameter_of
from ._losses import check_loss, named_losses
from ._naming import Naming
from ._reading import Reading

Route = frozenset[tuple[Node, int]]  # the nodes (and their outputs) through which a loss reaches a tensor
Ways = tuple[tuple[int, ...], ...]  # the losses that reach a tensor, those that arrive together as one head


@dataclass(frozen=True)
class FoundBlock:
    """A place where gradients of several losses meet: a tensor, or the parameters of a module.

    Attributes:
        place: Where it is, in words: the module whose output or parameters it is, where that is known.
        kind: Whether the gradients meet at features or at parameters.
        shapes: The shape of the tensor, or those of all parameters.
        heads: The names of the losses that arrive here together, one tuple for every head.
        reading: Norms, cosines and shares of the heads' gradients, as they are without a block.
        parameters: The parameters, if gradients meet at parameters.
        address: Where the features are in the graph, so that they can be found again in the next step.
        at: What to write for `at` of `backward`: ``model.decoder``, ``Output(model.encoder)``, or ``place`` for this
            very object, where no module is known to return the features.
    """

    place: str
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    heads: tuple[tuple[str, ...], ...]
    reading: Reading
    parameters: tuple[Tensor, ...] = field(default=(), repr=False, compare=False)
    address: Address | None = field(default=None, repr=False, compare=False)
    at: str = "place"

    @property
    def names(self) -> tuple[str, ...]:
        """One name for every head."""
        return tuple(" + ".join(names) for names in self.heads)

    @property
    def line(self) -> str:
        """The line to type in place of ``sum(losses).backward()``."""
        return f"backward(losses, at={self.at}, method=IMTLG())"

    @property
    def conflict(self) -> float:
        """The share of pairs of heads whose gradients point against each other."""
        cosines = self.reading.cosines
        pairs = torch.triu(torch.ones_like(cosines), diagonal=1).bool()
        return (cosines[pairs] < 0).double().mean().item()

    @property
    def spread(self) -> float:
        """How many times longer the longest gradient is than the shortest."""
        norms = self.reading.norms
        return (norms.max() / norms.min()).item()

    def __str__(self) -> str:
        shares = self.reading.shares
        least = int(shares.argmin())
        more = f" and {len(self.shapes) - 1} more" if len(self.shapes) > 1 else ""
        return (
            f"{self.place} ({self.kind} {list(self.shapes[0])}{more}): {len(self.heads)} heads, the longest gradient "
            f"{self.spread:.3g} times the shortest, {self.conflict:.0%} of pairs in conflict; {self.names[least]!r} "
            f"has {shares[least].item():.1%} of the gradient\n    {self.line}"
        )


def find_blocks(
    losses: Mapping[str, Tensor] | Mapping[str, Mapping[str, Tensor]] | Sequence[Tensor],
    model: nn.Module | None = None,
) -> list[FoundBlock]:
    """List the places where the gradients of several losses meet, with the conflict at each.

    The graph of the losses is walked and their gradients are computed there; neither the model nor the ``.grad`` of
    its parameters is touched, no hooks are set, and the graph can still be used for ``backward`` (your own hooks on
    the way do run, and so does ``retain_grad``). A place is listed where losses that arrive by different routes first
    meet; everything before it is common to all of them. These are the places for a `Block` (features) or a
    `ParameterBlock`, and for `backward`, which takes a place as its argument `at`, in later steps too.

    Args:
        losses: The losses, by name or in a list, one for every modality; or named groups of them. Only losses of one
            group are compared: in a mixture of experts, say, the terms log p(x_d | z_A) are one group and the terms
            log q_A'(z_A) another.
        model: The model, so that places can be named after its modules.

    Example:
        >>> encoder, heads = nn.Linear(3, 4), [nn.Linear(4, 1) for _ in range(2)]
        >>> y = encoder(torch.ones(5, 3)).tanh()
        >>> losses = {name: head(y).square().sum() for name, head in zip("ab", heads)}
        >>> [(block.kind, block.shapes, block.names) for block in find_blocks(losses)]
        [('features', ((5, 4),), ('a', 'b'))]
    """
    groups = _check_losses(losses)
    with neutral_blocks():
        return [block for group in groups for block in _find_in_group(group, Naming(model))]


def _check_losses(
    losses: Mapping[str, Tensor] | Mapping[str, Mapping[str, Tensor]] | Sequence[Tensor],
) -> list[dict[str, Tensor]]:
    if not isinstance(losses, Mapping):
        losses = named_losses(losses)
    groups = [dict(v) if isinstance(v, Mapping) else None for v in losses.values()]
    flat = [dict(losses)] if all(g is None for g in groups) else groups
    for group in flat:
        if group is None:
            raise ValueError("losses should be all tensors or all groups of tensors. Found a mixture of both.")
        for name, loss in group.items():
            if check_loss(name, loss).grad_fn is None:
                raise ValueError(
                    f"losses[{name!r}] should depend on parameters that require gradients. Found a constant."
                )
    return flat  # type: ignore[return-value]


def _find_in_group(losses: dict[str, Tensor], naming: Naming) -> Iterator[FoundBlock]:
    routes = _routes(list(losses.values()))
    heads = {edge: _heads(by_loss) for edge, by_loss in routes.items()}
    meeting = {edge: ways for edge, ways in heads.items() if len(ways) > 1}
    gradients = _gradients(list(losses.values()), list(meeting))
    queue = list(meeting)
    while queue:
        edge = queue.pop(0)
        rows = _head_gradients(gradients[edge], meeting[edge])
        if rows is None or not _disjoint(rows):
            continue
        # Every head has columns of its own, as after one linear layer for all heads: they meet not here but where
        # those columns were computed from.
        before = {e: _finer(meeting.get(e, ()), meeting[edge]) for e in map(base_of, inputs_of(edge[0]))}
        gradients |= _gradients(list(losses.values()), [e for e in before if e not in meeting])
        queue += [e for e, ways in before.items() if meeting.get(e) != ways]
        meeting |= before
    parameters: dict[Ways, list[tuple[Edge, Tensor]]] = defaultdict(list)
    for edge, ways in meeting.items():
        rows = _head_gradients(gradients[edge], ways)
        if rows is None or _disjoint(rows):
            continue
        if parameter_of(edge[0]) is not None:
            parameters[ways].append((edge, rows))
        else:
            place = _describe(losses, ways, [rows], naming.operation(edge[0]), "features")
            yield replace(place, address=address_of(edge, losses), at=naming.output(edge, routes))
    for ways, leaves in parameters.items():
        tensors = [p for (node, _), _ in leaves if (p := parameter_of(node)) is not None]
        place = _describe(losses, ways, [rows for _, rows in leaves], naming.common(tensors), "parameters")
        yield replace(place, parameters=tuple(tensors), at=naming.module(tensors))


def _routes(losses: list[Tensor]) -> dict[Edge, dict[int, set[tuple[Node, int]]]]:
    """For every tensor and every loss that reaches it: through which nodes it does."""
    routes: dict[Edge, dict[int, set[tuple[Node, int]]]] = defaultdict(lambda: defaultdict(set))
    for number, loss in enumerate(losses):
        assert loss.grad_fn is not None
        start = (loss.grad_fn, loss.output_nr)
        todo, visited = [start], {start}
        while todo:
            node, output = todo.pop()
            for edge in inputs_of(node):
                routes[edge][number].add((node, output))
                if edge not in visited:
                    visited.add(edge)
                    todo.append(edge)
    return routes


def _heads(routes: dict[int, set[tuple[Node, int]]]) -> Ways:
    """Losses that arrive by the same route belong to one head."""
    ways: dict[Route, list[int]] = defaultdict(list)
    for loss, route in routes.items():
        ways[frozenset(route)].append(loss)
    return tuple(sorted(tuple(sorted(way)) for way in ways.values()))


def _finer(some: Ways, others: Ways) -> Ways:
    """Losses that belong to one head by both; those that one of them does not know are heads as the other says."""
    head_of = [{loss: i for i, head in enumerate(ways) for loss in head} for ways in (some, others)]
    finer: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
    for loss in sorted(head_of[0].keys() | head_of[1].keys()):
        finer[tuple(heads.get(loss) for heads in head_of)].append(loss)
    return tuple(sorted(tuple(head) for head in finer.values()))


def _gradients(losses: list[Tensor], edges: list[Edge]) -> dict[Edge, list[Tensor | None]]:
    """The gradient of every loss at every edge."""
    if not edges:
        return {}
    targets = [GradientEdge(node, output) for node, output in edges]
    per_loss = [torch.autograd.grad(loss, targets, retain_graph=True, allow_unused=True) for loss in losses]
    return {edge: [g[i] for g in per_loss] for i, edge in enumerate(edges)}


def _head_gradients(gradients: list[Tensor | None], heads: Ways) -> Tensor | None:
    """The gradients of all heads, ``[T, *shape]``, or None if fewer than two of them are not zero."""
    gradients = [None if g is None else dense(g) for g in gradients]
    like = next((g for g in gradients if g is not None), None)
    if like is None:
        return None
    zero = torch.zeros_like(like)
    rows = []
    for head in heads:
        parts = [g for loss in head if (g := gradients[loss]) is not None]
        rows.append(torch.stack(parts).sum(0) if parts else zero)
    stacked = torch.stack(rows)
    alive = (stacked != 0).flatten(1).any(1)  # NaN is alive
    return stacked if alive.sum() > 1 else None


def _disjoint(rows: Tensor) -> bool:
    """Whether no two heads have a gradient at the same element."""
    return bool(((rows != 0).sum(0) <= 1).all())


def _describe(
    losses: dict[str, Tensor],
    heads: Ways,
    stacks: list[Tensor],
    place: str,
    kind: str,
) -> FoundBlock:
    flat = torch.cat([real_view(s).flatten(1).double() for s in stacks], dim=1)
    labels = list(losses)
    return FoundBlock(
        place=place,
        kind=kind,
        shapes=tuple(tuple(s.shape[1:]) for s in stacks),
        heads=tuple(tuple(labels[loss] for loss in head) for head in heads),
        reading=Reading(flat @ flat.T, torch.ones(len(heads), dtype=flat.dtype, device=flat.device)),
    )
