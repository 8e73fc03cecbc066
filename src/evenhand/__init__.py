"""Impartial optimization: train multimodal and tabular VAEs so that no modality is neglected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .impartial import (
    IMTLG,
    MGDA,
    Block,
    CAGrad,
    Compose,
    GradDrop,
    GradNorm,
    Monitor,
    PCGrad,
    Sum,
    find_blocks,
    scale_gradient,
)

if TYPE_CHECKING:
    from .estimators import Modality, MultimodalVAE, TabularVAE
    from .schema import Schema

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
    "PCGrad",
    "Schema",
    "Sum",
    "TabularVAE",
    "find_blocks",
    "scale_gradient",
]


def __getattr__(name: str) -> Any:
    # Models need more packages than torch; who takes the block alone is spared them.
    extra = {"TabularVAE": "tables", "Schema": "tables", "MultimodalVAE": "multimodal", "Modality": "multimodal"}
    if name not in extra:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    try:
        if name == "Schema":
            from . import schema

            return schema.Schema
        from . import estimators

        return getattr(estimators, name)
    except ModuleNotFoundError as error:
        raise ImportError(f"{name} needs the package {error.name}: pip install 'evenhand[{extra[name]}]'") from error
