"""The impartiality block whose input is the parameters of a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ._base_block import BaseBlock
from ._block import check_number, dense
from ._distributed import processes, sum_over_ranks
from ._gradients import PARTS, Matrix, Source, compute_dtype
from ._guards import check_fresh, forbid_double_backward, records
from ._method import Method


class ParameterBlock(BaseBlock):
    """The impartiality block for a module that several heads use: its input is the parameters.

    `block(n)` gives n callables, each of them the module with the same parameters. After ``backward`` the
    impartial sum of the n gradients is in the parameters' ``.grad``. This is what the paper does to
    decoders that must serve the latent samples of every expert (decoder expert-impartiality).

    The module is not copied and stays as it was: it belongs to the model that holds it, so the block does
    not register it, and its buffers (BatchNorm's statistics) are updated by each of the n calls.

    Args:
        module: Any module.
        method: The method that settles the conflict among its n uses.
        preserve_norm: Whether the sum is rescaled to the length of the plain sum.

    Example:
        >>> from evenhand.impartial import MGDA, ParameterBlock
        >>> decoder = torch.nn.Linear(2, 1)
        >>> first, second = ParameterBlock(decoder, MGDA())(2)
        >>> (first(torch.randn(4, 2)) - second(torch.randn(4, 2))).square().sum().backward()
        >>> decoder.weight.grad.shape
        torch.Size([1, 2])
    """

    def __init__(self, module: nn.Module, method: Method, *, preserve_norm: bool = True) -> None:
        super().__init__(method, preserve_norm=preserve_norm)
        if not isinstance(module, nn.Module):
            raise ValueError(f"module should be a torch.nn.Module. Found {module!r}.")
        self._shared = (module,)  # in a tuple, so that it is not registered a second time

    def forward(self, n: int) -> list[Callable[..., Any]]:
        """The module n times, as callables that all use the same parameters."""
        n = check_number(n)
        self.method.check_heads(n)
        (module,) = self._shared
        check_whole(module)
        names = trained(module)
        if not records(*names, training=self.training):
            return [module] * n
        real = [torch.view_as_real(p) if p.is_complex() else p for p in names]
        aliases = _Aliases.apply(real[0].new_empty(0), n, self, *real)
        return [_View(module, _by_name(names, aliases[head::n])) for head in range(n)]

    def _source(self, tensors: Sequence[Tensor], likes: Sequence[Tensor], mask: Tensor | None) -> Source:
        return Parameters(tensors, likes)

    def _plain(self, tensors: Sequence[Tensor], likes: Sequence[Tensor]) -> list[Tensor]:
        n = len(tensors) // len(likes)
        return [torch.stack(list(tensors[i : i + n])).sum(0) for i in range(0, len(tensors), n)]

    def _meet(self, parameters: Sequence[Tensor], uses: Sequence[Sequence[Tensor | None]]) -> list[Tensor | None]:
        """The impartial sum of the gradients of n uses, for every parameter that one of them reaches.

        Args:
            parameters: The parameters, all real.
            uses: For every parameter its n gradients, None for a use that does not reach it.
        """
        reached = [any(g is not None for g in use) for use in uses]
        pairs = [(p, use) for p, use, r in zip(parameters, uses, reached, strict=True) if r]
        if not pairs:
            return [None] * len(parameters)
        # a use that did not reach a parameter has a zero gradient there
        gradients = [torch.zeros_like(p) if g is None else dense(g) for p, use in pairs for g in use]
        totals = iter(self._backward(gradients, [p for p, _ in pairs], None))
        return [next(totals) if r else None for r in reached]


class _View:
    """A module that is called with aliases of its own parameters."""

    def __init__(self, module: nn.Module, aliases: dict[str, Tensor]) -> None:
        self._module = module
        self._aliases = aliases

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return functional_call(self._module, self._aliases, args, kwargs, tie_weights=False)


def trained(module: nn.Module) -> dict[Tensor, list[str]]:
    """The parameters that are trained, each with its names: one for every module that holds it.

    A module that stands in two places has one name; functional_call would take its second place for another module.
    """
    names: dict[Tensor, list[str]] = {}
    for path, part in module.named_modules():
        for name, p in part.named_parameters(recurse=False, remove_duplicate=False):
            if p.requires_grad:
                names.setdefault(p, []).append(f"{path}.{name}" if path else name)
    return names


def _by_name(names: dict[Tensor, list[str]], aliases: Sequence[Tensor]) -> dict[str, Tensor]:
    pairs = zip(names.items(), aliases, strict=True)
    return {
        name: torch.view_as_complex(a) if p.is_complex() else a for (p, all_names), a in pairs for name in all_names
    }


def check_whole(module: nn.Module) -> None:
    """FSDP puts its own parameters in place of a module's before every call, and so in place of aliases."""
    sharded = [name for name, part in module.named_modules() if _is_sharded(part)]
    if sharded:
        raise ValueError(
            f"module should not be sharded by itself. Found FSDP at {sharded[0] or 'the module itself'!r}, which "
            "would replace the block's aliases by parameters of its own and leave out the block. Shard a module that "
            "contains it and calls the block in its own forward(), and leave this module and its parts whole."
        )


def _is_sharded(module: nn.Module) -> bool:
    # by name: importing torch.distributed.fsdp takes a second, and most have no use for it
    return any(kind.__name__ in ("FSDPModule", "FullyShardedDataParallel") for kind in type(module).__mro__)


class _Aliases(torch.autograd.Function):
    """n aliases of every parameter forward, the impartial sum of their gradients backward."""

    @staticmethod
    def forward(ctx: Any, sentinel: Tensor, n: int, block: ParameterBlock, *parameters: Tensor) -> tuple[Tensor, ...]:
        ctx.block, ctx.n, ctx.parameters = block, n, parameters
        ctx.save_for_backward(sentinel)
        ctx.set_materialize_grads(False)
        return tuple(p.view_as(p) for p in parameters for _ in range(n))

    @staticmethod
    def backward(ctx: Any, *incoming: Tensor | None) -> Any:
        check_fresh(ctx)
        uses = [incoming[i : i + ctx.n] for i in range(0, len(incoming), ctx.n)]
        results = ctx.block._meet(ctx.parameters, uses)
        return None, None, None, *forbid_double_backward(results, [g for g in incoming if g is not None])


class Parameters(Matrix):
    """Gradients of several tensors, T for each, as one matrix: every head's gradients, concatenated.

    Every process has gradients of the same parameters, so they are averaged over the processes first.
    """

    def __init__(self, gradients: Sequence[Tensor], parameters: Sequence[Tensor]) -> None:
        self._parameters = parameters
        self._orders = [_memory_order(p) for p in parameters]
        heads = len(gradients) // len(parameters)
        # a few zeros make rows that can be cut into parts; see `products`
        zeros = gradients[0].new_zeros(-sum(p.numel() for p in parameters) % PARTS)
        flat = [self._flat(gradients[head::heads], zeros) for head in range(heads)]
        rows = torch.cat([part for row in flat for part in row]).view(heads, -1)
        super().__init__(_mean_over_ranks(rows.to(compute_dtype(rows))))
        self.together = processes() > 1

    def restore(self, vector: Tensor) -> list[Tensor]:
        results, start = [], 0
        for p, order in zip(self._parameters, self._orders, strict=True):
            part = vector[start : start + p.numel()].view([p.shape[axis] for axis in order])
            back = sorted(range(p.ndim), key=order.__getitem__)
            results.append(part.permute(back).to(p.dtype))
            start += p.numel()
        return results

    def _flat(self, gradients: Sequence[Tensor], zeros: Tensor) -> list[Tensor]:
        pairs = zip(gradients, self._orders, strict=True)
        return [*(g.permute(order).reshape(-1) for g, order in pairs), zeros]


def _memory_order(parameter: Tensor) -> list[int]:
    """The axes of a parameter as they follow each other in memory: gradients then need not be copied."""
    strides = parameter.stride()
    return sorted(range(parameter.ndim), key=lambda axis: -strides[axis])


def _mean_over_ranks(tensor: Tensor) -> Tensor:
    return sum_over_ranks(tensor) / processes() if processes() > 1 else tensor
