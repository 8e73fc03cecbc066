"""Impartial optimization: train multimodal and tabular VAEs so that no modality is neglected."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import Modality, MultimodalVAE, TabularVAE
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

# Models need more packages than torch, and `evenhand --help` not even that: a name is imported when it is used.
_EXTRAS = {
    "Modality": ("estimators", "multimodal"),
    "MultimodalVAE": ("estimators", "multimodal"),
    "Schema": ("schema", "tables"),
    "TabularVAE": ("estimators", "tables"),
}


def __getattr__(name: str) -> Any:
    if name == "impartial":
        return import_module(".impartial", __name__)
    if name not in __all__:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    stop, extra = _EXTRAS.get(name, ("impartial", ""))
    try:
        found = getattr(import_module(f".{stop}", __name__), name)
    except ModuleNotFoundError as error:
        if not extra:
            raise
        raise ImportError(f"{name} needs the package {error.name}: pip install 'evenhand[{extra}]'") from error
    globals()[name] = found  # the next time it is there
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
