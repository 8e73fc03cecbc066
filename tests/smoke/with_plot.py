"""A figure of the gradients' shares."""

import tempfile
from pathlib import Path

import torch
from torch import nn

from evenhand import IMTLG, Block, Monitor

layer, block = nn.Linear(3, 3), Block(IMTLG())
monitor = Monitor(block)
for _ in range(3):
    first, second = block(layer(torch.randn(8, 3)), 2)
    (first.square().mean() + second.abs().mean()).backward()
    monitor.record()
path = Path(tempfile.mkdtemp()) / "shares.png"
monitor.plot().savefig(path)
assert path.stat().st_size > 1000
