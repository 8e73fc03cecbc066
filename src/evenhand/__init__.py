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
    from .estimators import TabularVAE
    from .schema import Schema

__all__ = [
    "IMTLG",
    "MGDA",
    "Block",
    "CAGrad",
    "Compose",
    "GradDrop",
    "GradNorm",
    "Monitor",
    "PCGrad",
    "Schema",
    "Sum",
    "TabularVAE",
    "find_blocks",
    "scale_gradient",
]


def __getattr__(name: str) -> Any:
    # Tables need more packages than torch; who takes the block alone is spared them.
    try:
        if name == "TabularVAE":
            from .estimators import TabularVAE

            return TabularVAE
        if name == "Schema":
            from .schema import Schema

            return Schema
    except ModuleNotFoundError as error:
        raise ImportError(f"{name} needs the package {error.name}: pip install 'evenhand[tables]'") from error
    raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
