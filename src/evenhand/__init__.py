"""Impartial optimization: train multimodal and tabular VAEs so that no modality is neglected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import lazy_names
from ._version import __version__

if TYPE_CHECKING:
    from .impartial import (
        IMTLG,
        MGDA,
        Block,
        CAGrad,
        Compose,
        GradDrop,
        GradNorm,
        Monitor,
        Output,
        PCGrad,
        Sum,
        backward,
        find_blocks,
        impartial_sum,
        scale_gradient,
    )
    from .modalities import Modality, MultimodalVAE
    from .tables import Schema, TabularVAE

__all__ = [
    "IMTLG",
    "MGDA",
    "Block",
    "CAGrad",
    "Compose",
    "GradDrop",
    "GradNorm",
    "Modality",
    "Monitor",
    "MultimodalVAE",
    "Output",
    "PCGrad",
    "Schema",
    "Sum",
    "TabularVAE",
    "__version__",
    "backward",
    "find_blocks",
    "impartial_sum",
    "scale_gradient",
]

_HOMES = {
    "Modality": "modalities",
    "MultimodalVAE": "modalities",
    "Schema": "tables",
    "TabularVAE": "tables",
}
__getattr__, __dir__ = lazy_names(
    __name__, {name: _HOMES.get(name, "impartial") for name in __all__ if name != "__version__"}
)
