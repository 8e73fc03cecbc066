"""The numbers that the paper prints, to stand beside ours.

*Mitigating Modality Collapse in Multimodal VAEs via Impartial Optimization*, ICML 2022. A star marks what the paper
prints in bold. Its tables do not agree everywhere and are kept as they are: HI-VAE on HI is bold in table 8 and not
in table 1; tables 3 and 9 differ in MMVAE, tables 4 and 12 in MVAE (SIWAE, ours); Adult has 12 columns, but the kinds
of 11.
"""
# ruff: noqa: RUF001  # the paper's letter is α

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ._score_rows import Row
from ._table import Cell

Pair = tuple[Cell, Cell]
"""Plain training (vanilla) and impartial training ("ours")."""

HETEROGENEOUS: Mapping[str, str] = MappingProxyType(
    {
        "adult": "Adult",
        "credit": "Credit",
        "wine": "Wine",
        "diamonds": "Diamonds",
        "bank": "Bank",
        "imdb": "IMDB",
        "hi": "HI",
        "rwm5yr": "rwm5yr",
        "labour": "labour",
    }
)
"""The tables with several kinds of columns: name and title, in the paper's order."""

DATA: Mapping[str, str] = MappingProxyType(
    {**HETEROGENEOUS, "elnino": "El Nino", "magic": "Magic", "miniboone": "BooNE"}
)
"""All twelve tables; the last three have real columns only."""

SETTINGS = ("VAE-ELBO", "VAE-IWAE", "VAE-DReG", "HI-VAE")
"""Models and objectives of table 1."""

GROUPS = ("real", "positive", "count", "nominal")
"""Columns of table 6; nominal columns are binary, categorical or ordinal."""


def _cell(text: str) -> Cell:
    """A cell such as "0.21±0.01*": mean, deviation, bold; with as many digits as are printed."""
    mean, _, std = text.removesuffix("*").partition("±")
    digits = len(mean.partition(".")[2])
    return Cell(float(mean), digits, text.endswith("*"), float(std) if std else math.nan)


def _lines(text: str, n: int) -> list[tuple[str, str, list[Cell]]]:
    """Two labels and n cells in every line; labels end at two spaces."""
    found = []
    for line in text.strip().splitlines():
        first, second, numbers = (part.strip() for part in line.strip().split("  ", 2))
        cells = [_cell(number) for number in numbers.split()]
        assert len(cells) == n, line
        found.append((first, second, cells))
    return found


def _rows(text: str, columns: Sequence[str]) -> tuple[Row, ...]:
    """Rows as `evenhand.lab` has them."""
    lines = _lines(text, len(columns))
    return tuple({"model": a, "method": b, **dict(zip(columns, cells, strict=True))} for a, b, cells in lines)


def _pairs(text: str, columns: Sequence[str]) -> dict[tuple[str, str], Pair]:
    """Pairs by the first label and the column, of lines that alternate between vanilla and ours."""
    lines = _lines(text, len(columns))
    found: dict[tuple[str, str], Pair] = {}
    for (first, _, plain), (_, _, ours) in zip(lines[::2], lines[1::2], strict=True):
        found |= {(first, c): pair for c, pair in zip(columns, zip(plain, ours, strict=True), strict=True)}
    return found


# Medians of test errors over five seeds
_TABLE1 = """
VAE-ELBO  vanilla  0.213 0.128 0.086 0.187 0.203 0.082 0.170 0.105 0.109 0.109 0.064 0.042
VAE-ELBO  ours  0.104* 0.041* 0.071* 0.139* 0.043* 0.032* 0.041* 0.026* 0.063* 0.068* 0.058 0.039
VAE-IWAE  vanilla  0.226 0.134 0.075 0.185 0.199 0.090 0.155 0.094 0.098 0.086 0.053 0.037
VAE-IWAE  ours  0.129* 0.051* 0.066* 0.125* 0.076 0.035* 0.042* 0.032* 0.066* 0.061* 0.048 0.035*
VAE-DReG  vanilla  0.234 0.132 0.077 0.176 0.191 0.088 0.153 0.094 0.096 0.085 0.050 0.037
VAE-DReG  ours  0.168 0.075* 0.065* 0.139* 0.103 0.055* 0.042* 0.026* 0.076* 0.069* 0.046 0.036
HI-VAE  vanilla  0.127 0.107 0.126 0.114 0.141 0.079 0.105 0.044 0.100 0.098 0.062 0.039
HI-VAE  ours  0.081* 0.060 0.117* 0.011* 0.095* 0.049 0.109 0.024* 0.069* 0.015* 0.033* 0.038
"""
TABLE1: Mapping[tuple[str, str], Pair] = MappingProxyType(
    {(data, setting): pair for (setting, data), pair in _pairs(_TABLE1, tuple(DATA)).items()}
)
"""Median test errors by data and setting."""

_TABLE2 = """
all  vanilla  0.058* 0.158 0.064 0.041
all  ours  0.083 0.065* 0.057* 0.039*
"""
TABLE2: Mapping[str, Pair] = MappingProxyType(
    {kind: pair for (_, kind), pair in _pairs(_TABLE2, ("count", "nominal", "positive", "real")).items()}
)
"""Errors by kind, over the heterogeneous tables."""

TABLE3 = _rows(
    """
MVAE  vanilla  97.37 87.47 98.83
MVAE  ours  97.42 87.63 99.20*
MMVAE  vanilla  58.95 61.27 63.27
MMVAE  ours  74.16* 68.93 78.17*
MoPoE  vanilla  75.10 67.16 76.61
MoPoE  ours  96.91 89.01 99.28
""",
    ("M", "S", "T"),
)
"""Coherence given all modalities, SIWAE."""

_COHERENCE = ("M|M", "S|S", "T|T", "M|S", "M|T", "M|ST", "S|M", "S|T", "S|MT", "T|M", "T|S", "T|MS")

TABLE4 = _rows(
    """
MVAE  vanilla  82.06 12.08 36.67 10.34 17.12 19.19 49.99 19.31 31.19 62.50 10.82 64.25
MVAE  ours  87.63 12.47 78.88* 10.75 25.99* 27.85* 50.02 33.13* 29.62 61.17 11.67 63.63
MMVAE  vanilla  95.90* 48.30 53.02 28.43 52.52 40.45 84.44 51.08 67.77 96.80* 39.96 68.38
MMVAE  ours  95.90 58.20 88.70* 49.33* 79.32* 64.30* 87.29* 76.17* 81.71* 96.70 57.86 77.28
MoPoE  vanilla  92.32 11.60 69.05 10.13 51.02 34.67 41.93 46.39 51.58 85.19 10.57 67.54
MoPoE  ours  90.99 12.00 83.82* 10.63* 62.75 52.08 28.19 46.91 43.34 79.64 10.81 90.33
""",
    _COHERENCE,
)
"""Self and cross coherence, SIWAE."""

TABLE5 = _rows(
    """
MVAE  vanilla  69.68 69.14 68.58 33.60 39.15 38.36
MVAE  ours  69.95 69.06 69.75* 35.25 49.73* 46.23*
MMVAE  vanilla  71.81 87.55 71.30 44.25 76.81 40.60
MMVAE  ours  87.83* 90.78 85.55* 71.42* 84.80* 60.50*
MoPoE  vanilla  89.85 87.23 67.58 66.14 83.71 40.36
MoPoE  ours  91.47* 90.74* 69.26* 84.52* 90.48* 53.24*
""",
    ("ELBO self", "IWAE self", "SIWAE self", "ELBO cross", "IWAE cross", "SIWAE cross"),
)
"""Self and cross latent classification."""

OVERHEAD: tuple[tuple[tuple[str, ...], float, str], ...] = (
    ((), 10.06, "0"),
    (("LI",), 11.42, "D"),
    (("LI", "EEI"), 11.64, "2D"),
    (("LI", "EEI", "DEI"), 11.89, "3D"),
)
"""The inset: goals, hours of training of MMVAE, number of blocks."""

TABLE6: Mapping[str, tuple[int, int, int, int, int, int]] = MappingProxyType(
    {
        "adult": (32561, 12, 0, 3, 1, 7),
        "credit": (30000, 24, 6, 7, 1, 10),
        "wine": (6497, 13, 0, 11, 1, 1),
        "diamonds": (53940, 10, 7, 0, 0, 3),
        "bank": (41188, 21, 10, 0, 0, 11),
        "imdb": (28819, 23, 4, 1, 10, 8),
        "hi": (22272, 12, 5, 1, 0, 6),
        "rwm5yr": (19609, 16, 0, 2, 3, 11),
        "labour": (15992, 9, 3, 0, 2, 4),
        "elnino": (178080, 12, 12, 0, 0, 0),
        "magic": (19020, 11, 11, 0, 0, 0),
        "miniboone": (130065, 43, 43, 0, 0, 0),
    }
)
"""By data: rows, columns, and the number of columns of each of `GROUPS`."""

_METHODS = {
    "adult": ("IMTL-G", "IMTL-G", "IMTL-G-PG", "GN-PG (α=1)"),
    "credit": ("IMTL-G", "IMTL-G-GD", "IMTL-G-GD", "GN (α=1)"),
    "wine": ("GN (α=0)", "GN-PG (α=0)", "GN (α=0)", "GN (α=0)"),
    "diamonds": ("IMTL-G", "IMTL-G", "IMTL-G-PG", "GN (α=0)"),
    "bank": ("GN (α=0)", "GN-GD (α=0)", "GN (α=0)", "MGDA-PG"),
    "imdb": ("GN-GD (α=0)", "GN (α=0)", "GN-PG (α=0)", "GN-PG (α=0)"),
    "hi": ("GN-GD (α=0)", "GN (α=0)", "GN-PG (α=0)", "MGDA"),
    "rwm5yr": ("GN (α=1)", "GN-GD (α=1)", "GN (α=1)", "MGDA-PG"),
    "labour": ("GN (α=0)", "GN (α=1)", "GN-PG (α=0)", "GN (α=0)"),
    "elnino": ("IMTL-G", "IMTL-G-PG", "IMTL-G-GD", "GN (α=0)"),
    "magic": ("GN (α=1)", "IMTL-G", "GN (α=1)", "IMTL-G"),
    "miniboone": ("IMTL-G-PG", "IMTL-G", "GN-PG (α=0)", "MGDA-PG"),
}
TABLE7: Mapping[tuple[str, str], str] = MappingProxyType(
    {(data, s): method for data, row in _METHODS.items() for s, method in zip(SETTINGS, row, strict=True)}
)
"""The chosen method by data and setting."""

_TABLE8 = """
adult  vanilla  0.21±0.01 0.22±0.02 0.24±0.01 0.13±0.00
adult  ours  0.11±0.02* 0.12±0.02* 0.19±0.08 0.09±0.02*
credit  vanilla  0.13±0.00 0.14±0.02 0.14±0.01 0.15±0.09
credit  ours  0.04±0.00* 0.05±0.01* 0.08±0.01* 0.06±0.01
wine  vanilla  0.09±0.00 0.08±0.00 0.08±0.00 0.13±0.01
wine  ours  0.07±0.01* 0.07±0.00* 0.07±0.00* 0.11±0.02*
diamonds  vanilla  0.19±0.01 0.18±0.01 0.18±0.00 0.11±0.02
diamonds  ours  0.13±0.02* 0.12±0.01* 0.14±0.01* 0.01±0.01*
bank  vanilla  0.20±0.00 0.20±0.00 0.19±0.00 0.13±0.02
bank  ours  0.04±0.00* 0.10±0.05 0.11±0.04 0.10±0.01*
imdb  vanilla  0.09±0.02 0.10±0.02 0.10±0.02 0.08±0.00
imdb  ours  0.05±0.04* 0.05±0.04* 0.06±0.04* 0.10±0.09
hi  vanilla  0.17±0.01 0.16±0.00 0.15±0.00 0.11±0.00
hi  ours  0.04±0.00* 0.04±0.00* 0.04±0.00* 0.11±0.01*
rwm5yr  vanilla  0.11±0.01 0.09±0.00 0.10±0.00 0.04±0.01
rwm5yr  ours  0.03±0.00* 0.03±0.01* 0.03±0.00* 0.02±0.00*
labour  vanilla  0.11±0.00 0.10±0.00 0.10±0.00 0.10±0.00
labour  ours  0.06±0.00* 0.07±0.00* 0.08±0.01* 0.07±0.00*
elnino  vanilla  0.10±0.01 0.09±0.00 0.08±0.00 0.10±0.01
elnino  ours  0.07±0.01* 0.06±0.01* 0.07±0.00* 0.02±0.00*
magic  vanilla  0.06±0.00 0.05±0.00 0.05±0.00 0.06±0.00
magic  ours  0.06±0.00 0.05±0.00 0.05±0.00 0.03±0.00*
miniboone  vanilla  0.04±0.00 0.04±0.00 0.04±0.00 0.04±0.00
miniboone  ours  0.04±0.00 0.04±0.00* 0.04±0.00 0.04±0.00
"""
TABLE8: Mapping[tuple[str, str], Pair] = MappingProxyType(_pairs(_TABLE8, SETTINGS))
"""Mean and deviation of test errors by data and setting."""

TABLE9 = _rows(
    """
MVAE  vanilla  97.53 88.26 99.30 97.27 87.19 98.76 97.37 87.47 98.83
MVAE  ours  97.85* 89.65* 99.64* 98.28* 89.01* 99.93* 97.42 87.63 99.20*
MMVAE  vanilla  86.01 45.59 89.17 85.25 84.03 88.66 58.95 61.27 63.27
MMVAE  ours  89.42* 45.83 91.54* 87.55 86.87* 90.93 74.85* 73.89* 81.09*
MoPoE  vanilla  95.72 85.86 98.01 95.82 87.55 97.93 75.10 67.16 76.61
MoPoE  ours  96.50* 93.60* 99.14* 97.29* 92.93* 99.00* 96.91 89.01 99.28
""",
    tuple(f"{objective} {d}" for objective in ("ELBO", "IWAE", "SIWAE") for d in "MST"),
)
"""Coherence given all modalities, by objective."""

TABLE10 = _rows(
    """
MVAE  vanilla  80.30 12.63 25.77 11.12 18.22 19.49 43.29 18.50 16.90 51.82 11.65 54.71 3.82
MVAE  CG (α=0.4), LI  85.12 12.34 34.64 10.70 12.51 16.83 44.94 22.36 29.45* 61.41 12.26 69.77 4.82
MMVAE  vanilla  95.23* 68.25 99.99 62.93 99.92 81.43 31.06 37.42 34.24 96.27 71.29 83.79 10.07
MMVAE  CA (α=10), LI + EEI + DEI  92.62 73.84* 99.99 76.01* 99.59 87.80* 29.11 34.46 31.78 95.27 79.34* 87.31* 13.06
MoPoE  vanilla  94.52 71.21 99.99 66.80 99.98 98.12 19.70* 33.25 31.55 96.79* 77.04 97.15* 23.24
MoPoE  CG (α=10), LI + EEI + DEI  94.64 73.36* 100.00* 74.76* 99.98 98.42 15.84 32.84 31.03 96.03 78.61* 96.67 29.41
""",
    (*_COHERENCE, "hours"),
)
"""Self and cross coherence, ELBO. ("CA" and "CG" are the paper's; both stand for CAGrad.)"""

TABLE11 = _rows(
    """
MVAE  vanilla  87.33 11.70 37.49 10.76 26.63* 29.48 54.10 25.16 29.51 70.24* 11.38 72.33 3.80
MVAE  GN (α=0), LI  85.73 12.68 79.19* 11.18 19.45 22.05 49.37 55.83* 54.48* 59.56 11.79 63.69 4.24
MMVAE  vanilla  94.70 68.13 99.99 62.34 98.79 80.55 86.72 97.29 92.01 96.83* 69.23 83.02 10.08
MMVAE  CG (α=0.4), LI  94.96 73.66 99.99 68.49 99.25* 83.85 88.99* 97.97* 93.49* 96.27 76.55 86.40 11.96
MoPoE  vanilla  94.44 63.16 99.97 58.20 99.01 99.24 80.75 94.76 88.62 96.51 66.13 96.03 23.27
MoPoE  CG (α=10), LI + EEI + DEI  95.41* 69.54* 99.99* 61.75 99.06 99.07 81.23 96.47* 92.98* 96.64 73.33* 96.16 29.35
""",
    (*_COHERENCE, "hours"),
)
"""Self and cross coherence, IWAE."""

TABLE12 = _rows(
    """
MVAE  vanilla  82.06 12.08 36.67 10.34 17.12 19.19 49.99 19.31 31.19 62.50 10.82 64.25 3.81
MVAE  CG (α=0.4), LI  86.89 12.89 59.15* 10.99 20.92 30.34* 54.83 31.82* 24.97 71.87 11.10 72.74 4.77
MMVAE  vanilla  95.90* 48.30 53.02 28.43 52.52 40.45 84.44 51.08 67.77 96.80* 39.96 68.38 10.07
MMVAE  CG (α=0.4), LI  95.90 58.20 88.70* 49.33* 79.32* 64.30* 87.29* 76.17* 81.71* 96.70 57.86 77.28 12.30
MoPoE  vanilla  92.32 11.60 69.05 10.13 51.02 34.67 41.93 46.39 51.58 85.19 10.57 67.54 23.29
MoPoE  GN (α=0.5), LI  90.99 12.00 83.82* 10.63* 62.75 52.08 28.19 46.91 43.34 79.64 10.81 90.33 24.58
""",
    (*_COHERENCE, "hours"),
)
"""Self and cross coherence, SIWAE."""

_GIVEN = ("X|M", "X|S", "X|T", "X|MS", "X|MT", "X|ST", "X|MST")

TABLE13 = _rows(
    """
MVAE  vanilla  -8.61±1.18 -10.26±1.14 -8.17±1.30 -8.18±1.26 -1.51±0.11 -7.41±1.38 -1.02±0.11
MVAE  ours  -8.07±0.88 -9.89±0.62 -6.94±1.19* -7.44±0.64 -1.42±0.05 -6.12±1.69 -0.95±0.00
MMVAE  vanilla  -2.30±0.21 -2.18±0.09* -1.19±0.00 -2.24±0.11* -1.75±0.10 -1.68±0.04* -1.89±0.07*
MMVAE  ours  -2.59±0.40 -2.31±0.13 -1.19±0.00* -2.45±0.23 -1.89±0.20 -1.75±0.06 -2.03±0.15
MoPoE  vanilla  -1.93±0.01 -2.06±0.04 -1.19±0.00 -1.76±0.00 -1.18±0.00 -1.04±0.00 -1.03±0.05
MoPoE  ours  -1.92±0.03 -2.09±0.05 -1.19±0.00* -1.75±0.02 -1.17±0.01 -1.03±0.00* -1.00±0.01
""",
    _GIVEN,
)
"""Log-likelihoods per dimension, ELBO."""

TABLE14 = _rows(
    """
MVAE  vanilla  -8.62±0.40 -10.68±0.98 -6.78±1.66 -8.28±0.47 -1.83±0.14 -6.08±1.36 -1.15±0.03
MVAE  ours  -8.26±0.29* -9.51±0.25* -2.83±0.54* -7.74±0.15* -1.35±0.03* -1.96±0.33* -0.94±0.00*
MMVAE  vanilla  -1.98±0.06* -2.74±0.32 -1.27±0.00 -2.36±0.15 -1.62±0.03* -2.00±0.16 -1.99±0.10
MMVAE  ours  -2.44±0.03 -2.45±0.12* -1.26±0.00* -2.44±0.06 -1.85±0.01 -1.86±0.06* -2.05±0.04
MoPoE  vanilla  -1.97±0.00* -2.55±0.12 -1.27±0.00 -5.85±0.52* -1.25±0.00 -1.05±0.00 -1.02±0.00
MoPoE  ours  -2.01±0.01 -2.61±0.11 -1.27±0.00* -7.07±0.06 -1.24±0.01* -1.05±0.00 -1.01±0.00*
""",
    _GIVEN,
)
"""Log-likelihoods per dimension, IWAE."""

TABLE15 = _rows(
    """
MVAE  vanilla  -8.82±0.63 -10.13±0.29 -7.17±1.73 -8.52±0.74 -2.23±1.31 -5.94±1.35 -1.15±0.02
MVAE  ours  -8.41±0.14 -10.52±0.53 -5.65±1.76 -8.13±0.17 -1.46±0.07 -5.49±1.87 -1.01±0.01*
MMVAE  vanilla  -2.01±0.08* -4.04±0.43 -3.25±0.94 -3.02±0.20 -2.63±0.49 -3.64±0.25 -3.10±0.18
MMVAE  ours  -2.34±0.36 -3.22±1.28 -3.03±1.07 -2.78±0.59 -2.69±0.54 -3.12±0.43* -2.86±0.22*
MoPoE  vanilla  -6.29±2.75 -10.02±0.43 -3.80±1.48 -7.51±0.93 -1.59±0.35 -4.97±2.68 -3.15±3.78
MoPoE  ours  -8.01±0.42 -10.16±0.55 -2.96±1.11 -7.26±0.28 -1.34±0.01 -2.30±0.91* -0.99±0.02
""",
    _GIVEN,
)
"""Log-likelihoods per dimension, SIWAE."""
