"""Many runs at once: rows on the device, random numbers by seed, stacks of replicas."""

from ._best import Best
from ._preparation import Preparation
from ._rows import Rows
from ._stack import Run, Stack, check_objective

__all__ = [
    "Best",
    "Preparation",
    "Rows",
    "Run",
    "Stack",
    "check_objective",
]
