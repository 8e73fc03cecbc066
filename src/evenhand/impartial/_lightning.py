"""Readings in the logs of Lightning, which is not imported: a mixin has the methods of what it is mixed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._monitor import Monitor

if TYPE_CHECKING:
    from torch.optim import Optimizer

    Base = Any
else:
    Base = object


class LogReadings(Base):
    """A mixin for a `LightningModule`: what its blocks read is logged beside its other numbers.

    Name it before `LightningModule`, and set ``self.monitor``. Every ``log_every_n_steps`` of the trainer, before the
    optimiser steps, the monitor records the last backward pass, and Lightning's ``log_dict`` gets `Monitor.latest`,
    for all loggers and callbacks of the trainer. With accumulation it is the last micro-batch that is read.

    Gradients are impartial without it, too: ``training_step`` returns `impartial_sum`, which is an ordinary loss. The
    mixin works with the packages ``lightning`` and ``pytorch_lightning``.

    Attributes:
        monitor: The monitor of the blocks; users set it.

    Example:
        >>> from torch import nn
        >>> from pytorch_lightning import LightningModule
        >>> from evenhand import IMTLG, Block, Monitor, impartial_sum
        >>> class Model(LogReadings, LightningModule):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.trunk, self.age, self.region = nn.Linear(8, 16), nn.Linear(16, 1), nn.Linear(16, 4)
        ...         self.block = Block(IMTLG())
        ...         self.monitor = Monitor({"y": self.block})
        ...
        ...     def training_step(self, batch, batch_idx):
        ...         y = self.trunk(batch["x"])
        ...         losses = {
        ...             "age": nn.functional.mse_loss(self.age(y), batch["age"]),
        ...             "region": nn.functional.cross_entropy(self.region(y), batch["region"]),
        ...         }
        ...         return impartial_sum(losses, at=y, method=self.block)
    """

    monitor: Monitor

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        names = [base.__name__ for base in cls.__mro__]
        if "LightningModule" in names[: names.index("LogReadings")]:  # whose hooks would hide those of the mixin
            raise TypeError(
                f"{cls.__name__} should name LogReadings before LightningModule: "
                f"class {cls.__name__}(LogReadings, LightningModule). Found the other order."
            )

    def on_fit_start(self) -> None:
        """Lightning calls it before training."""
        super().on_fit_start()
        monitor = getattr(self, "monitor", None)
        if not isinstance(monitor, Monitor):
            raise ValueError(
                f"monitor should be a Monitor, set in the constructor of {type(self).__name__}: "
                f'self.monitor = Monitor({{"y": self.block}}). Found {type(monitor).__name__}.'
            )

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Lightning calls it once a step, when all gradients of the step are there."""
        super().on_before_optimizer_step(optimizer)
        every = self.trainer.log_every_n_steps
        if every and (self.global_step + 1) % every == 0:  # steps whose numbers reach the loggers
            self.monitor.record(self.global_step)
            self.log_dict(self.monitor.latest())
