"""torch alone: a block in a model of one's own; everything else asks for its extra."""

import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import torch
from _asks import asks_for
from torch import nn

import evenhand
from evenhand import IMTLG, Block, Monitor, backward, find_blocks

assert "site-packages" in evenhand.__file__, f"not the installed wheel: {evenhand.__file__}"
assert evenhand.__version__ == version("evenhand")
assert files("evenhand").joinpath("py.typed").is_file()

torch.manual_seed(0)
trunk, heads = nn.Linear(4, 8), nn.ModuleList(nn.Linear(8, 1) for _ in range(3))
block = Block(IMTLG())
x = torch.randn(32, 4)
targets = [x.sum(1, keepdim=True), 1000 * x[:, :1], x[:, 1:2]]


def losses(views: list[torch.Tensor]) -> list[torch.Tensor]:
    return [(head(view) - t).square().mean() for head, view, t in zip(heads, views, targets, strict=True)]


sum(losses([trunk(x)] * 3)).backward()
plain = trunk.weight.grad.clone()
trunk.zero_grad()
sum(losses(block(trunk(x), 3))).backward()
assert not torch.allclose(plain, trunk.weight.grad)
assert block.last.weights.shape == (3,)
blocked = trunk.weight.grad.clone()
trunk.zero_grad()
y = trunk(x)
backward(losses([y] * 3), at=y, method=IMTLG())
assert torch.allclose(blocked, trunk.weight.grad)
assert find_blocks(dict(zip("abc", losses([trunk(x)] * 3), strict=True)))

assert evenhand.impartial.LogReadings  # a mixin for Lightning, which is not there

asks_for("tables", lambda: evenhand.TabularVAE)
asks_for("tables", lambda: evenhand.Schema)
asks_for("multimodal", lambda: evenhand.MultimodalVAE)
asks_for("plot", Monitor(block).plot)
shell = subprocess.run([sys.executable, "-m", "evenhand", "--help"], capture_output=True, text=True)
assert shell.returncode, "the shell should need evenhand[experiments]"
assert "pip install 'evenhand[experiments]'" in shell.stderr, shell.stderr
