"""Families of models of tables, one file or folder each, with an axis of replicas; they are given their blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

from ..._lazy import lazy_names
from ._by_name import ByName

if TYPE_CHECKING:
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
_CLASSES = {"TwoWay": "_two_way", "VAE": "_vae", "HIVAE": "_hivae", "VAEM": "_vaem"}  # in the order of their names
_HOMES = {
    **_CLASSES,
    "DirectWay": "_direct",
    "Family": "_family",
    "GAINS": "_layers",
    "Heads": "_family",
    "How": "_direct",
    "Latent": "_latent",
    "Sizes": "_family",
    "Stacked": "_layers",
    "StackedBatchNorm": "_layers",
    "StackedLinear": "_layers",
    "Statistics": "_family",
}

FAMILIES: Mapping[str, type[Family]] = ByName(__name__, dict(zip(get_args(FamilyName), _CLASSES, strict=True)))
"""The families by name. The names are known without torch; a family is imported when it is asked for."""

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
