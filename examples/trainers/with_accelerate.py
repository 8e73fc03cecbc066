"""Several losses with Hugging Face Accelerate: the lines with a + are all that changes.

The network and its five losses are in `_diamonds.py`.

    python examples/trainers/with_accelerate.py [--epochs 10]
"""

from __future__ import annotations

import torch
from _diamonds import Network, Rows, batches, compare, losses_of
from accelerate import Accelerator

from evenhand import Block, Monitor, Output, impartial_sum
from evenhand.impartial import Method


def train(method: Method, rows: Rows, epochs: int, learning_rate: float) -> tuple[Network, Monitor]:
    accelerator = Accelerator(cpu=True)
    network = Network(rows[0].shape[1])
    trunk, block = Output(network.trunk), Block(method)  # + before training
    monitor = Monitor({"trunk": block}, log=accelerator.log)  # + to the trackers of Accelerator(log_with=...)
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    model, optimizer, loader = accelerator.prepare(network, optimizer, batches(rows))
    for epoch in range(epochs):
        for step, (x, targets) in enumerate(loader, start=epoch * len(loader) + 1):
            with accelerator.accumulate(model):
                losses = losses_of(model(x), targets)
                accelerator.backward(impartial_sum(losses, at=trunk, method=block))  # + sum(losses.values()) before
                optimizer.step()
                optimizer.zero_grad()
            if step % 10 == 0:
                monitor.record(step)
    return network, monitor


if __name__ == "__main__":
    compare(train)
