"""What a linear classifier can read from features that no longer change: one for every seed and contender at once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ._networks import Linear, Stack, cross_entropy

EPOCHS, BATCH, LR = 10, 500, 0.01


def probed(features: Mapping[str, Tensor], labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Accuracies ``[S, C]`` on every part but "train", from features ``[S, C, N, n]`` and labels ``[N]`` of all."""
    mean, scale = features["train"].mean(2, keepdim=True), features["train"].std(2, keepdim=True) + 1e-3
    probe = _fitted((features["train"] - mean) / scale, labels["train"])
    with torch.no_grad():
        guesses = {part: probe((x - mean) / scale).argmax(-1) for part, x in features.items() if part != "train"}
    return {part: (guess == labels[part]).float().mean(-1) for part, guess in guesses.items()}


def _fitted(features: Tensor, labels: Tensor) -> Linear:
    seeds, contenders, n, size = features.shape
    probe = Linear(Stack([0] * seeds, contenders), size, 10).to(features.device)
    optimizer = torch.optim.Adam(probe.parameters(), lr=LR)
    for epoch in range(EPOCHS):
        order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).to(features.device)
        for rows in order.split(BATCH):
            optimizer.zero_grad()
            cross_entropy(probe(features[:, :, rows]), labels[rows].expand(seeds, -1)).sum().backward()
            optimizer.step()
    return probe
