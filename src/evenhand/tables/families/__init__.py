"""Families of models of tables, one file each, with an axis of replicas; they are given their blocks."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from ._family import Family, Heads, Sizes, Statistics
from ._hivae import HIVAE
from ._latent import Latent
from ._layers import GAINS, Stacked, StackedBatchNorm, StackedLinear
from ._vae import VAE

__all__ = [
    "FAMILIES",
    "GAINS",
    "HIVAE",
    "VAE",
    "Family",
    "FamilyName",
    "Heads",
    "Latent",
    "Sizes",
    "Stacked",
    "StackedBatchNorm",
    "StackedLinear",
    "Statistics",
]

FamilyName = Literal["vae", "hivae"]

FAMILIES: Mapping[str, type[Family]] = MappingProxyType({family.name: family for family in (VAE, HIVAE)})
"""The families by name."""
