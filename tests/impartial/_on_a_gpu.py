"""Kernels without a CUDA device: interpreted, under `TRITON_INTERPRET=1` (NumPy >= 2.4 needs Triton >= 3.9)."""

import os

import pytest
import torch

from evenhand.impartial import _cagrad, _eigen, _kernels, _numbers, _pcgrad, _range, _solvers

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"

MARKS = [
    pytest.mark.skipif(_kernels.triton is None, reason="Triton is not installed"),
    pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="neither a CUDA device nor TRITON_INTERPRET=1"),
    # raised inside Triton's interpreter, which is made of NumPy
    pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning"),
]


def pretend(monkeypatch):
    """Kernels also for tensors of the CPU, and loops of fixed length."""
    for module in (_cagrad, _eigen, _numbers, _pcgrad, _range, _solvers):
        monkeypatch.setattr(module, "host_reads_are_free", lambda _: False)
    monkeypatch.setattr(_kernels, "usable", lambda tensor: tensor.shape[-1] <= _kernels.LARGEST)


def torch_only(call):
    """The result of a call without kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "usable", lambda _: False)
        return call()
