"""What a block refuses, with the way out, where torch would leave it out without a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

TRANSFORMED = (
    "An impartiality block cannot be used in forward-mode differentiation or inside torch.func.grad, vmap or jvp: "
    "its backward pass is a decision of a method, not the derivative of a function. Use loss.backward(); where the "
    "derivatives of the plain losses are wanted, give every head y itself instead of a view from the block."
)
RECORDED = (
    "torch.export, torch.onnx and torch.jit.trace keep the forward pass alone: the block would be left out, and "
    "gradients of the exported program would be the plain ones. Export for inference, after model.eval() or under "
    "torch.no_grad(); train the model itself, with torch.compile where it should be fast."
)


def records(*inputs: Tensor | None, training: bool) -> bool:
    """Whether a backward pass is to come back through these inputs; raises an error if it could not.

    A program that is exported from a model in `eval` mode is the plain network: nothing is to come back.
    """
    needed = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in inputs)
    if is_exported():
        if needed and training:
            raise RuntimeError(RECORDED)
        return False
    if torch.compiler.is_compiling():
        return needed
    _check_not_transformed(*inputs)
    return needed


def is_exported() -> bool:
    """Whether torch records the operations of this forward pass as a program of their own."""
    if torch.compiler.is_compiling():
        return torch.compiler._is_exporting_flag  # is_exporting() is True in all that torch 2.11 compiles
    return torch._C._get_tracing_state() is not None


def check_plain_autograd(*inputs: Tensor) -> None:
    """Raise an error where there is no graph of autograd that a settlement could work on."""
    if is_exported():
        raise RuntimeError(RECORDED)
    _check_not_transformed(*inputs)


def _check_not_transformed(*inputs: Tensor | None) -> None:
    # two questions that cost nothing, before those that look at every tensor
    unusual = forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active()
    if unusual and any(_is_transformed(t) for t in inputs if t is not None):
        raise RuntimeError(TRANSFORMED)


def _is_transformed(tensor: Tensor) -> bool:
    """Whether somebody waits for a derivative of this tensor that a block cannot give."""
    if forward_ad.unpack_dual(tensor).tangent is not None:
        return True
    if not torch._C._are_functorch_transforms_active():
        return False
    kinds = {interpreter.key().name for interpreter in torch._C._functorch.get_interpreter_stack() or []}
    if "Jvp" in kinds:
        return True
    return torch.is_grad_enabled() and ("Grad" in kinds or _unwrapped(tensor).requires_grad)


def _unwrapped(tensor: Tensor) -> Tensor:
    """The tensor that a caller of vmap has."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


class _NoSecondDerivative(torch.autograd.Function):
    """Identity that raises an error when it is differentiated: what a method does has no derivative."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, *incoming: Tensor) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(
            "An impartiality block cannot be differentiated twice: its backward pass is a decision of "
            "a method, not the derivative of a function. Compute second derivatives without the block."
        )


def forbid_double_backward(results: list[Tensor | None], incoming: Sequence[Tensor]) -> list[Tensor | None]:
    """The results of a backward pass, made to raise an error if they are differentiated in turn."""
    if not (torch.is_grad_enabled() and any(t.requires_grad for t in incoming)):
        return results
    # Made from what came in, so that the way from a result back to y leads through the error.
    return [None if r is None else _NoSecondDerivative.apply(r, *incoming) for r in results]


STALE = (
    "A view from an earlier step was used again: its part of the graph has been freed. Call the block "
    "anew in every forward pass, and add the losses of all heads before one backward()."
)


def check_fresh(ctx: Any) -> tuple[Tensor, ...]:
    """What was saved for this backward pass, or an error that names the mistake."""
    try:
        return ctx.saved_tensors
    except RuntimeError as error:
        if "freed" not in str(error):
            raise
        raise RuntimeError(STALE) from error
