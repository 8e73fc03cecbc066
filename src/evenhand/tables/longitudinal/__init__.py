"""Rows that belong to things over time: histories with holes of cells and of whole visits (SHI-VAE)."""

from ._line import on_the_line
from ._longitudinal_vae import LongitudinalVAE

__all__ = ["LongitudinalVAE", "on_the_line"]
