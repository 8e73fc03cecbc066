"""Several losses with Lightning: the lines with a + are all that changes.

The network and its five losses are in `_diamonds.py`.

    python examples/trainers/with_lightning.py [--epochs 10]
"""

from __future__ import annotations

import torch
from _diamonds import Network, Rows, batches, compare, losses_of
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor

from evenhand import Block, Monitor, Output, impartial_sum
from evenhand.impartial import LogReadings, Method


class Diamonds(LogReadings, LightningModule):  # + LogReadings: what the block reads goes to the trainer's loggers
    def __init__(self, n_inputs: int, method: Method, learning_rate: float) -> None:
        super().__init__()
        self.network = Network(n_inputs)
        self.learning_rate = learning_rate
        self.trunk, self.block = Output(self.network.trunk), Block(method)  # +
        self.monitor = Monitor({"trunk": self.block})  # + for LogReadings

    def training_step(self, batch: Rows, batch_idx: int) -> Tensor:
        x, targets = batch
        losses = losses_of(self.network(x), targets)
        return impartial_sum(losses, at=self.trunk, method=self.block)  # + sum(losses.values()) before

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.network.parameters(), lr=self.learning_rate)


def train(method: Method, rows: Rows, epochs: int, learning_rate: float) -> tuple[Network, Monitor]:
    module = Diamonds(rows[0].shape[1], method, learning_rate)
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = Trainer(max_epochs=epochs, accelerator="cpu", log_every_n_steps=10, logger=False, **quiet)
    trainer.fit(module, batches(rows))
    return module.network, module.monitor


if __name__ == "__main__":
    compare(train)
