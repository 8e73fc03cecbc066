"""The base of all blocks: in the backward pass T gradients meet and a method settles their conflict."""

from __future__ import annotations

import itertools
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ._gradients import Gradients, Source
from ._method import Method
from ._reading import Reading


class NoReadingError(RuntimeError, AttributeError):
    """A block is read before its first backward pass; also an AttributeError, for ``hasattr(block, "last")``."""

    def __init__(self, block: str) -> None:
        super().__init__(f"No backward pass has gone through this {block} yet: read it after loss.backward().")


class BaseBlock(nn.Module, ABC):
    """A module in whose backward pass T gradients meet; the parent of the blocks.

    Args:
        method: The method that settles the conflict.
        preserve_norm: Whether the result is rescaled to the length of the plain sum of the gradients,
            so that the method decides on the direction alone; or a tensor with an answer for every
            problem along the leading axes.
    """

    def __init__(self, method: Method, *, preserve_norm: bool | Tensor = True) -> None:
        super().__init__()
        if not isinstance(method, Method):
            raise ValueError(f"method should be a method of evenhand.impartial such as IMTLG(). Found {method!r}.")
        self.method = method
        self.preserve_norm = preserve_norm
        self.head_names: tuple[str, ...] | None = None  # of the losses that `backward` gave it
        self._last: Reading | None = None
        self._register()

    @property
    def last(self) -> Reading:
        """Norms, cosines, weights and shares of the last backward pass through this block."""
        if self._last is None:
            raise NoReadingError(type(self).__name__)
        return self._last

    def __getattr__(self, name: str) -> Any:
        # Python asks here once more after the error of `last`, and torch would say that there is no such thing.
        if name == "last":
            raise NoReadingError(type(self).__name__)
        return super().__getattr__(name)

    def extra_repr(self) -> str:
        return f"preserve_norm={self.preserve_norm}"

    @abstractmethod
    def _source(self, tensors: Sequence[Tensor], likes: Sequence[Tensor], mask: Tensor | None) -> Source:
        """The gradients that meet, from the tensors of a backward pass."""

    @abstractmethod
    def _plain(self, tensors: Sequence[Tensor], likes: Sequence[Tensor]) -> list[Tensor]:
        """The sum of the gradients as ordinary back-propagation has it."""

    def _settle(self, tensors: list[Tensor], likes: list[Tensor], mask: Tensor | None) -> list[Tensor]:
        """The global step of Algorithm 1: f_psi on the T gradients, then their sum."""
        if _is_neutral():
            return self._plain(tensors, likes)
        source = self._source(tensors, likes, mask)
        if torch.is_anomaly_enabled():
            _check_finite(source, type(self).__name__, self.head_names)
        gram = source.gram()
        if self.method.is_identity:
            total, weights = self._plain(tensors, likes), gram.new_ones(gram.shape[:-1])
        else:
            total, weights = self._settled_total(source)
        # not by the slow way of a module, which looks whether it is a parameter
        self.__dict__["_last"] = Reading(gram, weights, source.scale, self.head_names)
        return total

    def _settled_total(self, source: Source) -> tuple[list[Tensor], Tensor]:
        settled = self.method.settle(Gradients(source))
        if isinstance(self.preserve_norm, Tensor):
            return settled.total(as_long_as=source, where=self.preserve_norm)
        return settled.total(as_long_as=source if self.preserve_norm else None)

    def _backward(self, tensors: list[Tensor], likes: list[Tensor], mask: Tensor | None) -> list[Tensor]:
        if torch.compiler.is_compiling():
            return torch.ops.evenhand.settle(self._ticket, tensors, likes, mask)
        with exact_products(tensors[0].device.type):
            return self._settle(tensors, likes, mask)

    # A compiled graph cannot hold a Python object, but it can hold the number of one.

    def _register(self) -> None:
        number = next(_tickets)
        # A tensor, because torch.compile would make a new graph for every other value of an integer; always on
        # the CPU (so not a buffer), where it can be read at any time.
        self._ticket = torch.tensor(number, device="cpu")
        _blocks[number] = self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._register()  # a copy is a block of its own


_tickets = itertools.count()
_blocks: weakref.WeakValueDictionary[int, BaseBlock] = weakref.WeakValueDictionary()


@torch.library.custom_op("evenhand::settle", mutates_args=())
def _settle_compiled(ticket: Tensor, tensors: list[Tensor], likes: list[Tensor], mask: Tensor | None) -> list[Tensor]:
    """One opaque call in a compiled graph: a method may draw random numbers and keep a state."""
    with exact_products(tensors[0].device.type):
        results = _blocks[int(ticket)]._settle(tensors, likes, mask)
    outputs = [torch.empty_like(like) for like in likes]
    if len(results) == 1 and results[0].stride() == outputs[0].stride():
        return results
    torch._foreach_copy_(outputs, results)  # an operator's results may not share memory
    return outputs


@_settle_compiled.register_fake
def _(ticket: Tensor, tensors: list[Tensor], likes: list[Tensor], mask: Tensor | None) -> list[Tensor]:
    return [torch.empty_like(like) for like in likes]


_neutral_threads: set[int] = set()


@contextmanager
def neutral_blocks() -> Iterator[None]:
    """Within it, and in this thread alone, all blocks add up their gradients and remember nothing."""
    # Otherwise backward passes on a GPU would run on threads of autograd, which know nothing of this one.
    with neutral_in_this_thread(), torch.autograd.set_multithreading_enabled(False):
        yield


@contextmanager
def neutral_in_this_thread() -> Iterator[None]:
    """The same for backward passes that stay in this thread, as those do that start inside of another."""
    if _is_neutral():
        yield
        return
    _neutral_threads.add(threading.get_ident())
    try:
        yield
    finally:
        _neutral_threads.discard(threading.get_ident())


def _is_neutral() -> bool:
    return bool(_neutral_threads) and threading.get_ident() in _neutral_threads


class exact_products:
    """Within it nothing is recorded and products of float32 numbers are exact: no autocast, no TF32."""

    # A class and not a generator: it is entered in every backward pass, and usually has nothing to do.

    def __init__(self, device: str) -> None:
        # the newer of torch's two switches; the older one may not be read once this one was set
        self._precision = torch.backends.cuda.matmul.fp32_precision if device == "cuda" else "ieee"
        self._contexts: list[Any] = [torch.no_grad()] if torch.is_grad_enabled() else []
        if torch.is_autocast_enabled(device):
            self._contexts.append(torch.autocast(device, enabled=False))

    def __enter__(self) -> None:
        for context in self._contexts:
            context.__enter__()
        if self._precision != "ieee":
            torch.backends.cuda.matmul.fp32_precision = "ieee"

    def __exit__(self, *error: object) -> None:
        if self._precision != "ieee":
            torch.backends.cuda.matmul.fp32_precision = self._precision
        for context in reversed(self._contexts):
            context.__exit__(*error)


def _check_finite(source: Source, block: str, names: Sequence[str] | None) -> None:
    """Under torch's anomaly detection, name the heads whose gradients are not finite."""
    broken = (~source.finite()).nonzero().flatten().tolist()
    if names is not None:
        broken = [repr(names[head]) for head in broken]
    if broken:
        raise FloatingPointError(
            f"The gradient of head {', '.join(map(str, broken))} at this {block} is NaN or infinite; "
            "look for its cause in the loss of that head."
        )
