"""Impartial optimization: train multimodal and tabular VAEs so that no modality is neglected."""

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
    "Sum",
    "find_blocks",
    "scale_gradient",
]
