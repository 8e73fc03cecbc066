"""The model with its blocks, and the loop that trains it."""

from ._accelerator import amsgrad, make_fabric, products_in
from ._impartial_mixture import ImpartialMixture
from ._loop import Loop, Step

__all__ = ["ImpartialMixture", "Loop", "Step", "amsgrad", "make_fabric", "products_in"]
