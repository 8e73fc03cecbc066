"""Several losses in a loop of one's own: the lines with a + are all that changes.

The network and its five losses are in `_diamonds.py`.

    python examples/trainers/plain_loop.py [--epochs 10]
"""

from __future__ import annotations

import torch
from _diamonds import Network, Rows, batches, compare, losses_of

from evenhand import Block, Monitor, Output, impartial_sum
from evenhand.impartial import Method


def train(method: Method, rows: Rows, epochs: int, learning_rate: float) -> tuple[Network, Monitor]:
    network = Network(rows[0].shape[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    trunk, block = Output(network.trunk), Block(method)  # + before training
    monitor = Monitor({"trunk": block})  # + if you want to see it
    loader = batches(rows)
    for epoch in range(epochs):
        for step, (x, targets) in enumerate(loader, start=epoch * len(loader) + 1):
            losses = losses_of(network(x), targets)
            optimizer.zero_grad()
            impartial_sum(losses, at=trunk, method=block).backward()  # + sum(losses.values()).backward() before
            optimizer.step()
            if step % 10 == 0:
                monitor.record(step)
    return network, monitor


if __name__ == "__main__":
    compare(train)
