"""What a multimodal model generates given every subset of modalities: coherence, densities, rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from ...datasets.judges import Classifiers
from ...modalities.inference import (
    Subset,
    batches_given,
    checked_subsets,
    decode_in_parts,
    evaluating,
    some_rows,
    stratified_samples,
)
from ...modalities.models import Experts, MixtureVAE
from ...modalities.rows import Modalities

Judged = dict[tuple[Subset, str], float]
"""A number for what is given and what is judged."""


def coherence(
    network: MixtureVAE,
    data: Modalities,
    labels: Tensor,
    classifiers: Classifiers,
    *,
    subsets: Iterable[Iterable[str]] | None = None,
    n_rows: int | None = None,
    batch_size: int = 512,
    seed: int = 0,
) -> Judged:
    r"""How often what is generated from some modalities shows what the row shows.

    One sample :math:`z \sim q(z | x_A)` for each row, decoded to the expected item of every modality d, which its
    classifier judges. Probabilities of symbols go to the classifier as they are, as published.

    Args:
        network: The model, evaluated where it is.
        data: Test rows; one that lacks a modality of A does not count for A.
        labels: Their classes, ``[N]``.
        classifiers: Of the modalities to judge.
        subsets: The sets A of given modalities; all by default.
        n_rows: Take so many random rows; None for all.
        batch_size: Rows at once.
        seed: Of the rows and of the latent samples.

    Returns:
        By A and d, the share of rows that are right.
    """
    chosen, (data, labels) = checked_subsets(network, subsets), some_rows(data, labels, n_rows, seed)
    targets = [name for name in network.names if name in classifiers.modules]
    counts, right = dict.fromkeys(chosen, 0), {(subset, d): 0 for subset in chosen for d in targets}
    modules = classifiers.on(network.subsets.device)
    with evaluating(network):
        for batch in batches_given(network, data, chosen, batch_size, seed):
            truth = labels[batch.index.to(labels.device)].to(batch.z.device)
            counts[batch.subset] += len(truth)
            for d in targets:
                found = _classes(network, modules[d], batch.z[0], d)
                right[batch.subset, d] += int((found == truth).sum())
    return {key: n / counts[key[0]] if counts[key[0]] else math.nan for key, n in right.items()}


def coherence_summary(table: Mapping[tuple[Subset, str], float], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Coherence in the paper's three views, each by modality d.

    "self": given d alone. "cross": the mean over the sets without d. "reconstruction": given everything. A view
    lacks the modalities for which nothing was measured.

    Args:
        table: By what is given and what is judged.
        names: All modalities of the model, in its order.
    """
    views: dict[str, dict[str, float]] = {"self": {}, "cross": {}, "reconstruction": {}}
    for d in names:
        by_subset = {s: value for (s, target), value in table.items() if target == d and not math.isnan(value)}
        for view, values in (
            ("self", [value for subset, value in by_subset.items() if subset == (d,)]),
            ("cross", [value for subset, value in by_subset.items() if d not in subset]),
            ("reconstruction", [value for subset, value in by_subset.items() if subset == tuple(names)]),
        ):
            if values:
                views[view][d] = sum(values) / len(values)
    return views


def joint_coherence(
    network: MixtureVAE, classifiers: Classifiers, *, n: int = 10_000, batch_size: int = 512, seed: int = 0
) -> float:
    """The share of latent samples of the prior for which all classifiers see the same class.

    Args:
        network: The model.
        classifiers: Of at least two modalities.
        n: Number of samples.
        batch_size: Samples at once.
        seed: Of the samples.
    """
    modules = {name: m for name, m in classifiers.on(network.subsets.device).items() if name in network.names}
    if len(modules) < 2:
        raise ValueError(f"classifiers should be of two modalities or more. Found {', '.join(modules)}.")
    device = network.subsets.device
    dtype = next((p.dtype for p in network.parameters()), torch.get_default_dtype())
    generator = torch.Generator(device).manual_seed(seed)
    z = torch.randn(n, network.n_latent, generator=generator, device=device, dtype=dtype)
    agree = 0
    with evaluating(network):
        for part in z.split(batch_size):
            found = torch.stack([_classes(network, module, part, d) for d, module in modules.items()])
            agree += int((found == found[0]).all(0).sum())
    return agree / n


def conditional_log_likelihoods(
    network: MixtureVAE,
    data: Modalities,
    *,
    subsets: Iterable[Iterable[str]] | None = None,
    n_samples: int = 1,
    n_rows: int | None = None,
    batch_size: int = 512,
    seed: int = 0,
) -> Judged:
    r"""The paper's conditional log-likelihoods :math:`E_{q(z | x_A)} \log p(x_d | z)`, divided by the dimension of d.

    They say how well d is generated from A. They are no log p(x_d | x_A), which `mixture_log_likelihood` estimates.

    Args:
        network: The model.
        data: Test rows; those that lack a modality of A, or d, do not count.
        subsets: The sets A; all by default.
        n_samples: Latent samples of every row.
        n_rows: Take so many random rows; None for all.
        batch_size: Rows at once.
        seed: Of the rows and of the latent samples.

    Returns:
        By A and d, the mean over rows; `sum_over_targets` adds them up over d.
    """
    chosen, (data, _) = checked_subsets(network, subsets), some_rows(data, None, n_rows, seed)
    sums, counts = ({(subset, name): 0.0 for subset in chosen for name in network.names} for _ in range(2))
    with evaluating(network):
        for batch in batches_given(network, data, chosen, batch_size, seed, n_samples):
            for name in network.names:
                parameters = decode_in_parts(network, batch.z, name)
                likelihood, x = network.likelihood(name), batch.prepared[name]
                log_p = likelihood.log_prob(parameters, x).mean(0).double() / likelihood.dimension(tuple(x.shape[1:]))
                there = batch.observed.get(name, torch.ones_like(log_p, dtype=torch.bool))
                sums[batch.subset, name] += torch.where(there, log_p, 0.0).sum().item()
                counts[batch.subset, name] += there.sum().item()
    return {key: total / counts[key] if counts[key] else math.nan for key, total in sums.items()}


def sum_over_targets(table: Mapping[tuple[Subset, str], float]) -> dict[Subset, float]:
    """The sums over all that is generated, by what is given: the paper's X | M, X | S, ..."""
    totals: dict[Subset, float] = {}
    for (subset, _), value in table.items():
        totals[subset] = totals.get(subset, 0.0) + value
    return totals


def rates(
    network: MixtureVAE,
    data: Modalities,
    *,
    subsets: Iterable[Iterable[str]] | None = None,
    n_samples: int = 16,
    n_rows: int | None = None,
    batch_size: int = 512,
    seed: int = 0,
) -> dict[Subset, float]:
    """The mean of KL(q(z | x_A) || p(z)) in nats for every subset A: what the latent variables say about a row.

    A rate near 0 is a collapsed posterior, whatever the other scores are. It is exact where the posterior is one
    Gaussian, and estimated from samples of every component where it is a mixture.

    Args:
        network: The model.
        data: Test rows; one that lacks a modality of A does not count for A.
        subsets: The sets A; all by default.
        n_samples: Latent samples of every row and component, for mixtures.
        n_rows: Take so many random rows; None for all.
        batch_size: Rows at once.
        seed: Of the rows and of the samples.
    """
    chosen, (data, _) = checked_subsets(network, subsets), some_rows(data, None, n_rows, seed)
    sums, counts = dict.fromkeys(chosen, 0.0), dict.fromkeys(chosen, 0)
    generator = torch.Generator(network.subsets.device).manual_seed(seed)
    with evaluating(network):
        for batch in batches_given(network, data, chosen, batch_size, seed):
            sums[batch.subset] += _rate(batch.experts, n_samples, generator).double().sum().item()
            counts[batch.subset] += len(batch.index)
    return {subset: total / counts[subset] if counts[subset] else math.nan for subset, total in sums.items()}


def _classes(network: MixtureVAE, module: nn.Module, z: Tensor, name: str) -> Tensor:
    """What a classifier sees in the expected items of samples ``[B, L]``."""
    expected = network.likelihood(name).mean(decode_in_parts(network, z, name))
    dtype = next((p.dtype for p in module.parameters()), expected.dtype)
    return module(expected.to(dtype)).argmax(-1)


def _rate(experts: Experts, n_samples: int, generator: torch.Generator) -> Tensor:
    """KL(q || p) of every row, ``[B]``."""
    if len(experts.mean) == 1:
        return experts.rate()[0]
    _, log_ratio = stratified_samples(experts, n_samples, generator)
    return -log_ratio.mean((0, 1))
