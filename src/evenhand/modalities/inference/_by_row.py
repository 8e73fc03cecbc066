"""Random numbers that belong to a row and its place, whatever other rows are asked about with it."""

from __future__ import annotations

import torch
from torch import Tensor

from ..models import Experts

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def row_seeds(seed: int, what: int, n_rows: int) -> list[int]:
    """A seed for each row, of draws for one of several purposes."""
    rows: list[int] = _mix(_mix(torch.tensor(_signed(seed)) - 1 - what) + torch.arange(n_rows)).tolist()
    return rows


def samples_by_row(experts: Experts, n: int, seed: int) -> Tensor:
    """Samples of the mixture of the experts, ``[n, B, L]``: for each a random expert of the row, and its Gaussian.

    The i-th row has the same ones alone, among others and on every device.
    """
    n_experts, n_rows, n_latent = experts.mean.shape
    numbers = uniform_by_row(seed, n_rows, n, n_latent + 1)
    there = torch.ones(n_experts, n_rows, dtype=torch.bool) if experts.present is None else experts.present.cpu()
    ranks = there.cumsum(0)  # [A, B]
    wanted = 1 + (numbers[..., 0] * ranks[-1]).long()  # [n, B]
    chosen = (ranks.unsqueeze(1) < wanted).sum(0)  # the first expert of that rank, which is there
    rows = torch.arange(n_rows)
    noise = torch.special.ndtri(numbers[..., 1:]).to(experts.mean)
    chosen, rows = chosen.to(noise.device), rows.to(noise.device)
    return torch.addcmul(experts.mean[chosen, rows], experts.scale[chosen, rows], noise)


def uniform_by_row(seed: int, n_rows: int, n: int, size: int) -> Tensor:
    """Numbers between 0 and 1, ``[n, B, size]`` on the CPU, each a hash of the seed and of its own place.

    Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    rows = _mix(_mix(torch.tensor(_signed(seed))) + torch.arange(n_rows))  # [B]
    samples = _mix(rows + torch.arange(n).unsqueeze(-1))  # [n, B]
    numbers = _mix(samples.unsqueeze(-1) + torch.arange(size))
    return (_shifted(numbers, 11).double() + 0.5) * 2.0**-53


def _mix(x: Tensor) -> Tensor:
    """SplitMix64, in integers that wrap around."""
    x = (x + 1) * _signed(_GOLDEN)
    x = (x ^ _shifted(x, 30)) * _signed(_FIRST)
    x = (x ^ _shifted(x, 27)) * _signed(_SECOND)
    return x ^ _shifted(x, 31)


def _shifted(x: Tensor, n: int) -> Tensor:
    """To the right, with zeros from the left."""
    return (x >> n) & ((1 << (64 - n)) - 1)


def _signed(x: int) -> int:
    x &= (1 << 64) - 1
    return x - (1 << 64) if x >= 1 << 63 else x
