"""The impartiality block, the methods that settle conflicts in it, and ways to read and find them.

Nothing here imports torch until it is used: the shell completes names of methods without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._catalogue import CATALOGUE as CATALOGUE

if TYPE_CHECKING:
    from ._aligned_mtl import AlignedMTL as AlignedMTL
    from ._backward import backward as backward
    from ._block import Block as Block
    from ._cagrad import CAGrad as CAGrad
    from ._catalogue import PAPER_METHODS as PAPER_METHODS
    from ._catalogue import THOROUGH_METHODS as THOROUGH_METHODS
    from ._catalogue import Entry as Entry
    from ._catalogue import method_label as method_label
    from ._catalogue import method_of as method_of
    from ._catalogue import short_method_label as short_method_label
    from ._compose import Compose as Compose
    from ._dbmtl import DBMTL as DBMTL
    from ._fairgrad import FairGrad as FairGrad
    from ._famo import FAMO as FAMO
    from ._find import FoundBlock as FoundBlock
    from ._find import find_blocks as find_blocks
    from ._fixed_weights import FixedWeights as FixedWeights
    from ._from_torchjd import FromTorchJD as FromTorchJD
    from ._graddrop import GradDrop as GradDrop
    from ._gradnorm import GradNorm as GradNorm
    from ._impartial_sum import impartial_sum as impartial_sum
    from ._imtlg import IMTLG as IMTLG
    from ._lightning import LogReadings as LogReadings
    from ._linear_block import LinearBlock as LinearBlock
    from ._loss_weighting import LossWeighting as LossWeighting
    from ._method import Method as Method
    from ._method import Mixing as Mixing
    from ._method import Scaling as Scaling
    from ._mgda import MGDA as MGDA
    from ._mmpareto import MMPareto as MMPareto
    from ._monitor import Monitor as Monitor
    from ._nash_mtl import NashMTL as NashMTL
    from ._output import Output as Output
    from ._parameter_block import ParameterBlock as ParameterBlock
    from ._pcgrad import PCGrad as PCGrad
    from ._per_replica import PerReplica as PerReplica
    from ._random import Draws as Draws
    from ._random import uniform as uniform
    from ._random_weighting import RandomWeighting as RandomWeighting
    from ._reading import Reading as Reading
    from ._scale_gradient import scale_gradient as scale_gradient
    from ._sum import Sum as Sum
    from ._uncertainty_weighting import UncertaintyWeighting as UncertaintyWeighting
    from ._upgrad import UPGrad as UPGrad

# Where the names above are; the catalogue knows where methods are.
_MODULES = {entry.class_name: entry.module for entry in CATALOGUE.values()} | {
    "Block": "_block",
    "Compose": "_compose",
    "Draws": "_random",
    "Entry": "_catalogue",
    "FAMO": "_famo",
    "FixedWeights": "_fixed_weights",
    "FoundBlock": "_find",
    "FromTorchJD": "_from_torchjd",
    "LinearBlock": "_linear_block",
    "LogReadings": "_lightning",
    "LossWeighting": "_loss_weighting",
    "Method": "_method",
    "Mixing": "_method",
    "Monitor": "_monitor",
    "Output": "_output",
    "PAPER_METHODS": "_catalogue",
    "ParameterBlock": "_parameter_block",
    "PerReplica": "_per_replica",
    "RandomWeighting": "_random_weighting",
    "Reading": "_reading",
    "Scaling": "_method",
    "THOROUGH_METHODS": "_catalogue",
    "UncertaintyWeighting": "_uncertainty_weighting",
    "backward": "_backward",
    "find_blocks": "_find",
    "impartial_sum": "_impartial_sum",
    "method_label": "_catalogue",
    "method_of": "_catalogue",
    "scale_gradient": "_scale_gradient",
    "short_method_label": "_catalogue",
    "uniform": "_random",
}
__all__ = ["CATALOGUE", *_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
