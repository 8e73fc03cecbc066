"""Small models with heads, for tests of the blocks."""

import torch
from torch import nn

from evenhand.impartial import Block, LinearBlock, Method


class MultiHead(nn.Module):
    """An encoder and heads of very different size; with a block between them, or without."""

    def __init__(self, method: Method | None, *, heads: int = 3, width: int = 8, **options) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(5, width), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(width, 2) for _ in range(heads))
        self.block = None if method is None else Block(method, **options)

    def losses(self, x: torch.Tensor) -> list[torch.Tensor]:
        y = self.encoder(x)
        views = [y] * len(self.heads) if self.block is None else self.block(y, len(self.heads))
        return [
            10.0**scale * (head(view) - scale).square().mean()
            for scale, (head, view) in enumerate(zip(self.heads, views, strict=True))
        ]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum(self.losses(x))


class FusedMultiHead(nn.Module):
    """The same model with one linear layer for all heads and the fused block."""

    def __init__(self, like: MultiHead, method: Method, **options) -> None:
        super().__init__()
        self.encoder = like.encoder
        self.linear = nn.Linear(like.heads[0].in_features, 2 * len(like.heads))
        with torch.no_grad():
            self.linear.weight.copy_(torch.cat([h.weight for h in like.heads]))
            self.linear.bias.copy_(torch.cat([h.bias for h in like.heads]))
        self.block = LinearBlock(method, [t for t in range(len(like.heads)) for _ in range(2)], **options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        eta = self.block(self.encoder(x), self.linear.weight, self.linear.bias)
        return sum(10.0**t * (pair - t).square().mean() for t, pair in enumerate(eta.split(2, dim=-1)))


def gradient_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """The gradient of all parameters of the encoder, as one vector."""
    model.zero_grad()
    model(x).backward()
    return torch.cat([p.grad.flatten() for p in model.encoder.parameters()])
