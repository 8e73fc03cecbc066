"""A weighting of TorchJD in a block."""

import torch
from torchjd.aggregation import MGDAWeighting

from evenhand import Block
from evenhand.impartial import FromTorchJD

y = torch.randn(8, 3, requires_grad=True)
first, second = Block(FromTorchJD(MGDAWeighting()))(y, 2)
(first.square().mean() + 100 * second.abs().mean()).backward()
assert y.grad.isfinite().all()
