"""Many runs at once: rows on the device, random numbers by seed, stacks of replicas."""

from ._best import Best
from ._noise import Noise
from ._rows import Rows
from ._stack import Run, Stack

__all__ = ["Best", "Noise", "Rows", "Run", "Stack"]
