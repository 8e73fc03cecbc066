"""What both engines need: checks, errors, devices, progress, whole files, files of tensors, captured steps."""

from ._captured import CapturedStep, pack, unpack
from ._checkpoint import read_checkpoint, write_checkpoint
from ._checks import check_choice, check_integer, check_number, is_integer, is_number
from ._device import find_device
from ._errors import ArgumentError
from ._latent_mixture import LatentMixture
from ._normal import log_normal
from ._progress import Tick, progress_bar
from ._tensor_file import read_tensors, write_tensors
from ._whole import whole_file

__all__ = [
    "ArgumentError",
    "CapturedStep",
    "LatentMixture",
    "Tick",
    "check_choice",
    "check_integer",
    "check_number",
    "find_device",
    "is_integer",
    "is_number",
    "log_normal",
    "pack",
    "progress_bar",
    "read_checkpoint",
    "read_tensors",
    "unpack",
    "whole_file",
    "write_checkpoint",
    "write_tensors",
]
