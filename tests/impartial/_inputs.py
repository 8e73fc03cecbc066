"""Gradients that are easy, and gradients that are not."""

import torch
from hypothesis import strategies as st

from evenhand.impartial import (
    DBMTL,
    IMTLG,
    MGDA,
    AlignedMTL,
    CAGrad,
    FairGrad,
    GradDrop,
    GradNorm,
    MMPareto,
    NashMTL,
    PCGrad,
    Sum,
    UPGrad,
)

# name -> a fresh method; random ones with a generator of their own, so that two of them do the same
METHODS = {
    "sum": Sum,
    "gradnorm": GradNorm,
    "gradnorm-1": lambda: GradNorm(1.0),
    "mgda": MGDA,
    "imtlg": IMTLG,
    "cagrad-0.4": CAGrad,
    "cagrad-10": lambda: CAGrad(10.0),
    "graddrop": lambda: GradDrop(generator=generator()),
    "graddrop-leak": lambda: GradDrop(0.3, generator=generator()),
    "pcgrad": lambda: PCGrad(generator=generator()),
    "nash": NashMTL,
    "fairgrad-1": FairGrad,
    "fairgrad-0.2": lambda: FairGrad(0.2),
    "fairgrad-5": lambda: FairGrad(5.0),
    "dbmtl": DBMTL,
    "mmpareto": MMPareto,
    "aligned": AlignedMTL,
    "upgrad": UPGrad,
    "imtlg>>pcgrad": lambda: IMTLG() >> PCGrad(generator=generator()),
    "gradnorm>>graddrop": lambda: GradNorm() >> GradDrop(generator=generator()),
    "pcgrad>>graddrop": lambda: PCGrad(generator=generator()) >> GradDrop(generator=generator()),
    "graddrop>>mgda": lambda: GradDrop(generator=generator()) >> MGDA(),
}
RANDOM = {name for name in METHODS if "pcgrad" in name or "graddrop" in name}
GRAM = {name for name in METHODS if "graddrop" not in name}
# Functions of the Gram matrix, without memory and deterministic.
FIXED = {name for name in GRAM - RANDOM if "gradnorm" not in name}

# Nothing changes when one head's gradient is scaled, but for the length of the result.
SCALE_FREE = {"imtlg", "nash", "fairgrad-1", "dbmtl", "upgrad", "pcgrad"}


def generator(seed: int = 7) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@st.composite
def gradients(draw, heads=st.integers(1, 8), features=st.integers(1, 12)):
    """Gradients [T, n] of every rank, with norms over many decades, zero and duplicate heads."""
    t, n = draw(heads), draw(features)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    rank = draw(st.integers(1, max(1, min(t, n))))
    left = torch.randn(t, rank, generator=generator, dtype=torch.float64)
    rows = left @ torch.randn(rank, n, generator=generator, dtype=torch.float64)
    rows = rows * 10 ** torch.tensor(draw(st.lists(st.floats(-3, 3), min_size=t, max_size=t))).unsqueeze(-1)
    for row in draw(st.sets(st.integers(0, t - 1), max_size=t // 2)):
        rows[row] = draw(st.sampled_from([torch.zeros(n), rows[0], -rows[0]]))
    return rows


@st.composite
def full_rank(draw, heads=st.integers(2, 8)):
    """Linearly independent gradients [T, n]."""
    t = draw(heads)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    rows = torch.randn(t, 3 * t, generator=generator, dtype=torch.float64)
    return rows * 10 ** torch.tensor(draw(st.lists(st.floats(-1, 1), min_size=t, max_size=t))).unsqueeze(-1)


HARD = {
    "easy": torch.tensor([[3.0, 0, 1, -1], [-1, 2, 0, 1], [0.5, -0.5, 0.25, 2]]).double(),
    "one head": torch.tensor([[1.0, 2, 3]]).double(),
    "one feature": torch.tensor([[1.0], [-2], [3]]).double(),
    "all zero": torch.zeros(3, 4).double(),
    "a zero head": torch.tensor([[1.0, 2], [0, 0], [2, -1]]).double(),
    "duplicates": torch.tensor([[1.0, 2, 0], [1, 2, 0], [0, 1, -3]]).double(),
    "opposite": torch.tensor([[1.0, 2], [-1, -2]]).double(),
    "opposite and a third": torch.tensor([[1.0, 2, 0], [-1, -2, 0], [0, 0, 1]]).double(),
    "rank one": torch.tensor([[1.0, 2], [2, 4], [3, 6]]).double(),
    "more heads than features": torch.tensor([[1.0, 2], [-1, 0.5], [3, 1], [0, -1], [1, 1]]).double(),
    "tiny": 1e-10 * torch.tensor([[3.0, 0, 1], [-1, 2, 0]]).double(),
    "huge": 1e10 * torch.tensor([[3.0, 0, 1], [-1, 2, 0]]).double(),
    "both": torch.tensor([[3e10, 0, 1e10], [-1e-10, 2e-10, 0]]).double(),
}
