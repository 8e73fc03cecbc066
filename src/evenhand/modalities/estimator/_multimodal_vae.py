"""A VAE over images, text, labels and tables together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from ...common import ArgumentError, LatentMixture, check_choice, check_integer, checked_seed
from ...impartial import Method
from ..inference import evaluating, samples_by_row
from ..likelihoods import Likelihood
from ..models import ExpertsName, MixtureVAE
from ..objectives import Objective, Tightness
from ..rows import Modalities
from ..training import Goal, Gradient, ImpartialMixture, LocalStep, Options, Precision, Step
from . import _answers
from ._build import build_modalities, build_network, chosen_tightness, weights_in_order
from ._codes import fit_codes, prior_samples, sample_codes, sample_mixture
from ._conflicts import Conflicts, read_conflicts
from ._fit import Place, checked_folder, train
from ._input import read_modalities
from ._modality import Modality
from ._sharing import warn_of_shared_networks
from ._weights_file import load_weights, save_weights

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class MultimodalVAE(nn.Module):
    r"""A VAE in which every modality can be generated from every other, trained so that none is left behind.

    Every modality has its encoder and its decoder. The posterior is a mixture of experts, each of them a product of
    the posteriors of some modalities, so that any modalities may be missing, in training and later.

    Args:
        modalities: The modalities by name.
        n_latent: Size of the latent space.
        experts: "product": one expert that has seen everything (MVAE). "mixture": one for each modality (MMVAE).
            "mixture-of-products": one for each subset of modalities (MoPoE). Or a list of subsets.
        objective: "elbo", "iwae" (loose), "siwae" (tight), "mmjsd" or "contrastive".
        tightness: Under "siwae", how much of the weight the best expert may take: "auto" is `Balanced`, under which
            experts live; `Tight` is the paper's; or `Tempered`, `PartlyTight`, `LooseToTight`, `Defensive`.
        n_samples: Latent samples of every expert in a step (K).
        n_backward: Differentiate only so many samples of an expert, those that carry the weight: a cheaper step.
        impartial: A method for each of the goals "LI" (no modality is neglected by the encoders), "EEI" (experts
            are interchangeable) and "DEI" (decoders serve every expert): ``{"LI": CAGrad(0.4)}``.
        gradient: "stl" (as in the paper), "dreg" or "plain".
        prior_expert: Whether the prior is a member of every product; by default with "product" only.
        preserve_norm: Whether blocks keep the length of the plain sum; small experts run away then (paper/survival).
        local_step: Where likelihoods are brought to one dimension: "backward", "forward" (no bound then), or "none".
        likelihood_weights: What the likelihood of a modality counts, by its name, 1 if left out: ``{"scan": 2.0}``.
            With other numbers than 1 the objective is no bound of the evidence.
        kl_weight: Weight of the rate; "rate:8" for one that moves in training such that experts keep 8 nats of a
            row on average, of validation rows if there are any.
        micro_batch: Decode about this many latent samples at a time: the same gradients in less memory, slower.
        n_negatives: Other rows that "contrastive" compares a row with.
        contrast: Weight of the evidence in "contrastive".
        max_size: The largest subsets of a mixture of products, besides that of all.
        max_experts: The largest number of experts of a mixture of products; the rest is chosen at random.
        seed: Of the networks that are made here, and of that choice.

    Attributes:
        history: Rows of numbers from training.
        blocks: The impartiality blocks by goal, to read `last` from.

    Example:
        >>> from evenhand import CAGrad, Modality, MultimodalVAE
        >>> from evenhand.modalities import Categorical, Laplace
        >>> image, label = torch.rand(64, 1, 8, 8), torch.randint(10, (64,))
        >>> modalities = {
        ...     "image": Modality(likelihood=Laplace(), shape=(1, 8, 8)),
        ...     "label": Modality(likelihood=Categorical(10), shape=()),
        ... }
        >>> model = MultimodalVAE(modalities, n_latent=4, impartial={"LI": CAGrad(0.4)})
        >>> model = model.fit({"image": image, "label": label}, epochs=1)
        >>> model.predict({"label": label[:2]}, target=["image"])["image"].shape
        torch.Size([2, 1, 8, 8])
    """

    codes: Tensor  # latent samples of training rows, for generation

    def __init__(
        self,
        modalities: Mapping[str, Modality],
        *,
        n_latent: int = 20,
        experts: ExpertsName | Iterable[Iterable[str]] = "mixture",
        objective: Objective = "iwae",
        tightness: Tightness | Literal["auto"] | None = "auto",
        n_samples: int = 10,
        n_backward: int | None = None,
        impartial: Mapping[Goal, Method] | None = None,
        gradient: Gradient = "stl",
        prior_expert: bool | None = None,
        preserve_norm: bool = False,
        local_step: LocalStep = "backward",
        likelihood_weights: Mapping[str, float] | None = None,
        kl_weight: float | str = 1.0,
        micro_batch: int | None = None,
        n_negatives: int = 5,
        contrast: float = 2.0,
        max_size: int | None = None,
        max_experts: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        seed = checked_seed(seed)
        built = build_modalities(modalities, n_latent, seed)
        network = build_network(built, n_latent, experts, prior_expert, max_size, max_experts, seed)
        options = Options(
            objective=objective,
            tightness=chosen_tightness(tightness, objective, network.n_experts),
            n_samples=n_samples,
            n_backward=n_backward,
            gradient=gradient,
            preserve_norm=preserve_norm,
            local_step=local_step,
            likelihood_weights=weights_in_order(likelihood_weights, list(built)),
            kl_weight=kl_weight,
            micro_batch=micro_batch,
            n_negatives=n_negatives,
            contrast=contrast,
        )
        dimensions = [part.likelihood.dimension(part.shape) for part in built.values()]
        self.shapes = {name: part.shape for name, part in built.items()}
        self.core = ImpartialMixture(network, dimensions, options, impartial)
        self.history: list[dict[str, float]] = []
        self._seed = seed
        self.register_buffer("codes", torch.empty(0, n_latent))
        self._mixture: LatentMixture | None = None

    def forward(
        self, data: Modalities | Mapping[str, Any], *, progress: float = 0.0, kl_weight: float | None = None
    ) -> Step:
        """The loss of a batch and what it is made of, for a training loop of your own.

        Args:
            data: The rows of the batch.
            progress: Number of steps done, which a tightness such as `LooseToTight` goes by.
            kl_weight: In place of the model's own; that of a model which holds a rate is 1 here.
        """
        batch = self._read(data).to(self._device)
        weight = None if kl_weight is None else torch.full((1,), float(kl_weight), device=self._device)
        return self.core(batch.values, batch.mask(), kl_weight=weight, progress=progress)

    def fit(
        self,
        data: Any,
        *,
        epochs: int = 30,
        batch_size: int = 128,
        learning_rate: float | None = None,
        observed: Mapping[str, Any] | None = None,
        validation: float | Modalities | Mapping[str, Any] | None = None,
        clip_norm: float | None = None,
        clip_expert_norm: float | None = None,
        kl_warm_up: float = 0,
        learning_rate_warm_up: float = 0,
        optimizer: Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer] | None = None,
        device: str = "auto",
        precision: Precision = "32",
        compile: bool = False,
        fabric: Fabric | None = None,
        logger: Any = None,
        folder: str | Path | None = None,
        checkpoint_every: int | None = None,
        log_every: int | None = None,
        seed: int = 0,
        verbose: bool | Literal["auto"] = "auto",
    ) -> MultimodalVAE:
        """Train on rows with any modalities missing.

        Args:
            data: Modalities by name (tensors, arrays, lists with None, frames), `Modalities`, or a torch data set.
            epochs: How often every row is seen.
            batch_size: Rows in a step, of all processes together.
            learning_rate: Of AMSGrad; None for 0.001.
            observed: Which rows have a modality, where holes are not marked in the data.
            validation: Rows, or the part of the rows, on which the weights with the best reconstruction are chosen:
                the likelihood of every modality by its dimension, where samples count as in the objective.
            clip_norm: Longest gradient.
            clip_expert_norm: Longest gradient of a row at the posterior of an expert: each is limited on its own.
            kl_warm_up: Number of epochs in which the KL weight rises from 0.
            learning_rate_warm_up: Number of epochs, or the part of one, in which the learning rate rises from 0.
            optimizer: Makes another optimiser from the parameters, with a learning rate of its own.
            device: "auto", "cpu", "cuda" or "cuda:1".
            precision: "32", "tf32" (on a GPU), or "bf16" and "16" where it is safe.
            compile: Whether to compile the model and, on a GPU, to replay steps as a CUDA graph: a minute at first,
                several times faster from then on. Networks must not branch on the numbers that pass through.
            fabric: A launched Lightning Fabric, for several processes; it brings device, precision and loggers.
            logger: A logger of Lightning Fabric, such as its TensorBoardLogger.
            folder: Where checkpoints are kept. A training that finds one there resumes exactly where it was; one with
                other rows or settings is refused.
            checkpoint_every: Steps between checkpoints; None for one after every epoch.
            log_every: Steps between rows of `history`; None for one after every epoch.
            seed: Of the order of rows, of the noise, of dropout, and of what methods draw.
            verbose: Whether to show progress: a bar on a terminal, elsewhere lines; "auto" none of short trainings.
        """
        seed = checked_seed(seed)
        warn_of_shared_networks(self.network)
        loop = train(
            self.core,
            data,
            Place(fabric, device, precision, logger, compile),
            self._read,
            observed=observed,
            validation=validation,
            optimizer=optimizer,
            learning_rate=learning_rate,
            epochs=epochs,
            batch_size=batch_size,
            clip_norm=clip_norm,
            clip_expert_norm=clip_expert_norm,
            kl_warm_up=kl_warm_up,
            learning_rate_warm_up=learning_rate_warm_up,
            folder=checked_folder(folder),
            checkpoint_every=checkpoint_every,
            log_every=log_every,
            seed=seed,
            seed_of_networks=self._seed,
            verbose=verbose,
        )
        self.history = loop.history
        self.codes, self._mixture = self.codes[:0].to(self.core.betas), None
        if isinstance(loop.data, Modalities):
            self.codes = sample_codes(self.network, loop.data, seed)
        return self.eval()

    def predict(
        self,
        given: Modalities | Mapping[str, Any],
        target: str | Sequence[str] | None = None,
        n: int | None = None,
        *,
        form: _answers.Form = "guess",
        seed: int = 0,
    ) -> dict[str, Any]:
        """Modalities generated from others.

        Args:
            given: The modalities that are known, by name; rows may lack some of them.
            target: What to generate; everything if None.
            n: How many versions of every row: values are then ``[n, N, ...]``. None for one, ``[N, ...]``.
            form: "guess": the likelihood's best guess in the form of the data, categories as codes, tables as frames.
                "mean": numbers, probabilities of categories. "sample": draws from the likelihood too.
            seed: Of the latent samples and draws. The i-th row has its own, whatever rows are beside it.

        Returns:
            A dictionary by modality, of one modality too.
        """
        targets, seed = _answers.chosen_names(self.network, target), checked_seed(seed)
        check_integer("n", n, optional=True)
        rows = self._read(given, partial=True, what="given")
        with evaluating(self.network):
            z = samples_by_row(_answers.posterior(self.network, rows), n or 1, seed)
            return _answers.generate(self.network, z if n else z[0], targets, form, seed)

    def sample(
        self,
        n: int,
        target: str | Sequence[str] | None = None,
        *,
        latent: Literal["prior", "mixture"] = "prior",
        form: _answers.Form = "guess",
        seed: int = 0,
    ) -> dict[str, Any]:
        """New rows of all modalities, or of some.

        Args:
            n: Number of rows.
            target: What to generate; everything if None.
            latent: Where they come from: the "prior", or a "mixture" of Gaussians fitted to codes of training rows.
            form: As in `predict`.
            seed: Of everything random.
        """
        check_integer("n", n)
        check_choice("latent", latent, ("prior", "mixture"))
        targets, seed = _answers.chosen_names(self.network, target), checked_seed(seed)
        with evaluating(self.network):
            z = self._latent_samples(n, latent, seed)
            return _answers.generate(self.network, z, targets, form, seed)

    def encode(self, given: Modalities | Mapping[str, Any], n: int | None = None, *, seed: int = 0) -> Tensor:
        """Latent codes given some modalities: the mean of the posterior ``[N, L]``, or n samples ``[n, N, L]``."""
        check_integer("n", n, optional=True)
        seed = checked_seed(seed)
        with evaluating(self.network):
            experts = _answers.posterior(self.network, self._read(given, partial=True, what="given"))
            return samples_by_row(experts, n, seed) if n else _answers.posterior_mean(experts)

    def log_likelihood(
        self,
        data: Modalities | Mapping[str, Any],
        given: str | Sequence[str] = (),
        target: str | Sequence[str] | None = None,
        *,
        n_samples: int = 1000,
        seed: int = 0,
    ) -> Tensor:
        """Importance-weighted log p(x_target | x_given) of every row in nats, ``[N]``.

        Args:
            data: The modalities; what a row lacks is left out.
            given: What is known; nothing by default.
            target: What is asked for; everything else by default.
            n_samples: Latent samples for a row. The estimate rises with it.
            seed: Of the samples.
        """
        check_integer("n_samples", n_samples)
        seed = checked_seed(seed)
        rows = self._read(data, partial=True)
        known, targets = _answers.known_and_target(self.network, rows, given, target)
        rows = _answers.complete(self.network, rows, self.shapes)
        with evaluating(self.network):
            return _answers.log_likelihoods(self.network, rows, known, targets, n_samples, self._generator(seed))

    def conflicts(self, data: Modalities | Mapping[str, Any]) -> Conflicts:
        """Where gradients conflict, and who is neglected, in one step of plain training on (512 of) these rows.

        Returns:
            A `Monitor` with ``sentences()``, ``table()`` and ``plot()`` that also has how its ``experts`` fare.
        """
        rows = self._read(data)
        if not len(rows):
            raise ArgumentError("data", "have at least one row", "none")
        return read_conflicts(self.core, rows, self._generator(0))

    def read(self, data: Modalities | Mapping[str, Any]) -> Modalities:
        """Rows as every method reads them, checked: holes become masks, and what is behind them is harmless."""
        return self._read(data)

    @property
    def network(self) -> MixtureVAE:
        """Encoders, decoders and likelihoods."""
        return self.core.network

    @property
    def blocks(self) -> nn.ModuleDict:
        """The impartiality blocks by goal."""
        return self.core.blocks

    @property
    def likelihoods(self) -> dict[str, Likelihood]:
        """The likelihoods by modality."""
        return {name: self.network.likelihood(name) for name in self.core.names}

    def save(self, path: str | Path) -> None:
        """Write the weights; networks are code, so `load` needs a model that was built in the same way."""
        save_weights(self, Path(path))

    def load(self, path: str | Path) -> MultimodalVAE:
        """Read the weights that `save` wrote into this model."""
        load_weights(self, Path(path))
        self._mixture = None
        return self.eval()

    @property
    def _device(self) -> torch.device:
        return self.core.betas.device

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self._device).manual_seed(seed)

    def _read(
        self, data: Any, *, partial: bool = False, observed: Mapping[str, Any] | None = None, what: str = "data"
    ) -> Modalities:
        return read_modalities(data, self.likelihoods, self.shapes, observed, partial=partial, what=what)

    def _latent_samples(self, n: int, latent: str, seed: int) -> Tensor:
        if latent == "prior":
            return prior_samples(n, self.codes, self._generator(seed))
        self._mixture = self._mixture or fit_codes(self.codes)
        return sample_mixture(self._mixture, n, seed, self.codes)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        if (saved := state_dict.get(prefix + "codes")) is not None:  # their number depends on the training rows
            self.codes = torch.empty_like(saved, device=self.codes.device, dtype=self.codes.dtype)
            self._mixture = None
        super()._load_from_state_dict(state_dict, prefix, *args)
