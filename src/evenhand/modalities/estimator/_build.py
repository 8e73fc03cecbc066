"""From modalities to the network of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ...common import ArgumentError, check_flag, check_integer, check_number, seeded
from ..models import ExpertsName, MixtureVAE, expert_subsets
from ..objectives import Balanced, Objective, Tightness
from ._modality import BuiltModality, Modality


def build_modalities(modalities: Mapping[str, Modality], n_latent: int, seed: int) -> dict[str, BuiltModality]:
    """All modalities with nothing left out, checked; networks that are made here have weights of this seed."""
    if not isinstance(modalities, Mapping) or not modalities:
        raise ValueError(f"modalities should be a dictionary with at least one Modality. Found {modalities!r}.")
    for name, modality in modalities.items():
        if not isinstance(modality, Modality):
            raise ValueError(f"modalities[{name!r}] should be a Modality. Found {type(modality).__name__}.")
    check_integer("n_latent", n_latent)
    with seeded(seed):
        return {name: modality.build(name, n_latent) for name, modality in modalities.items()}


def build_network(
    built: Mapping[str, BuiltModality],
    n_latent: int,
    experts: ExpertsName | Iterable[Iterable[str]],
    prior_expert: bool | None,
    max_size: int | None,
    max_experts: int | None,
    seed: int,
) -> MixtureVAE:
    """The network, with the experts of `expert_subsets`; a product has the prior as a member by default."""
    check_flag("prior_expert", prior_expert, optional=True)
    subsets = expert_subsets(list(built), experts, max_size=max_size, max_experts=max_experts, seed=seed)
    return MixtureVAE(
        {name: part.encoder for name, part in built.items()},
        {name: part.decoder for name, part in built.items()},
        {name: part.likelihood for name, part in built.items()},
        subsets=subsets,
        n_latent=n_latent,
        prior_expert=experts == "product" if prior_expert is None else prior_expert,
    )


def weights_in_order(weights: Mapping[str, float] | None, names: Sequence[str]) -> tuple[float, ...]:
    """What every modality counts; nothing if all count 1."""
    known = ", ".join(map(repr, names))
    if weights is not None and not isinstance(weights, Mapping):
        raise ArgumentError("likelihood_weights", f"be numbers by modality, of {known}", repr(weights))
    given = weights or {}
    for name, weight in given.items():
        if name not in names:
            raise ArgumentError("likelihood_weights", f"be numbers by modality, of {known}", repr(name))
        check_number(f"likelihood_weights[{name!r}]", weight, above=True)
    found = tuple(float(given.get(name, 1.0)) for name in names)
    return () if set(found) == {1.0} else found


def chosen_tightness(
    tightness: Tightness | Literal["auto"] | None, objective: Objective, n_experts: int
) -> Tightness | None:
    """What "auto" stands for: a bound under which experts live, where there are several and the bound is tight."""
    if tightness != "auto":
        if not isinstance(tightness, Tightness | None):
            raise ArgumentError("tightness", "be 'auto', None or a Tightness, such as Balanced(0.6)", repr(tightness))
        return tightness
    return Balanced() if objective == "siwae" and n_experts > 1 else None
