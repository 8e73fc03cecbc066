"""What both engines need: devices, progress, whole files, checkpoints, captured steps."""

from ._captured import CapturedStep, pack, unpack
from ._checkpoint import read_checkpoint, write_checkpoint
from ._device import find_device
from ._latent_mixture import LatentMixture
from ._normal import log_normal
from ._progress import Tick, progress_bar
from ._whole import whole_file

__all__ = [
    "CapturedStep",
    "LatentMixture",
    "Tick",
    "find_device",
    "log_normal",
    "pack",
    "progress_bar",
    "read_checkpoint",
    "unpack",
    "whole_file",
    "write_checkpoint",
]
