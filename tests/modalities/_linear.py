"""A linear-Gaussian model of three modalities: evidence and posteriors are known in closed form."""

import torch
from torch import nn

from evenhand.modalities.likelihoods import Normal
from evenhand.modalities.models import MixtureVAE, expert_subsets
from evenhand.modalities.training import ImpartialMixture, Options

L = 2
SIZES = {"a": 3, "b": 2, "c": 4}
NOISE = {"a": 0.8, "b": 0.5, "c": 1.2}
CHOICES = ["product", "mixture", "mixture-of-products"]


class Encoder(nn.Module):
    """A linear mean and a scale that is the same for all rows, both learnt."""

    def __init__(self, n):
        super().__init__()
        self.mean = nn.Linear(n, L)
        self.log_scale = nn.Parameter(0.3 * torch.randn(L))

    def forward(self, x):
        mean = self.mean(x)
        return mean, self.log_scale.exp().expand_as(mean)


def decoder(name):
    """Its columns are orthogonal, so that no posterior has correlations."""
    generator = torch.Generator().manual_seed(ord(name))
    n = SIZES[name]
    linear = nn.Linear(L, n)
    columns = torch.linalg.qr(torch.randn(n, L, generator=generator, dtype=torch.float64)).Q
    with torch.no_grad():
        linear.weight.copy_(columns * torch.tensor([1.5, 0.7]))
        linear.bias.copy_(torch.randn(n, generator=generator, dtype=torch.float64))
    return linear


def exact_encoder(name):
    """p(x|z) as a Gaussian density of z: times the prior, it is the posterior."""
    lin, encoder = decoder(name), Encoder(SIZES[name])
    squares = lin.weight.square().sum(0)
    with torch.no_grad():
        encoder.mean.weight.copy_((lin.weight / squares).mT)
        encoder.mean.bias.copy_(-encoder.mean.weight @ lin.bias)
        encoder.log_scale.copy_((NOISE[name] / squares.sqrt()).log())
    return encoder


def network(experts="mixture", names="abc", *, exact=False, prior_expert=None, encoders=None):
    names = list(names)
    make = exact_encoder if exact else lambda name: (encoders or Encoder)(SIZES[name])
    return MixtureVAE(
        {name: make(name) for name in names},
        {name: decoder(name) for name in names},
        {name: Normal(NOISE[name]) for name in names},
        subsets=expert_subsets(names, experts),
        n_latent=L,
        prior_expert=exact if prior_expert is None else prior_expert,
    )


def core(net, **options):
    impartial = options.pop("impartial", None)
    options = Options(**{"local_step": "none", "n_samples": 3, **options})
    return ImpartialMixture(net, [SIZES[name] for name in net.names], options, impartial)


def draw(n, names="abc", seed=5):
    """Rows of the model itself."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, L, generator=generator)
    rows = {}
    for name in names:
        noise = NOISE[name] * torch.randn(n, SIZES[name], generator=generator)
        rows[name] = (decoder(name)(z) + noise).detach()
    return rows


def log_evidence(values, names):
    """log p(x_names) for every row, exactly."""
    weight = torch.cat([decoder(name).weight for name in names]).detach()
    mean = torch.cat([decoder(name).bias for name in names]).detach()
    noise = torch.cat([torch.full((SIZES[name],), NOISE[name] ** 2) for name in names])
    x = torch.cat([values[name] for name in names], -1)
    return torch.distributions.MultivariateNormal(mean, weight @ weight.mT + noise.diag()).log_prob(x)


def gradients(model, values, observed=None, noise=None, **options):
    """Of all parameters by name, after one backward pass."""
    model.network.zero_grad(set_to_none=True)
    step = model(values, observed, noise, **options)
    step.loss.backward()
    return {name: p.grad.clone() for name, p in model.network.named_parameters() if p.grad is not None}


def vector(found, part=""):
    """The gradients of encoders, decoders or all as one vector."""
    return torch.cat([g.flatten() for name, g in found.items() if name.startswith(part)])


def holes(n, seed=3):
    """A mask with every pattern but the empty one, and all columns in use."""
    patterns = torch.tensor([[i >> d & 1 for d in range(3)] for i in range(1, 8)], dtype=torch.bool)
    return patterns[torch.randperm(n, generator=torch.Generator().manual_seed(seed)) % 7]
