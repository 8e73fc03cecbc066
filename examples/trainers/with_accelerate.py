"""Several losses with Hugging Face Accelerate: the line with a + is all that changes.

    python examples/trainers/with_accelerate.py [--epochs 10]
"""

from __future__ import annotations

import torch
from _diamonds import TASKS, Network, Rows, batches, compare, losses_of
from accelerate import Accelerator

from evenhand import Block, Monitor, impartial_sum
from evenhand.impartial import Method

RECORD_EVERY = 10  # steps


def train(method: Method, rows: Rows, epochs: int) -> tuple[Network, Monitor]:
    accelerator = Accelerator(gradient_accumulation_steps=1, cpu=True)
    network = Network(rows[0].shape[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    model, optimizer, loader = accelerator.prepare(network, optimizer, batches(rows))
    block = Block(method)
    monitor = Monitor({"y": block}, heads=TASKS, log=accelerator.log)  # to the trackers of Accelerator(log_with=...)
    for epoch in range(epochs):
        for step, (x, targets) in enumerate(loader, start=epoch * len(loader) + 1):
            with accelerator.accumulate(model):
                y, predictions = model(x)
                losses = losses_of(predictions, targets)
                accelerator.backward(impartial_sum(losses, at=y, method=block))  # + sum(losses.values()) before
                optimizer.step()
                optimizer.zero_grad()
            if step % RECORD_EVERY == 0:
                monitor.record(step)
    return network, monitor


if __name__ == "__main__":
    compare(train)
