"""The impartiality block, the methods that settle conflicts in it, and ways to read and find them."""

from ._aligned_mtl import AlignedMTL
from ._block import Block
from ._cagrad import CAGrad
from ._compose import Compose
from ._find import FoundBlock, find_blocks
from ._from_torchjd import FromTorchJD
from ._graddrop import GradDrop
from ._gradnorm import GradNorm
from ._imtlg import IMTLG
from ._linear_block import LinearBlock
from ._method import Method, Mixing, Scaling
from ._mgda import MGDA
from ._monitor import Monitor
from ._nash_mtl import NashMTL
from ._parameter_block import ParameterBlock
from ._pcgrad import PCGrad
from ._per_replica import PerReplica
from ._random import Draws
from ._reading import Reading
from ._scale_gradient import scale_gradient
from ._sum import Sum
from ._upgrad import UPGrad

__all__ = [
    "IMTLG",
    "MGDA",
    "AlignedMTL",
    "Block",
    "CAGrad",
    "Compose",
    "Draws",
    "FoundBlock",
    "FromTorchJD",
    "GradDrop",
    "GradNorm",
    "LinearBlock",
    "Method",
    "Mixing",
    "Monitor",
    "NashMTL",
    "PCGrad",
    "ParameterBlock",
    "PerReplica",
    "Reading",
    "Scaling",
    "Sum",
    "UPGrad",
    "find_blocks",
    "scale_gradient",
]
