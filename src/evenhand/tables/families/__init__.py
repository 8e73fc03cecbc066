"""Families of models of tables, one file each, with an axis of replicas; they are given their blocks."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from ._direct import DirectWay, How
from ._family import Family, Heads, Sizes, Statistics
from ._hivae import HIVAE
from ._latent import Latent
from ._layers import GAINS, Stacked, StackedBatchNorm, StackedLinear
from ._two_way import TwoWay
from ._vae import VAE

__all__ = [
    "FAMILIES",
    "GAINS",
    "HIVAE",
    "VAE",
    "DirectWay",
    "Family",
    "FamilyName",
    "Heads",
    "How",
    "Latent",
    "Sizes",
    "Stacked",
    "StackedBatchNorm",
    "StackedLinear",
    "Statistics",
    "TwoWay",
]

FamilyName = Literal["twoway", "vae", "hivae"]

FAMILIES: Mapping[str, type[Family]] = MappingProxyType({family.name: family for family in (TwoWay, VAE, HIVAE)})
"""The families by name."""
