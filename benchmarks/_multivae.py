"""A peer of the mixtures: MultiVae's MMVAE around the same networks."""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evenhand.datasets import MNISTDecoder, MNISTEncoder, SVHNDecoder, SVHNEncoder, TextDecoder, TextEncoder

N_LATENT, N_SYMBOLS, SCALE = 20, 71, 0.75
SHAPES = {"mnist": (1, 28, 28), "svhn": (3, 32, 32), "text": (8, N_SYMBOLS)}
TORCHVISION = ["torchvision", *(f"torchvision.{x}" for x in ("datasets", "datasets.utils", "transforms", "utils"))]


def step_of_multivae(batch: dict[str, Tensor], n_samples: int, device: str) -> Callable[[], None] | None:
    """One training step on stored values: forward, backward, Adam. None if MultiVae is not installed."""
    try:
        model = mmvae(n_samples).to(device)
        inputs = dataset(batch)
    except ImportError as error:
        print(f"Without MultiVae ({error}): pip install multivae")
        return None
    trained = [p for p in model.parameters() if p.requires_grad]  # its prior is fixed and counts as a parameter
    optimizer = torch.optim.Adam(trained, lr=1e-3, amsgrad=True, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(inputs).loss.backward()
        optimizer.step()

    return step


def mmvae(n_samples: int) -> Any:
    """Its MMVAE with loose IWAE, the paper's networks, normal posteriors, a standard normal prior and no rescaling.

    It has no tight bound, no gradient that sticks the landing, and draws its own noise.
    """
    with _torchvision():
        from multivae.models import MMVAE, MMVAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder

    class Encoder(BaseEncoder):
        def __init__(self, network: nn.Module) -> None:
            super().__init__()
            self.network, self.latent_dim = network, N_LATENT

        def forward(self, x: Tensor) -> ModelOutput:
            mean, scale = self.network(x)
            return ModelOutput(embedding=mean, log_covariance=2 * scale.log())

    class Decoder(BaseDecoder):
        def __init__(self, network: nn.Module) -> None:
            super().__init__()
            self.network, self.latent_dim = network, N_LATENT

        def forward(self, z: Tensor) -> ModelOutput:
            return ModelOutput(reconstruction=self.network(z))

    torch.manual_seed(0)
    pairs = {
        "mnist": (MNISTEncoder(N_LATENT), MNISTDecoder(N_LATENT)),
        "svhn": (SVHNEncoder(N_LATENT), SVHNDecoder(N_LATENT)),
        "text": (TextEncoder(N_LATENT), TextDecoder(N_LATENT)),
    }
    config = MMVAEConfig(
        n_modalities=len(SHAPES),
        latent_dim=N_LATENT,
        input_dims=SHAPES,
        decoders_dist={"mnist": "laplace", "svhn": "laplace", "text": "categorical"},
        decoder_dist_params={"mnist": {"scale": SCALE}, "svhn": {"scale": SCALE}},
        uses_likelihood_rescaling=False,
        K=n_samples,
        prior_and_posterior_dist="normal",
        learn_prior=False,
        loss="iwae_looser",
    )
    encoders = {name: Encoder(encoder) for name, (encoder, _) in pairs.items()}
    return MMVAE(config, encoders, {name: Decoder(decoder) for name, (_, decoder) in pairs.items()})


def dataset(batch: dict[str, Tensor]) -> Any:
    """Stored values as it wants them: images in [0, 1], texts one-hot. Converted once, outside the clock."""
    with _torchvision():
        from multivae.data.datasets import MultimodalBaseDataset

    images = {name: batch[name].float() / 255 for name in ("mnist", "svhn")}
    return MultimodalBaseDataset(images | {"text": F.one_hot(batch["text"], N_SYMBOLS).float()})


@contextlib.contextmanager
def _torchvision() -> Iterator[None]:
    """A stand-in while MultiVae is imported, if the real torchvision is missing or was built for another torch.

    MultiVae imports it at the top of modules about data sets and plots, which a training step does not touch.
    """
    modules = {} if _works("torchvision") else {name: _StandIn(name) for name in TORCHVISION}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]


def _works(module: str) -> bool:
    try:
        importlib.import_module(module)
    except (ImportError, RuntimeError):
        return False
    return True


class _StandIn(types.ModuleType):
    """A module that has everything."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = importlib.machinery.ModuleSpec(name, None)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock
