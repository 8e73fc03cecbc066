"""Rows that belong to things over time: histories with holes of cells and of whole visits (SHI-VAE)."""

from ._line import on_the_line
from ._longitudinal_vae import LongitudinalVAE
from ._panel import find_schemas, read_panel, to_learn

__all__ = ["LongitudinalVAE", "find_schemas", "on_the_line", "read_panel", "to_learn"]
