"""The methods that are measured."""

from __future__ import annotations

from collections.abc import Callable

from evenhand.impartial import (
    IMTLG,
    MGDA,
    AlignedMTL,
    CAGrad,
    GradDrop,
    GradNorm,
    Method,
    NashMTL,
    PCGrad,
    Sum,
    UPGrad,
)

METHODS: dict[str, Callable[[], Method]] = {
    "Sum": Sum,
    "GradNorm": GradNorm,
    "MGDA": MGDA,
    "IMTLG": IMTLG,
    "CAGrad": CAGrad,
    "PCGrad": PCGrad,
    "GradDrop": GradDrop,
    "NashMTL": NashMTL,
    "AlignedMTL": AlignedMTL,
    "UPGrad": UPGrad,
    "IMTLG >> PCGrad": lambda: IMTLG() >> PCGrad(),
}
