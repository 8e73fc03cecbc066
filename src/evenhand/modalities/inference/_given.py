"""Rows, a batch at a time, with latent samples given some of their modalities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor, nn

from ..models import Experts, MixtureVAE
from ..rows import Modalities
from ._posterior import posterior_samples

Subset = tuple[str, ...]
MOST_MODALITIES = 6


def all_subsets(names: Iterable[str]) -> list[Subset]:
    """All subsets of modalities but the empty one, as the paper orders them: single ones, pairs, ..., all.

    Example:
        >>> all_subsets("MST")
        [('M',), ('S',), ('T',), ('M', 'S'), ('M', 'T'), ('S', 'T'), ('M', 'S', 'T')]
    """
    modalities = list(names)
    if len(modalities) > MOST_MODALITIES:
        raise ValueError(
            f"subsets should be given for more than {MOST_MODALITIES} modalities. Found {len(modalities)}, which "
            f"have {2 ** len(modalities) - 1} subsets."
        )
    return [subset for n in range(1, len(modalities) + 1) for subset in combinations(modalities, n)]


def usual_subsets(names: Iterable[str]) -> list[Subset]:
    """All subsets of up to six modalities; of more only single ones, all but one, and all.

    Example:
        >>> len(usual_subsets("abcdef")), len(usual_subsets("abcdefg"))
        (63, 15)
    """
    modalities = list(names)
    n = len(modalities)
    if n <= MOST_MODALITIES:
        return all_subsets(modalities)
    return [subset for size in (1, n - 1, n) for subset in combinations(modalities, size)]


@dataclass(frozen=True)
class GivenBatch:
    """Rows that have all of a subset, and what is known given it.

    Attributes:
        subset: The given modalities.
        index: Which rows these are, ``[B]``.
        prepared: All modalities, as the likelihoods compare with them.
        observed: For a modality that not all rows have, which do.
        experts: The posterior.
        z: Samples of it, ``[n, B, L]``.
    """

    subset: Subset
    index: Tensor
    prepared: dict[str, Tensor]
    observed: Mapping[str, Tensor]
    experts: Experts
    z: Tensor


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Within it nothing is trained; afterwards every module is in the mode it was in."""
    modes = [(module, module.training) for module in network.modules()]
    try:
        network.eval()
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def checked_subsets(network: MixtureVAE, subsets: Iterable[Iterable[str]] | None) -> list[Subset]:
    """The subsets in the model's order of modalities; all if None."""
    if not isinstance(network, MixtureVAE):
        raise ValueError(f"network should be model.network of a MultimodalVAE. Found {type(network).__name__}.")
    if subsets is None:
        return all_subsets(network.names)
    ordered = []
    for subset in subsets:
        members = [subset] if isinstance(subset, str) else list(subset)
        unknown = [name for name in members if name not in network.names]
        if unknown:
            names = ", ".join(map(repr, network.names))
            raise ValueError(f"subsets should be of the modalities {names}. Found {unknown[0]!r}.")
        if not members:
            raise ValueError("subsets should have at least one modality each. Found an empty one.")
        ordered.append(tuple(name for name in network.names if name in members))
    return list(dict.fromkeys(ordered))


def batches_given(
    network: MixtureVAE, data: Modalities, subsets: Sequence[Subset], batch_size: int, seed: int, n_samples: int = 1
) -> Iterator[GivenBatch]:
    """All rows with samples given every subset; rows that lack a modality of a subset are left out for it."""
    absent = [name for name in network.names if name not in data.values]
    if absent:
        raise ValueError(f"data should have the modality {absent[0]!r}. Found {', '.join(data.names)}.")
    data = data.only(network.names)
    device = network.subsets.device
    generator = torch.Generator(device).manual_seed(seed)
    place = data.device
    for index in torch.arange(len(data), device=place).split(batch_size):
        rows = data.rows(index).to(device)
        whole = network.prepare(rows.values)
        for subset in subsets:
            masks = [rows.observed[name] for name in subset if name in rows.observed]
            prepared, observed, which = whole, rows.observed, index
            if masks:
                there = torch.stack(masks).all(0)
                if not there.any():
                    continue
                prepared = {name: x[there] for name, x in whole.items()}
                observed, which = {name: mask[there] for name, mask in observed.items()}, index[there.to(place)]
            experts = network.condition({name: prepared[name] for name in subset})
            z = posterior_samples(experts, n_samples, generator)
            yield GivenBatch(subset, which, prepared, observed, experts, z)


def some_rows(data: Modalities, labels: Tensor | None, n_rows: int | None, seed: int) -> tuple[Modalities, Tensor]:
    """Random rows if there are more than wanted, and their labels."""
    if labels is None:
        labels = torch.zeros(len(data), dtype=torch.long)
    if labels.shape != (len(data),):
        raise ValueError(f"labels should have one class for each of {len(data)} rows. Found {list(labels.shape)}.")
    if not len(data) or (n_rows is not None and n_rows < 1):
        raise ValueError(f"There should be at least one row. Found {len(data)} rows, and n_rows={n_rows}.")
    if n_rows is None or n_rows >= len(data):
        return data, labels
    index = torch.randperm(len(data), generator=torch.Generator().manual_seed(seed))[:n_rows]
    place = data.device
    return data.subset(index.to(place)), labels[index.to(labels.device)]
