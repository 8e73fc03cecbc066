"""Where and how precisely a multimodal model is trained."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import nn

from ...common import check_choice, find_device

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Precision = Literal["32", "tf32", "bf16", "16"]
FABRICS_NAMES: dict[Precision, Any] = {"32": "32-true", "tf32": "32-true", "bf16": "bf16-mixed", "16": "16-mixed"}


def make_fabric(device: str | torch.device, precision: Precision, logger: Any) -> Fabric:
    """A Fabric with one device."""
    try:
        from lightning_fabric import Fabric
    except ImportError as error:
        raise ImportError("Training needs lightning-fabric: pip install 'evenhand[multimodal]'") from error
    loggers = [] if logger is None else [logger]
    found = find_device(device)
    devices = 1 if found.index is None else [found.index]
    return Fabric(accelerator=found.type, devices=devices, precision=FABRICS_NAMES[precision], loggers=loggers)


def amsgrad(learning_rate: float, fabric: Fabric) -> Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer]:
    """Makes the paper's optimiser from parameters."""
    # with a gradient scaler, clipping needs gradients that a fused optimiser would unscale by itself
    fused = getattr(fabric.strategy.precision, "scaler", None) is None
    capturable = fabric.device.type == "cuda"  # a captured step keeps its counter on the device

    def make(parameters: Iterator[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adam(parameters, lr=learning_rate, amsgrad=True, fused=fused, capturable=capturable)

    return make


@contextmanager
def without_remarks(of_ours: bool) -> Iterator[None]:
    """Within it a Fabric of ours keeps its remarks about precision and devices to itself; warnings are heard."""

    def is_warning(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING

    log = _log_of_remarks() if of_ours else None
    if log is not None:
        log.addFilter(is_warning)
    try:
        yield
    finally:
        if log is not None:
            log.removeFilter(is_warning)


def _log_of_remarks() -> logging.Logger | None:
    """Where Fabric writes them: its own log, or that of PyTorch Lightning once that is imported."""
    try:
        import lightning_fabric  # noqa: F401  (it says where)
        from lightning_utilities.core import rank_zero
    except ImportError:
        return None
    return rank_zero.log


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Within it float32 products on a GPU may be rounded to TF32, if that is wanted."""
    check_choice("precision", precision, get_args(Precision))
    switches: list[Any] = [torch.backends.cuda.matmul, torch.backends.cudnn.conv]  # type: ignore[attr-defined]
    before = [switch.fp32_precision for switch in switches]
    try:
        for switch in switches if precision == "tf32" else ():
            switch.fp32_precision = "tf32"
        yield
    finally:
        for switch, value in zip(switches, before, strict=True):
            if switch.fp32_precision != value:
                switch.fp32_precision = value
