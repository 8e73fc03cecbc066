"""A different method for every replica of a stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from . import _kernels
from ._gradients import Gradients, Index, Source
from ._method import Method
from ._random import Draws
from ._settle_kernel import KernelStep, Program
from ._sum import Sum

Work = tuple[Tensor | None, Tensor | None, Tensor | None]
Group = tuple[nn.Module, list[int]]  # a step, and the replicas that take it together
SUM = repr(Sum())


class PerReplica(Method):
    """R methods for gradients ``[R, T, n]``: replica r is settled by method r.

    Replicas that share a step of their chains, such as ``GradNorm() >> PCGrad()`` and ``GradNorm()``, take it
    together in one call. What a replica gets does not depend on which others share its stack; its random
    numbers come from `draws`.

    Args:
        methods: One for every replica. They serve as patterns: states are kept here.
        draws: Random numbers for all replicas, needed by random methods such as PCGrad and GradDrop.

    Example:
        >>> from evenhand.impartial import IMTLG, Sum
        >>> PerReplica([Sum(), IMTLG(), IMTLG()])(torch.randn(3, 4, 10)).shape
        torch.Size([3, 4, 10])
    """

    def __init__(self, methods: Sequence[Method], *, draws: Draws | None = None) -> None:
        super().__init__()
        for position, method in enumerate(methods):
            if not isinstance(method, Method):
                raise ValueError(f"methods[{position}] should be a method such as IMTLG(). Found {method!r}.")
            if any(step.uses_input for step in method.chain()[:-1]):
                raise ValueError(f"methods[{position}] should have GradDrop last in its chain. Found {method!r}.")
        self.names = [repr(method) for method in methods]
        self.draws = draws
        stages = zip(*_aligned([method.chain() or [Sum()] for method in methods]), strict=True)
        self.stages = nn.ModuleList(_Stage(_grouped(steps, draws), draws) for steps in stages)
        self.uses_input = any(method.uses_input for method in methods)
        self.learns = any(method.learns for method in methods)
        self.is_random = any(method.is_random for method in methods)
        self.is_identity = all(method.is_identity for method in methods)
        self._program: Program | None = None

    def settle(self, gradients: Gradients, /) -> Gradients:
        self._check_replicas(list(gradients.gram().shape[:-2]))
        if (program := self._one_launch(gradients)) is not None:
            numbers, last = None if self.draws is None else self.draws.numbers, self.stages[-1]
            with last.count_votes(gradients):  # type: ignore[operator]
                matrix = program.settle(gradients.gram(), numbers)
            return last.look(gradients.mix(matrix))  # type: ignore[operator]
        for stage in self.stages:
            gradients = stage.settle(gradients.unmasked())  # type: ignore[operator]
        return gradients

    def _one_launch(self, gradients: Gradients) -> Program | None:
        """All steps but those that look at the block's input as one kernel, if they all have their branch there."""
        gram = gradients.gram()
        if not _kernels.usable(gram) or gradients.dependent:
            return None
        stages = [stage.kernel_steps(gram) for stage in self.stages]  # type: ignore[operator]
        steps = [step for stage in stages for step, _ in stage]
        if any(step is None for step in steps):
            return None
        learning = [step for step in steps if step.steps is not None]
        if self._program is None or not self._program.fits(learning):
            self._program = Program(stages, len(self.names), gram)
        return self._program

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_program": None}  # it has addresses: a copy learns in memory of its own

    def _check_replicas(self, leading: list[int]) -> None:
        n, drawn = len(self.names), None if self.draws is None else self.draws.numbers
        if leading != [n]:
            raise ValueError(
                f"gradients should have one problem for each of {n} replicas. Found leading axes {leading}."
            )
        if drawn is not None and len(drawn) != n:
            raise ValueError(
                f"numbers of the Draws should have one row for each of {n} replicas. Found {len(drawn)}."
            )

    def check_heads(self, n: int, /) -> None:
        for stage in self.stages:
            for step in stage.steps:  # type: ignore[union-attr]
                step.check_heads(n)

    def keep(self, replicas: Sequence[int]) -> None:
        """Go on with some replicas only; they keep what they have learnt."""
        self.names = [self.names[r] for r in replicas]
        self._program = None
        for stage in self.stages:
            stage.keep(replicas)  # type: ignore[operator]

    def keep_replicas(self, replicas: Sequence[int], n: int, /) -> None:
        self.keep(replicas)

    # Which replicas take a step together depends on the replicas that the stack began with, and so do the names of
    # learnt states: the arrangement is part of the state.

    def get_extra_state(self) -> list[list[list[Any]]]:
        """For every stage its steps by name, and the replicas that take each."""
        return [[[repr(step), group] for step, group in stage] for stage in self._arrangement()]

    def set_extra_state(self, state: list[list[list[Any]]]) -> None:
        """Take over an arrangement of the same methods; what steps have learnt is loaded after this."""
        chains = [_chain(self._arrangement(), r) for r in range(len(self.names))]
        replicas = {r for stage in state for _, group in stage for r in group}
        if replicas != set(range(len(chains))) or any(
            _chain(state, r) != [repr(step) for step in chain] for r, chain in enumerate(chains)
        ):
            raise ValueError(
                f"The state should be of the methods {', '.join(self.names)}, in this order. Found others. Give "
                "PerReplica the methods that it had when the state was saved."
            )
        if state != self.get_extra_state():
            stages = (_Stage(groups, self.draws) for groups in _rearranged(chains, state))
            self.stages = nn.ModuleList(stages).train(self.training)
            self._program = None

    def _arrangement(self) -> list[list[Group]]:
        return [stage.groups() for stage in self.stages]  # type: ignore[operator]

    def extra_repr(self) -> str:
        return f"{len(self.names)} replicas"


class _Stage(nn.Module):
    """One step of every chain."""

    def __init__(self, groups: Sequence[Group], draws: Draws | None) -> None:
        super().__init__()
        self._draws = draws
        self.members = [list(group) for _, group in groups]
        self.steps = nn.ModuleList(deepcopy(step) for step, _ in groups)
        self._n = sum(map(len, self.members))
        self._streams: list[torch.cuda.Stream] = []
        self._connect()

    def groups(self) -> list[Group]:
        """Its steps, and the replicas that take each."""
        return [(step, list(group)) for step, group in zip(self.steps, self.members, strict=True)]

    def _connect(self) -> None:
        self._index = [_index(group) for group in self.members]
        for step, index in zip(self.steps, self._index, strict=True):
            if step.is_random and self._draws is not None:
                step.generator = self._draws.part(index)  # type: ignore[assignment]

    def kernel_steps(self, gram: Tensor) -> list[tuple[KernelStep | None, list[int]]]:
        """What the kernel has to know of every step; None for one that has no branch there."""
        return [(_kernel_step(step, gram[: len(group), 0]), group) for step, group in self.groups()]

    def settle(self, gradients: Gradients) -> Gradients:
        """Every step on the gradients of its replicas."""
        return self._settle(gradients, gradients.gram(), lambda step: not step.is_identity)

    @contextmanager
    def count_votes(self, gradients: Gradients) -> Iterator[None]:
        """On a GPU, let votes be counted beside what is done within it."""
        with _SideBySide(gradients.device, self._streams) as lanes:
            for lane, (_, index) in enumerate(self._wanted(gradients, lambda step: step.uses_input)):
                with lanes.lane(lane):
                    gradients.count_votes(index)
            yield

    def look(self, gradients: Gradients) -> Gradients:
        """Only the steps that look at the block's input."""
        return self._settle(gradients, None, lambda step: step.uses_input)

    def _settle(self, gradients: Gradients, gram: Tensor | None, wanted: Callable[[Any], bool]) -> Gradients:
        """Some of the steps; gram is that of the gradients, or None if the steps do not ask for it."""
        work = []
        with _SideBySide(gradients.device, self._streams) as lanes:
            for lane, (step, index) in enumerate(self._wanted(gradients, wanted)):
                with lanes.lane(lane):
                    part = _Part(gradients, gram, index)
                    settled = step.settle(Gradients(part))  # type: ignore[operator]
                    if settled._source is not part:
                        raise NotImplementedError(
                            f"{step!r} puts other gradients in place of the given ones, which only a method that "
                            "serves all replicas can do."
                        )
                    work.append((index, settled.work()))
        return self._assemble(gradients, work)

    def _wanted(self, gradients: Gradients, wanted: Callable[[Any], bool]) -> list[tuple[nn.Module, Index]]:
        """Some of the steps, each with the replicas that take it."""
        device = gradients.device
        self._index = [i.to(device) if isinstance(i, Tensor) else i for i in self._index]
        return [(step, i) for step, i in zip(self.steps, self._index, strict=True) if wanted(step)]

    def _assemble(self, gradients: Gradients, work: list[tuple[Index, Work]]) -> Gradients:
        """The whole with the work done on its parts; a part that no step has touched is left as it is."""
        scales = matrix = mask = None
        for index, (new_scales, new_matrix, new_mask) in work:
            if new_scales is not None:
                scales = new_scales.new_ones(self._n, new_scales.shape[-1]) if scales is None else scales
                scales[index] = new_scales
            if new_matrix is not None:
                matrix = _identities(self._n, new_matrix) if matrix is None else matrix
                matrix[index] = new_matrix
            if new_mask is not None:
                mask = new_mask.new_ones(self._n, *new_mask.shape[1:]) if mask is None else mask
                mask[index] = new_mask
        gradients = gradients if scales is None else gradients.scale(scales)
        gradients = gradients if matrix is None else gradients.mix(matrix)
        return gradients if mask is None else gradients.mask(mask)

    def keep(self, replicas: Sequence[int]) -> None:
        place = {old: new for new, old in enumerate(replicas)}
        steps, members = [], []
        for step, group in zip(self.steps, self.members, strict=True):
            # in the order of the new places, which is the order in which numbers are handed out
            kept = sorted((i for i, old in enumerate(group) if old in place), key=lambda i: place[group[i]])
            if kept:
                step.keep_replicas(kept, len(group))  # type: ignore[operator]
                steps.append(step)
                members.append([place[group[i]] for i in kept])
        self.steps, self.members, self._n = nn.ModuleList(steps), members, len(replicas)
        self._connect()


class _SideBySide:
    """On a GPU, groups of replicas are settled on streams of their own: their kernels are tiny and many."""

    def __init__(self, device: torch.device, streams: list[torch.cuda.Stream]) -> None:
        self._device, self._streams = device, streams
        self._used = 0

    def lane(self, number: int) -> AbstractContextManager[object]:
        if self._device.type != "cuda":
            return nullcontext()
        while len(self._streams) <= number:
            self._streams.append(torch.cuda.Stream(self._device))
        self._used = max(self._used, number + 1)
        self._streams[number].wait_stream(torch.cuda.current_stream(self._device))
        return torch.cuda.stream(self._streams[number])

    def __enter__(self) -> _SideBySide:
        return self

    def __exit__(self, *error: object) -> None:
        if self._device.type == "cuda":
            # not for the others: a graph must not wait for streams that it did not capture
            for stream in self._streams[: self._used]:
                torch.cuda.current_stream(self._device).wait_stream(stream)


class _Part(Source):
    """The gradients of some replicas, as far as methods ask for them."""

    def __init__(self, whole: Gradients, gram: Tensor | None, index: Index) -> None:
        self._whole, self._gram, self._index = whole, None if gram is None else gram[index], index
        self.size = whole.size

    def gram(self) -> Tensor:
        return self._whole.gram()[self._index] if self._gram is None else self._gram

    def votes(self) -> Tensor:
        return self._whole.votes_of(self._index)

    def combine(self, weights: Tensor) -> list[Tensor]:
        raise NotImplementedError("A part is settled, not summed.")

    def combine_features(self, multipliers: Tensor) -> Tensor:
        raise NotImplementedError("A part is settled, not summed.")

    def stacked(self) -> Tensor:
        return self._whole.stacked()[self._index]

    def restore(self, vector: Tensor) -> list[Tensor]:
        raise NotImplementedError("A part is settled, not summed.")


def _aligned(chains: list[list[Method]]) -> list[list[Method]]:
    """Chains of equal length, filled up with `Sum` so that equal steps stand side by side where they can.

    GradDrop is last in any case: after it the Gram matrix alone no longer describes the gradients.
    """
    depth = max(map(len, chains), default=0)
    last = {repr(chain[-1]) for chain in chains if len(chain) == depth}
    aligned = []
    for chain in chains:
        at_end = 1 if repr(chain[-1]) in last or chain[-1].uses_input else 0
        split = len(chain) - at_end
        aligned.append([*chain[:split], *[Sum()] * (depth - len(chain)), *chain[split:]])
    return aligned


def _chain(arrangement: Sequence[Sequence[Sequence[Any]]], replica: int) -> list[Any]:
    """The steps of one replica, by name or themselves, without those that do nothing."""
    return [step for stage in arrangement for step, group in stage if replica in group and str(step) != SUM]


def _rearranged(chains: list[list[nn.Module]], arrangement: list[list[list[Any]]]) -> list[list[Group]]:
    """The steps of chains, in an arrangement by name."""
    left = [iter(chain) for chain in chains]
    stages = []
    for stage in arrangement:
        steps = [[Sum()] if name == SUM else [next(left[r]) for r in group] for name, group in stage]
        stages.append([(alike[0], group) for alike, (_, group) in zip(steps, stage, strict=True)])
    return stages


def _grouped(steps: Sequence[Method], draws: Draws | None) -> list[Group]:
    """The distinct ones among the replicas' steps, and the replicas that take each."""
    members: list[list[int]] = []
    for replica, step in enumerate(steps):
        but = "generator" if step.is_random and draws is not None else ""  # they will draw from one and the same
        group = next((m for m in members if _same(steps[m[0]], step, but=but)), None)
        if group is None:
            members.append(group := [])
        group.append(replica)
    return [(steps[group[0]], group) for group in members]


def _same(a: object, b: object, *, but: str) -> bool:
    """Whether two steps do the same: equal in type and in all attributes but one."""
    if isinstance(a, nn.Module) and type(a) is type(b):
        a, b = vars(a), vars(b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(key == but or _same(a[key], b[key], but=but) for key in a)
    if isinstance(a, list | tuple) and type(a) is type(b) and len(a) == len(b):
        return all(_same(x, y, but=but) for x, y in zip(a, b, strict=True))
    # for anything else it is not known what equality means
    return a is b or (isinstance(a, bool | int | float | str | set) and type(a) is type(b) and a == b)


def _index(members: list[int]) -> Index:
    """Neighbours are a slice, which copies nothing."""
    if members == list(range(members[0], members[0] + len(members))):
        return slice(members[0], members[0] + len(members))
    return torch.tensor(members)


def _identities(n: int, like: Tensor) -> Tensor:
    return torch.eye(like.shape[-1], dtype=like.dtype, device=like.device).repeat(n, 1, 1)


def _kernel_step(step: nn.Module, like: Tensor) -> KernelStep | None:
    if step.is_identity or step.uses_input:
        return KernelStep(0)
    # one of its own: a subclass may compute something else than its parent
    return step.kernel_step(like) if "kernel_step" in vars(type(step)) else None  # type: ignore[operator]
