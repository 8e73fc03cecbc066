"""A model with two losses, and the gradients that a loop of one's own gives it."""

import copy
from typing import Literal

import torch
from torch import Tensor, nn

from evenhand.impartial import IMTLG, Block, Sum


class Model(nn.Module):
    """A trunk and two heads, whose losses differ a hundredfold."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
        self.heads = nn.ModuleDict({name: nn.Linear(8, 2) for name in ("small", "large")})

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.trunk(x)
        return self.heads["small"](y), self.heads["large"](y)


def losses_of(small: Tensor, large: Tensor) -> dict[str, Tensor]:
    return {"small": (small - 1).square().mean(), "large": 100 * (large + 1).square().mean()}


def make() -> tuple[Model, Tensor]:
    """A model, and four micro-batches of six rows."""
    torch.manual_seed(0)
    return Model(), torch.randn(4, 6, 5)


def gradients_of_a_loop(
    model: Model, micro_batches: Tensor, *, impartial: bool = True, autocast: Literal["", "model", "losses"] = ""
) -> dict[str, Tensor]:
    """Gradients of one step with a block in the forward pass, each micro-batch settled on its own.

    With `autocast` the model is computed in mixed precision, and the losses in float32 or in mixed precision, too.
    """
    model, block = copy.deepcopy(model), Block(IMTLG() if impartial else Sum())
    for x in micro_batches:
        with torch.autocast("cpu", torch.bfloat16, enabled=bool(autocast)):
            views = block(model.trunk(x), 2)
            outputs = [head(view) for head, view in zip(model.heads.values(), views, strict=True)]
        if autocast == "model":
            outputs = [output.float() for output in outputs]
        losses = losses_of(*outputs)
        (sum(losses.values()) / len(micro_batches)).backward()
    return {name: p.grad for name, p in model.named_parameters()}


def step(before: dict[str, Tensor], after: nn.Module) -> dict[str, Tensor]:
    """What gradient descent with a learning rate of 1 took off the parameters: the gradient, whoever trained."""
    return {name: before[name] - p.detach() for name, p in after.named_parameters()}


def state(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float = 1e-10) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        longest = value.abs().max().item()
        assert longest > 0
        torch.testing.assert_close(found[name], value, rtol=0, atol=tolerance * longest)
