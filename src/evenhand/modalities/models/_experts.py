"""Experts: which modalities are encoded together, and what the product of their posteriors is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import torch
from torch import Tensor

from ...common import ArgumentError, check_integer

ExpertsName = Literal["product", "mixture", "mixture-of-products"]
KINDS = ", ".join(map(repr, get_args(ExpertsName)))
MANY = 127


@dataclass(frozen=True)
class Experts:
    r"""Gaussian experts :math:`q_A(z | x_A)` of B rows; their mixture is the posterior.

    Attributes:
        mean: ``[A, B, L]``.
        scale: Standard deviations, ``[A, B, L]``.
        present: Which experts a row has, ``[A, B]``; None if all have all.
    """

    mean: Tensor
    scale: Tensor
    present: Tensor | None = None

    def rate(self) -> Tensor:
        r"""KL(q_A || p) to the standard normal prior in nats, ``[A, B]``; 0 where an expert is absent."""
        kl = (0.5 * (self.mean.square() + self.scale.square() - 1) - self.scale.log()).sum(-1)
        return kl if self.present is None else torch.where(self.present, kl, 0.0)

    def samples(self, noise: Tensor) -> Tensor:
        """Samples of every expert from standard normal numbers ``[A, K, B, L]``."""
        return torch.addcmul(self.mean.unsqueeze(1), self.scale.unsqueeze(1), noise)

    def shares(self) -> Tensor:
        """The same share for every expert that a row has, ``[A, B]``."""
        there = torch.ones_like(self.mean[..., 0]) if self.present is None else self.present.to(self.mean.dtype)
        return there / there.sum(0)

    def detach(self) -> Experts:
        """The same experts as constants."""
        return Experts(self.mean.detach(), self.scale.detach(), self.present)


def product_of_experts(mean: Tensor, scale: Tensor, members: Tensor, *, prior: bool = False) -> tuple[Tensor, Tensor]:
    r"""Mean and scale of products of Gaussians, :math:`q_A \propto \prod_{d \in A} q_d`, ``[A, B, L]``.

    Precisions add up, and means count by their precision. A product without members is the prior, N(0, I).

    Hinton, "Training products of experts by minimizing contrastive divergence", 2002.

    Args:
        mean: ``[D, B, L]``.
        scale: ``[D, B, L]``.
        members: Which Gaussians are in a product, ``[A, D]`` or for every row ``[A, D, B]``.
        prior: Whether N(0, I) is a member of every product.
    """
    precision = scale.square().reciprocal()
    members = members.to(precision.dtype)
    members = members.unsqueeze(-1) if members.ndim == 2 else members
    members = members.unsqueeze(-1)  # [A, D, B or 1, 1]
    # sums and no matrix products, which mixed precision would round
    total, weighted = (members * precision).sum(1), (members * (precision * mean)).sum(1)
    empty = members.sum(1) == 0
    total = total + 1 if prior else total + empty.to(total.dtype)
    return weighted / total, total.rsqrt()


def members_observed(subsets: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
    """What is left of the experts in rows with missing modalities.

    An expert is the product over those of its modalities that a row has. Where two experts become the same, one
    counts; where nothing is left of an expert, it is absent. Where nothing is left of any, the first one stays: a
    product of nothing, which is the prior.

    Args:
        subsets: The modalities of the experts, ``[A, D]``.
        observed: The modalities of the rows, ``[B, D]``.

    Returns:
        The members ``[A, D, B]``, and which experts are present ``[A, B]``.
    """
    members = subsets.unsqueeze(-1) & observed.mT  # [A, D, B]
    same = (members.unsqueeze(1) == members.unsqueeze(0)).all(2)  # [A, A', B]
    earlier = torch.ones(len(subsets), len(subsets), dtype=torch.bool, device=subsets.device).tril(-1)
    present = members.any(1) & ~(same & earlier.unsqueeze(-1)).any(1)
    present[0] |= ~present.any(0)
    return members, present


def expert_subsets(
    names: Sequence[str],
    experts: ExpertsName | Iterable[Iterable[str]],
    *,
    max_size: int | None = None,
    max_experts: int | None = None,
    seed: int = 0,
) -> list[tuple[str, ...]]:
    """The subsets of modalities that are experts.

    Args:
        names: The modalities.
        experts: "product": one expert of all modalities (MVAE). "mixture": one for every modality (MMVAE).
            "mixture-of-products": one for every subset (MoPoE). Or the subsets themselves.
        max_size: For a mixture of products, the size of its largest subsets; that of all modalities is always one.
        max_experts: For a mixture of products, the largest number of subsets. All single modalities and the set of
            all stay, others are chosen at random.
        seed: Of that choice.
    """
    check_integer("max_size", max_size, optional=True)
    check_integer("max_experts", max_experts, optional=True)
    if not isinstance(experts, str):
        if not isinstance(experts, Iterable):
            raise ArgumentError("experts", f"be {KINDS} or a list of subsets of modalities", repr(experts))
        return _check_subsets(names, experts)
    if experts != "mixture-of-products" and (max_size is not None or max_experts is not None):
        raise ValueError(f"max_size and max_experts should be left out with experts={experts!r}.")
    everyone = tuple(names)
    alone: list[tuple[str, ...]] = [(name,) for name in names]
    if experts == "product":
        return [everyone]
    if experts == "mixture":
        return alone
    if experts != "mixture-of-products":
        raise ArgumentError("experts", f"be {KINDS} or a list of subsets of modalities", repr(experts))
    sizes = range(2, len(names) if max_size is None else min(max_size + 1, len(names)))
    number = sum(math.comb(len(names), size) for size in sizes)
    whole = [everyone] if len(names) > 1 else []
    rest = len(alone + whole)
    if number + rest >= MANY and max_size is None and max_experts is None:
        raise ValueError(
            f"max_experts or max_size should be given for {len(names)} modalities, which have {number + rest} "
            "subsets."
        )
    if max_experts is not None and max_experts < rest:
        raise ValueError(
            f"max_experts should leave room for {len(names)} single modalities and the set of all. "
            f"Found {max_experts}."
        )
    if max_experts is None or number + rest <= max_experts:
        between = [subset for size in sizes for subset in combinations(everyone, size)]
    else:
        between = _some_subsets(everyone, list(sizes), max_experts - rest, seed)
    return alone + between + whole


def _some_subsets(names: tuple[str, ...], sizes: list[int], number: int, seed: int) -> list[tuple[str, ...]]:
    """Different random subsets of some sizes, each as probable as any other."""
    generator = torch.Generator().manual_seed(seed)
    ways = torch.tensor([float(math.comb(len(names), size)) for size in sizes], dtype=torch.float64)
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < number:
        size = sizes[int(torch.multinomial(ways, 1, generator=generator))]
        drawn.add(tuple(sorted(torch.randperm(len(names), generator=generator)[:size].tolist())))
    chosen = sorted(drawn, key=lambda members: (len(members), members))
    return [tuple(names[i] for i in members) for members in chosen]


def _check_subsets(names: Sequence[str], experts: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    subsets = []
    for expert in experts:
        members = [expert] if isinstance(expert, str) else list(expert)
        if not members:
            raise ValueError("experts should be subsets with at least one modality. Found an empty one.")
        for member in members:
            if member not in names:
                raise ValueError(f"experts should be subsets of {', '.join(map(repr, names))}. Found {member!r}.")
        subsets.append(tuple(name for name in names if name in members))
    if not subsets:
        raise ValueError("experts should have at least one subset. Found none.")
    if len(set(subsets)) < len(subsets):
        twice = next(s for s in subsets if subsets.count(s) > 1)
        raise ValueError(f"experts should be different subsets. Found {', '.join(twice)} twice.")
    return subsets
