"""The output of a module as a place: remembered while the model runs, because nobody else can reach it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch._compile import _disable_dynamo


class Output:
    """The latest output of a module, as a place for `backward` in a model that cannot be edited.

    Made once, before training: a forward hook remembers what the module returns whenever gradients are recorded.
    `backward` takes it, and then nothing is kept until the module is called again. If the module is called several
    times before that, the last call counts. Inside of a model that `torch.compile` compiles as a whole, the hook
    breaks the graph behind the module.

    Args:
        module: A module that returns a tensor.

    Example:
        >>> import torch
        >>> from evenhand import IMTLG, Output, backward
        >>> model = nn.ModuleDict({"trunk": nn.Linear(3, 4), "a": nn.Linear(4, 1), "b": nn.Linear(4, 1)})
        >>> trunk = Output(model["trunk"])
        >>> y = model["trunk"](torch.ones(5, 3))
        >>> losses = {name: model[name](y).square().mean() for name in "ab"}
        >>> reading = backward(losses, at=trunk, method=IMTLG())
        >>> trunk.close()
    """

    def __init__(self, module: nn.Module) -> None:
        if not isinstance(module, nn.Module):
            raise ValueError(f"module should be a torch.nn.Module. Found {type(module).__name__}.")
        self._tensor: Tensor | None = None
        self._version = 0
        self._handle = module.register_forward_hook(self._remember)
        self._kind = type(module).__name__

    @_disable_dynamo  # a compiled module would make a constant of what it remembers
    def _remember(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if not isinstance(output, Tensor):
            raise ValueError(
                f"module should return a tensor to be a place for backward(). Found that {self._kind} returns "
                f"{type(output).__name__}; take a part of it that returns a tensor, or give backward() the tensor."
            )
        if not torch.is_grad_enabled() or torch._C._current_graph_task_id() != -1:
            return  # a checkpoint that computes once more, in a backward pass
        self._tensor, self._version = output, output._version

    def take(self) -> Tensor:
        """The latest output; it is not kept any longer."""
        if self._tensor is None:
            raise ValueError(
                "at should be the Output of a module that was called since its last use. Found that "
                f"{self._kind} was not: make the Output before the model is called, call the model with gradients "
                "recorded, then backward() once."
            )
        tensor, self._tensor = self._tensor, None
        if not tensor.requires_grad:
            raise ValueError(
                f"at should be the Output of a module that learns, or behind which something does. Found that what "
                f"{self._kind} returns requires no gradients. If it is frozen, there is nothing to settle: add the "
                "losses up."
            )
        if tensor._version != self._version:
            raise ValueError(
                f"at should be an Output that stays as it is. Found that what {self._kind} returned was changed in "
                "place later: set inplace=False in what follows it, or take the Output of that."
            )
        return tensor

    def close(self) -> None:
        """Remove the hook; the module is as it was before."""
        self._handle.remove()
        self._tensor = None

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Output({self._kind})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tensor": None}  # a copy of the model has not been called
