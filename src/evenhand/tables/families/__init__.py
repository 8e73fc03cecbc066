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
from ._vaem import VAEM

__all__ = [
    "FAMILIES",
    "GAINS",
    "HIVAE",
    "VAE",
    "VAEM",
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

FamilyName = Literal["twoway", "vae", "hivae", "vaem"]

FAMILIES: Mapping[str, type[Family]] = MappingProxyType({f.name: f for f in (TwoWay, VAE, HIVAE, VAEM)})
"""The families by name."""
