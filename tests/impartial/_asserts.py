"""Comparisons that know how large the numbers are."""

import torch


def assert_close(found, expected, tolerance=1e-9):
    """Equal in proportion to the larger norm."""
    assert found.shape == expected.shape
    found, expected = found.double(), expected.double()
    scale = max(found.norm().item(), expected.norm().item())
    difference = (found - expected).norm().item()
    assert difference <= tolerance * scale or scale == 0, f"{difference / scale:.2e} > {tolerance:.0e}"


def assert_same_direction(found, expected, tolerance=1e-7):
    unit = torch.nn.functional.normalize
    assert_close(unit(found.double(), dim=-1), unit(expected.double(), dim=-1), tolerance)
