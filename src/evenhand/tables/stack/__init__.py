"""Many runs at once: rows on the device, random numbers by seed, stacks of replicas."""

from ._best import Best
from ._noise import Noise
from ._preparation import Preparation, limits_of
from ._rows import Rows
from ._stack import Run, Stack, check_objective

__all__ = ["Best", "Noise", "Preparation", "Rows", "Run", "Stack", "check_objective", "limits_of"]
