"""A VAE over images, text, labels and tables of the same things."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from ...common import LatentMixture
from ...impartial import Method, Monitor
from ..inference import decode_in_parts, evaluating, mixture_log_likelihood, posterior_samples
from ..likelihoods import Likelihood, Table
from ..models import Experts, MixtureVAE, expert_subsets
from ..rows import Modalities
from ..training import ImpartialMixture, Loop, Step, amsgrad, make_fabric, products_in
from ._conflicts import read_conflicts
from ._input import read_modalities
from ._modality import Modality
from ._weights_file import load_weights, save_weights

if TYPE_CHECKING:
    import numpy as np
    from lightning_fabric import Fabric

CODES_KEPT = 5_000
ROWS_FOR_CONFLICTS = 512
Form = Literal["guess", "mean", "sample"]


Answer = TypeVar("Answer")


def _evaluating(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """A method without gradients, in which dropout and batch normalisation are as after training."""

    @functools.wraps(method)
    def evaluated(self: MultimodalVAE, *args: Any, **kwargs: Any) -> Answer:
        with evaluating(self.network):
            return method(self, *args, **kwargs)

    return evaluated


class MultimodalVAE(nn.Module):
    r"""A VAE in which every modality can be generated from every other, trained so that none is left behind.

    Every modality has its encoder and its decoder. The posterior is a mixture of experts, each of them a product of
    the posteriors of some modalities, so that any modalities may be missing, in training and later.

    Args:
        modalities: The modalities by name.
        n_latent: Size of the latent space.
        experts: "product": one expert that has seen everything (MVAE). "mixture": one for each modality (MMVAE).
            "mixture-of-products": one for each subset of modalities (MoPoE). Or a list of subsets.
        objective: "elbo", "iwae" (loose), "siwae" (tight, prone to collapse), "mmjsd" or "contrastive".
        n_samples: Latent samples of every expert in a step (K).
        impartial: A method for each of the goals "LI" (no modality is neglected by the encoders), "EEI" (experts
            are interchangeable) and "DEI" (decoders serve every expert): ``{"LI": CAGrad(0.4)}``.
        gradient: "stl" (as in the paper), "dreg" or "plain".
        prior_expert: Whether the prior is a member of every product; by default with "product" only.
        preserve_norm: Whether blocks keep the length of the plain sum of gradients.
        local_step: Where likelihoods are brought to the same number of dimensions: in the "backward" pass,
            "forward" (then the reported bound is none), or "none".
        kl_weight: Weight of the rate.
        micro_batch: Decode about this many latent samples at a time, at least one for each row of a batch: the same
            gradients in less memory, slower.
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
        experts: Literal["product", "mixture", "mixture-of-products"] | Iterable[Iterable[str]] = "mixture",
        objective: Literal["elbo", "iwae", "siwae", "mmjsd", "contrastive"] = "iwae",
        n_samples: int = 10,
        impartial: Mapping[Literal["LI", "EEI", "DEI"], Method] | None = None,
        gradient: Literal["stl", "dreg", "plain"] = "stl",
        prior_expert: bool | None = None,
        preserve_norm: bool = True,
        local_step: Literal["backward", "forward", "none"] = "backward",
        kl_weight: float = 1.0,
        micro_batch: int | None = None,
        n_negatives: int = 5,
        contrast: float = 2.0,
        max_size: int | None = None,
        max_experts: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        _check_modalities(modalities, n_latent)
        names = list(modalities)
        experts = (
            experts if isinstance(experts, str) else [tuple(e) if not isinstance(e, str) else e for e in experts]
        )
        subsets = expert_subsets(names, experts, max_size=max_size, max_experts=max_experts, seed=seed)
        with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
            torch.manual_seed(seed)
            built = {name: modality.build(name, n_latent) for name, modality in modalities.items()}
        network = MixtureVAE(
            {name: part.encoder for name, part in built.items()},
            {name: part.decoder for name, part in built.items()},
            {name: part.likelihood for name, part in built.items()},
            subsets=subsets,
            n_latent=n_latent,
            prior_expert=experts == "product" if prior_expert is None else prior_expert,
        )
        self.shapes = {name: part.shape for name, part in built.items()}
        self.core = ImpartialMixture(
            network,
            dimensions=[part.likelihood.dimension(part.shape) for part in built.values()],
            objective=objective,
            n_samples=n_samples,
            gradient=gradient,
            impartial=impartial,
            preserve_norm=preserve_norm,
            local_step=local_step,
            kl_weight=kl_weight,
            micro_batch=micro_batch,
            n_negatives=n_negatives,
            contrast=contrast,
        )
        self.history: list[dict[str, float]] = []
        self.register_buffer("codes", torch.empty(0, n_latent))
        self._mixture: LatentMixture | None = None

    # training

    def forward(self, data: Modalities | Mapping[str, Any]) -> Step:
        """The loss of a batch and what it is made of, for a training loop of your own."""
        batch = self._read(data).to(self._device)
        return self.core(batch.values, batch.mask())

    def fit(
        self,
        data: Any,
        *,
        epochs: int = 30,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        observed: Mapping[str, Any] | None = None,
        validation: float | Modalities | Mapping[str, Any] | None = None,
        clip_norm: float | None = None,
        kl_warm_up: float = 0,
        optimizer: Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer] | None = None,
        device: str = "auto",
        precision: Literal["32", "tf32", "bf16", "16"] = "32",
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
            data: The modalities by name: tensors, arrays, lists with None, frames for tables; or `Modalities`; or a
                torch data set whose items are dictionaries of tensors.
            epochs: How often every row is seen.
            batch_size: Rows in a step, of all processes together.
            learning_rate: Of AMSGrad.
            observed: Which rows have a modality, where holes are not marked in the data.
            validation: Rows, or the part of the rows, on which the best weights are chosen: those with the best
                reconstruction, every log-likelihood divided by its dimension.
            clip_norm: Longest gradient.
            kl_warm_up: Number of epochs in which the KL weight rises from 0.
            optimizer: Makes another optimiser from the parameters.
            device: "auto", "cpu" or "cuda".
            precision: "32", "tf32" (on a GPU), or "bf16" and "16" where it is safe.
            compile: Whether to compile the model and, on a GPU, to replay steps as a CUDA graph: a minute at first,
                several times faster from then on. Networks must not look at the numbers that go through them.
            fabric: A Lightning Fabric that has been launched, in place of device, precision and logger; for
                several processes.
            logger: A logger of Lightning Fabric, such as its TensorBoardLogger.
            folder: Where checkpoints are kept. A training that finds one there goes on exactly where it was.
            checkpoint_every: Steps between checkpoints; None for one after every epoch.
            log_every: Steps between rows of `history`; None for one after every epoch.
            seed: Of the order of rows and of the noise.
            verbose: Whether to draw a progress bar; "auto" draws it on a terminal.
        """
        if compile and self.core.gradient == "dreg":
            raise ValueError("compile should be False with gradient='dreg', whose weights are known only at the end.")
        if compile and precision == "16":
            raise ValueError("precision should be 'bf16' with compile=True: a gradient scaler looks at numbers.")
        if fabric is not None and (device != "auto" or precision not in ("32", "tf32") or logger is not None):
            raise ValueError("device, precision and logger should be left out with a fabric, which brings its own.")
        for name, number in {"epochs": epochs, "batch_size": batch_size}.items():
            _check_number(name, number)
        for name, every in {"checkpoint_every": checkpoint_every, "log_every": log_every}.items():
            _check_number(name, every)
        if clip_norm is not None and not clip_norm > 0:
            raise ValueError(f"clip_norm should be a number > 0, or None. Found {clip_norm}.")
        rows, held_out = self._rows_for_fit(data, observed, validation, seed)
        with products_in(precision):
            fabric = make_fabric(device, precision, logger) if fabric is None else fabric
            loop = Loop(
                self.core,
                rows,
                fabric,
                optimizer or amsgrad(learning_rate, fabric),
                epochs=epochs,
                batch_size=batch_size,
                validation=held_out,
                clip_norm=clip_norm,
                kl_warm_up=kl_warm_up,
                seed=seed,
                folder=None if folder is None else Path(folder),
                checkpoint_every=checkpoint_every,
                log_every=log_every,
                compile=compile,
                verbose=verbose,
            )
            loop.run()
        self.history = loop.history
        self.codes, self._mixture = self.codes[:0].to(self.core.betas), None
        self.eval()
        if isinstance(loop.data, Modalities):
            self._keep_codes(loop.data, seed)
        return self

    # what a trained model is for

    @_evaluating
    def predict(
        self,
        given: Modalities | Mapping[str, Any],
        target: str | Sequence[str] | None = None,
        n: int | None = None,
        *,
        form: Form = "guess",
        seed: int = 0,
    ) -> dict[str, Any]:
        """Modalities generated from others.

        Args:
            given: The modalities that are known, by name; rows may lack some of them.
            target: What to generate; everything if None.
            n: How many versions of every row: values are then ``[n, N, ...]``. None for one, ``[N, ...]``.
            form: "guess": the likelihood's best guess in the form of the data, categories as codes, tables as frames.
                "mean": numbers, probabilities of categories. "sample": draws from the likelihood too.
            seed: Of the latent samples and of the draws.

        Returns:
            A dictionary by modality.
        """
        targets = self._targets(target)
        _check_number("n", n)
        experts = self._condition(self._read(given, partial=True))
        generator = self._generator(seed)
        z = posterior_samples(experts, n or 1, generator)
        return {name: self._generate(z if n else z[0], name, form, generator) for name in targets}

    @_evaluating
    def sample(
        self,
        n: int,
        target: str | Sequence[str] | None = None,
        *,
        latent: Literal["prior", "mixture"] = "prior",
        form: Form = "guess",
        seed: int = 0,
    ) -> dict[str, Any]:
        """New rows of all modalities, or of some.

        Args:
            n: Number of rows.
            target: What to generate; everything if None.
            latent: Where latent samples come from: the "prior", or a "mixture" of Gaussians that is fitted to the
                latent samples of training rows.
            form: As in `predict`.
            seed: Of everything random.
        """
        _check_number("n", n)
        targets, generator = self._targets(target), self._generator(seed)
        if latent == "prior":
            z = torch.randn(n, self.codes.shape[1], generator=generator, device=self._device, dtype=self.codes.dtype)
        elif latent == "mixture":
            z = self._latent_mixture(n, seed)
        else:
            raise ValueError(f"latent should be 'prior' or 'mixture'. Found {latent!r}.")
        return {name: self._generate(z, name, form, generator) for name in targets}

    @_evaluating
    def encode(self, given: Modalities | Mapping[str, Any], n: int | None = None, *, seed: int = 0) -> Tensor:
        """Latent codes given some modalities: the mean of the posterior ``[N, L]``, or n samples ``[n, N, L]``."""
        _check_number("n", n)
        experts = self._condition(self._read(given, partial=True))
        if n is not None:
            return posterior_samples(experts, n, self._generator(seed))
        if experts.present is None:
            return experts.mean.mean(0)
        there = experts.present.unsqueeze(-1)
        return torch.where(there, experts.mean, 0.0).sum(0) / there.sum(0)

    @_evaluating
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
        _check_number("n_samples", n_samples)
        known = self._targets(given, "given") if given else []
        targets = self._targets(target) if target is not None else [n for n in self.core.names if n not in known]
        if not targets or set(targets) & set(known):
            raise ValueError(f"target should be modalities that are not given. Found {targets} given {known}.")
        rows = self._read(data, partial=True)
        absent = [name for name in [*known, *targets] if name not in rows.values]
        if absent or (not known and len(rows.values) < len(self.core.names)):
            names = absent or [name for name in self.core.names if name not in rows.values]
            raise ValueError(f"data should have the modality {names[0]!r}. Found {', '.join(rows.names)}.")
        generator, found = self._generator(seed), []
        rows = self._complete(rows)
        for index in torch.arange(len(rows), device=rows.device).split(32):
            part = rows.rows(index).to(self._device)
            mask = part.mask()
            _check_given(mask, known, self.core.names)
            found.append(
                mixture_log_likelihood(
                    self.network,
                    part.values,
                    mask,
                    given=known,
                    target=targets,
                    n_samples=n_samples,
                    generator=generator,
                )
            )
        return torch.cat(found)

    def conflicts(self, data: Modalities | Mapping[str, Any]) -> Monitor:
        """Where gradients conflict, and who is neglected, in one step of plain training on (512 of) these rows.

        Returns:
            A `Monitor`: ``print(*monitor.sentences())``, ``monitor.table()``, ``monitor.plot()``.
        """
        rows = self._read(data)
        few = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))[:ROWS_FOR_CONFLICTS].sort().values
        rows = rows.rows(few.to(rows.device)).to(self._device)
        return read_conflicts(self.core, rows, self._generator(0))

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

    # inside

    @property
    def _device(self) -> torch.device:
        return self.core.betas.device

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self._device).manual_seed(seed)

    def _read(self, data: Any, *, partial: bool = False, observed: Mapping[str, Any] | None = None) -> Modalities:
        return read_modalities(data, self.likelihoods, self.shapes, observed, partial=partial)

    def _rows_for_fit(
        self, data: Any, observed: Mapping[str, Any] | None, validation: Any, seed: int
    ) -> tuple[Any, Modalities | None]:
        if not isinstance(data, Modalities | Mapping):
            if not (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
                raise ValueError(f"data should be a dictionary of modalities by name. Found {type(data).__name__}.")
            if not len(data) or not isinstance(data[0], Mapping):
                found = type(data[0]).__name__ if len(data) else "none"
                raise ValueError(f"data should be a dictionary, or a data set of dictionaries. Found {found}.")
            if observed is not None:
                raise ValueError("observed should be left out where data are a torch data set, which has no holes.")
            self._read({name: torch.as_tensor(x)[None] for name, x in data[0].items()})
            if isinstance(validation, int | float):
                raise ValueError("validation should be rows of their own where data are a torch data set.")
            return data, None if validation is None else self._read(validation)
        rows = self._read(data, observed=observed)
        if not isinstance(validation, int | float):
            return rows, None if validation is None else self._read(validation)
        if not 0 < validation < 1:
            raise ValueError(f"validation should be a part of the rows between 0 and 1. Found {validation}.")
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
        number = max(1, round(validation * len(rows)))
        return rows.subset(order[number:]), rows.subset(order[:number])

    def _condition(self, rows: Modalities) -> Experts:
        """The posterior of all rows, a part at a time."""
        parts = []
        for index in torch.arange(len(rows), device=rows.device).split(1024):
            part = rows.rows(index).to(self._device)
            ordered = part.only([name for name in self.core.names if name in part.values])
            parts.append(self.network.condition(self.network.prepare(ordered.values), ordered.mask()))
        present = None if parts[0].present is None else torch.cat([p.present for p in parts], 1)  # type: ignore[misc]
        return Experts(torch.cat([p.mean for p in parts], 1), torch.cat([p.scale for p in parts], 1), present)

    def _complete(self, rows: Modalities) -> Modalities:
        """In the order of the model, with modalities that are missing altogether marked as such."""
        values, masks = dict(rows.values), dict(rows.observed)
        for name in self.core.names:
            if name not in values:
                dtype = self.network.likelihood(name).prepare(torch.zeros(1, *self.shapes[name])).dtype
                values[name] = torch.zeros(len(rows), *self.shapes[name], dtype=dtype, device=rows.device)
                masks[name] = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
        return Modalities({name: values[name] for name in self.core.names}, dict(rows.index), masks)

    def _generate(self, z: Tensor, name: str, form: Form, generator: torch.Generator) -> Any:
        likelihood, parameters = self.network.likelihood(name), decode_in_parts(self.network, z, name)
        if form == "sample":
            values = likelihood.sample(parameters, generator)
        elif form in ("guess", "mean"):
            values = likelihood.guess(parameters) if form == "guess" else likelihood.mean(parameters)
        else:
            raise ValueError(f"form should be 'guess', 'mean' or 'sample'. Found {form!r}.")
        if isinstance(likelihood, Table) and form != "mean":
            return likelihood.frame(values) if z.ndim == 2 else [likelihood.frame(v) for v in values]
        return values.contiguous()

    def _targets(self, names: str | Sequence[str] | None, what: str = "target") -> list[str]:
        wanted = self.core.names if names is None else [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if name not in self.core.names:
                known = ", ".join(map(repr, self.core.names))
                raise ValueError(f"{what} should be some of the modalities {known}. Found {name!r}.")
        if not wanted:
            raise ValueError(f"{what} should be at least one modality. Found none.")
        return list(wanted)

    @torch.no_grad()
    def _keep_codes(self, rows: Modalities, seed: int) -> None:
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))[:CODES_KEPT]
        experts = self._condition(rows.subset(order.to(rows.device)))
        self.codes = posterior_samples(experts, 1, self._generator(seed))[0]

    def _latent_mixture(self, n: int, seed: int) -> Tensor:
        if not len(self.codes):
            raise RuntimeError("latent='mixture' needs a model that was fitted to Modalities or a dictionary first.")
        import numpy as np

        if self._mixture is None:
            self._mixture = LatentMixture().fit(self.codes.double().cpu().numpy(), seed=0)
        drawn: np.ndarray = self._mixture.sample(n, np.random.default_rng(seed))
        return torch.as_tensor(drawn).to(self.codes)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        if (saved := state_dict.get(prefix + "codes")) is not None:  # their number depends on the training rows
            self.codes = torch.empty_like(saved, device=self.codes.device, dtype=self.codes.dtype)
        super()._load_from_state_dict(state_dict, prefix, *args)


def _check_modalities(modalities: Mapping[str, Modality], n_latent: int) -> None:
    if not isinstance(modalities, Mapping) or not modalities:
        raise ValueError(f"modalities should be a dictionary with at least one Modality. Found {modalities!r}.")
    for name, modality in modalities.items():
        if not isinstance(modality, Modality):
            raise ValueError(f"modalities[{name!r}] should be a Modality. Found {type(modality).__name__}.")
    if isinstance(n_latent, bool) or not isinstance(n_latent, int) or n_latent < 1:
        raise ValueError(f"n_latent should be an integer >= 1. Found {n_latent!r}.")


def _check_number(name: str, n: int | None) -> None:
    if n is not None and (isinstance(n, bool) or not hasattr(n, "__index__") or n < 1):
        raise ValueError(f"{name} should be an integer of at least 1. Found {n}.")


def _check_given(mask: Tensor | None, known: Sequence[str], names: Sequence[str]) -> None:
    if mask is not None and known:
        index = [names.index(name) for name in known]
        if not mask[:, index].any(1).all():
            raise ValueError(f"Every row should have one of the given modalities {', '.join(known)}. One has none.")
