"""The model with its blocks, and the loop that trains it."""

from ._accelerator import Precision, amsgrad, make_fabric, products_in, without_remarks
from ._health import Health, runs_away, starves
from ._impartial_mixture import ImpartialMixture
from ._loop import Loop
from ._options import GOALS, Goal, Gradient, LocalStep, Options
from ._step import Step

__all__ = [
    "GOALS",
    "Goal",
    "Gradient",
    "Health",
    "ImpartialMixture",
    "LocalStep",
    "Loop",
    "Options",
    "Precision",
    "Step",
    "amsgrad",
    "make_fabric",
    "products_in",
    "runs_away",
    "starves",
    "without_remarks",
]
