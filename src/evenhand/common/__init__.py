"""What both engines need: checks, errors, devices, progress, whole, locked and tensor files, captured steps, rates.

Errors and checks need no torch, and the rest is imported when it is used: the shell refuses arguments without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names
from ._checks import check_choice, check_flag, check_integer, check_number, checked_seed, is_integer, is_number
from ._errors import ArgumentError
from ._lock import locked_file
from ._rate import RATE_TOLERANCE, check_kl_weight, missed_rate, misses, wanted_rate
from ._whole import whole_file

if TYPE_CHECKING:
    from ._captured import CapturedStep, pack, unpack
    from ._checkpoint import read_checkpoint, write_checkpoint
    from ._device import find_device
    from ._heartbeat import Heartbeat
    from ._latent_mixture import LatentMixture
    from ._normal import log_normal, normal_divergence
    from ._progress import Tick, progress_bar
    from ._rate_control import RateControl
    from ._seeded import seeded
    from ._tensor_file import check_format, read_tensors, write_tensors

__all__ = [
    "RATE_TOLERANCE",
    "ArgumentError",
    "CapturedStep",
    "Heartbeat",
    "LatentMixture",
    "RateControl",
    "Tick",
    "check_choice",
    "check_flag",
    "check_format",
    "check_integer",
    "check_kl_weight",
    "check_number",
    "checked_seed",
    "find_device",
    "is_integer",
    "is_number",
    "locked_file",
    "log_normal",
    "missed_rate",
    "misses",
    "normal_divergence",
    "pack",
    "progress_bar",
    "read_checkpoint",
    "read_tensors",
    "seeded",
    "unpack",
    "wanted_rate",
    "whole_file",
    "write_checkpoint",
    "write_tensors",
]

_HOMES = {
    "CapturedStep": "_captured",
    "Heartbeat": "_heartbeat",
    "LatentMixture": "_latent_mixture",
    "RateControl": "_rate_control",
    "Tick": "_progress",
    "check_format": "_tensor_file",
    "find_device": "_device",
    "log_normal": "_normal",
    "normal_divergence": "_normal",
    "pack": "_captured",
    "progress_bar": "_progress",
    "read_checkpoint": "_checkpoint",
    "read_tensors": "_tensor_file",
    "seeded": "_seeded",
    "unpack": "_captured",
    "write_checkpoint": "_checkpoint",
    "write_tensors": "_tensor_file",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
