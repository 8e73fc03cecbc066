"""What a trained network answers: posteriors, generated modalities and densities of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ...common import ArgumentError, check_choice
from ..inference import decode_in_parts, mixture_log_likelihood, row_seeds
from ..likelihoods import Likelihood
from ..models import Experts, MixtureVAE
from ..rows import Modalities

Form = Literal["guess", "mean", "sample"]
ENCODED_AT_ONCE = 1024  # rows
SCORED_AT_ONCE = 32  # rows, each with many latent samples


def posterior(network: MixtureVAE, rows: Modalities) -> Experts:
    """The posterior of all rows given the modalities that they have, a part at a time."""
    parts = []
    for index in torch.arange(len(rows), device=rows.device).split(ENCODED_AT_ONCE):
        part = rows.rows(index).to(network.subsets.device)
        ordered = part.only([name for name in network.names if name in part.values])
        parts.append(network.condition(network.prepare(ordered.values), ordered.mask()))
    present = None if parts[0].present is None else torch.cat([p.present for p in parts], 1)  # type: ignore[misc]
    return Experts(torch.cat([p.mean for p in parts], 1), torch.cat([p.scale for p in parts], 1), present)


def posterior_mean(experts: Experts) -> Tensor:
    """The mean of the mixture, ``[B, L]``."""
    if experts.present is None:
        return experts.mean.mean(0)
    there = experts.present.unsqueeze(-1)
    return torch.where(there, experts.mean, 0.0).sum(0) / there.sum(0)


def generate(network: MixtureVAE, z: Tensor, names: Sequence[str], form: Form, seed: int) -> dict[str, Any]:
    """Modalities for latent samples ``[..., B, L]``, in the form that `MultimodalVAE.predict` describes."""
    check_choice("form", form, get_args(Form))
    return {name: _generate(network, z, name, form, seed) for name in names}


def _generate(network: MixtureVAE, z: Tensor, name: str, form: Form, seed: int) -> Any:
    likelihood, parameters = network.likelihood(name), decode_in_parts(network, z, name)
    if form == "mean":
        return likelihood.mean(parameters).contiguous()
    if form == "guess":
        return likelihood.as_data(likelihood.guess(parameters))
    seeds = row_seeds(seed, network.names.index(name), z.shape[-2])
    return likelihood.as_data(_draws(likelihood, parameters, z.ndim - 2, seeds))


def _draws(likelihood: Likelihood, parameters: Tensor, axis: int, seeds: Sequence[int]) -> Tensor:
    """One draw of every item; each row along the axis has a seed of its own, and so does not depend on others."""
    generator = torch.Generator(parameters.device)
    if not seeds:
        return likelihood.sample(parameters, generator)
    rows = zip(parameters.split(1, axis), seeds, strict=True)
    return torch.cat([likelihood.sample(row, generator.manual_seed(seed)) for row, seed in rows], axis)


def log_likelihoods(
    network: MixtureVAE,
    rows: Modalities,
    given: Sequence[str],
    target: Sequence[str],
    n_samples: int,
    generator: torch.Generator,
) -> Tensor:
    """log p(x_target | x_given) of every row, ``[N]``; the rows have all modalities of the network, or marks."""
    scores = []
    for index in torch.arange(len(rows), device=rows.device).split(SCORED_AT_ONCE):
        part = rows.rows(index).to(network.subsets.device)
        mask = part.mask()
        _check_given(mask, given, network.names)
        scores.append(
            mixture_log_likelihood(
                network, part.values, mask, given=given, target=target, n_samples=n_samples, generator=generator
            )
        )
    return torch.cat(scores)


def complete(network: MixtureVAE, rows: Modalities, shapes: Mapping[str, tuple[int, ...]]) -> Modalities:
    """In the order of the network, with modalities that are missing altogether marked as such."""
    values, masks = dict(rows.values), dict(rows.observed)
    for name in network.names:
        if name not in values:
            dtype = network.likelihood(name).prepare(torch.zeros(1, *shapes[name])).dtype
            values[name] = torch.zeros(len(rows), *shapes[name], dtype=dtype, device=rows.device)
            masks[name] = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
    return Modalities({name: values[name] for name in network.names}, dict(rows.index), masks)


def known_and_target(
    network: MixtureVAE, rows: Modalities, given: str | Sequence[str], target: str | Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """The modalities that a density is given and those that it is of, once the rows have been looked at."""
    known = chosen_names(network, given, "given") if given else []
    others = [name for name in network.names if name not in known]
    targets = others if target is None else chosen_names(network, target)
    if not targets or set(targets) & set(known):
        raise ValueError(f"target should be modalities that are not given. Found {targets} given {known}.")
    absent = [name for name in [*known, *targets] if name not in rows.values]
    if absent:
        raise ValueError(f"data should have the modality {absent[0]!r}. Found {', '.join(rows.names)}.")
    return known, targets


def chosen_names(network: MixtureVAE, names: str | Sequence[str] | None, what: str = "target") -> list[str]:
    """Some of the modalities; all if None."""
    if not isinstance(names, str | Iterable | None):
        raise ArgumentError(what, "be a modality or several of them", repr(names))
    wanted = network.names if names is None else [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in network.names:
            known = ", ".join(map(repr, network.names))
            raise ValueError(f"{what} should be some of the modalities {known}. Found {name!r}.")
    if not wanted:
        raise ValueError(f"{what} should be at least one modality. Found none.")
    return list(wanted)


def _check_given(mask: Tensor | None, known: Sequence[str], names: Sequence[str]) -> None:
    if mask is not None and known:
        index = [names.index(name) for name in known]
        if not mask[:, index].any(1).all():
            raise ValueError(f"Every row should have one of the given modalities {', '.join(known)}. One has none.")
