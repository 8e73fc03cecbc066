"""Training: rows on the device, random numbers by seed, stacks of replicas; and a loop for multimodal models."""

from ._best import Best
from ._device import find_device
from ._impartial_mixture import ImpartialMixture
from ._loop import Loop, Step
from ._noise import Noise
from ._progress import Tick, progress_bar
from ._rows import Rows
from ._stack import Run, Stack

__all__ = [
    "Best",
    "ImpartialMixture",
    "Loop",
    "Noise",
    "Rows",
    "Run",
    "Stack",
    "Step",
    "Tick",
    "find_device",
    "progress_bar",
]
