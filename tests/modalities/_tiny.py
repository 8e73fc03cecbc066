"""Pictures of four kinds with their labels, and models so small that they learn them in a second."""

import math

import torch
from torch import nn

from evenhand import Modality, MultimodalVAE
from evenhand.modalities.likelihoods import Categorical, Laplace

L = 2
CLASSES = 4
SHAPES = {"image": (1, 8, 8), "label": ()}


def rows(n=24, seed=0):
    """One of four quarters of an image is bright, and the label says which."""
    generator = torch.Generator().manual_seed(seed)
    label = torch.arange(n) % CLASSES
    pattern = torch.zeros(CLASSES, 1, 2, 4, 2, 4)
    for c in range(CLASSES):
        pattern[c, 0, c // 2, :, c % 2] = 1
    return {
        "image": pattern.reshape(CLASSES, 1, 8, 8)[label] + 0.1 * torch.randn(n, 1, 8, 8, generator=generator),
        "label": label,
    }


class Reshape(nn.Module):
    """Rows of another shape, also of none."""

    def __init__(self, *shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return x.reshape(len(x), *self.shape)


def encoder(n_in, n_latent=L, *, dropout=0.0):
    layers = [Reshape(n_in), nn.Linear(n_in, 16), nn.Tanh(), nn.Linear(16, 2 * n_latent)]
    return nn.Sequential(*layers[:3], nn.Dropout(dropout), layers[3]) if dropout else nn.Sequential(*layers)


def decoder(*shape, n_latent=L):
    return nn.Sequential(nn.Linear(n_latent, 16), nn.Tanh(), nn.Linear(16, math.prod(shape)), Reshape(*shape))


def parts(seed=0, *, n_latent=L, dropout=0.0, **replaced):
    """The modalities; keyword arguments such as image_encoder replace networks."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = {
            "image_encoder": encoder(64, n_latent, dropout=dropout),
            "image_decoder": decoder(1, 8, 8, n_latent=n_latent),
            "label_encoder": encoder(CLASSES, n_latent),
            "label_decoder": decoder(CLASSES, n_latent=n_latent),
        } | replaced
    return {
        "image": Modality(made["image_encoder"], made["image_decoder"], Laplace(0.75)),
        "label": Modality(made["label_encoder"], made["label_decoder"], Categorical(CLASSES)),
    }


NETWORKS = [f"{name}_{what}" for name in SHAPES for what in ("encoder", "decoder")]


def tiny(seed=0, *, n_latent=L, dropout=0.0, **options):
    networks = {name: options.pop(name) for name in NETWORKS if name in options}
    options = {"n_samples": 2, **options}
    return MultimodalVAE(parts(seed, n_latent=n_latent, dropout=dropout, **networks), n_latent=n_latent, **options)


def weights(model):
    return {name: x.clone() for name, x in model.core.state_dict().items()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, x in found.items():
        assert torch.equal(x, expected[name]), name


def differ(found, expected):
    return any(not torch.equal(x, expected[name]) for name, x in found.items())
