"""Several losses in a loop of one's own: the line with a + is all that changes.

    python examples/trainers/plain_loop.py [--epochs 10]
"""

from __future__ import annotations

import torch
from _diamonds import TASKS, Network, Rows, batches, compare, losses_of

from evenhand import Block, Monitor, impartial_sum
from evenhand.impartial import Method

RECORD_EVERY = 10  # steps


def train(method: Method, rows: Rows, epochs: int) -> tuple[Network, Monitor]:
    network = Network(rows[0].shape[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    block = Block(method)
    monitor = Monitor({"y": block}, heads=TASKS)
    loader = batches(rows)
    for epoch in range(epochs):
        for step, (x, targets) in enumerate(loader, start=epoch * len(loader) + 1):
            y, predictions = network(x)
            losses = losses_of(predictions, targets)
            optimizer.zero_grad()
            impartial_sum(losses, at=y, method=block).backward()  # + sum(losses.values()).backward() before
            optimizer.step()
            if step % RECORD_EVERY == 0:
                monitor.record(step)
    return network, monitor


if __name__ == "__main__":
    compare(train)
