"""Where the gradients of a multimodal model conflict, and how its experts fare, before anything is done about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...impartial import Monitor, Sum
from ..rows import Modalities
from ..training import GOALS, ImpartialMixture, Step

ROWS = 512  # at most


class Conflicts(Monitor):
    """What blocks of all goals read in one step of plain training, and how every expert fares in it.

    Attributes:
        experts: A row for each expert, as columns: ``pandas.DataFrame(conflicts.experts)``. ``share`` is its part
            of the importance weights, ``rate`` the distance of its posterior from the prior in nats,
            ``gradient_norm`` the length of the gradient that a row has for its posterior, and
            ``log_likelihood_from/<modality>`` how well it tells a modality. What no row has is NaN.
        effective_experts: How many experts share the weight, on average over rows.
    """

    def __init__(
        self,
        blocks: Mapping[str, Any],
        heads: Mapping[str, Sequence[str]],
        experts: dict[str, list[Any]],
        effective_experts: float,
    ) -> None:
        super().__init__(blocks, heads)
        self.experts, self.effective_experts = experts, effective_experts

    def sentences(self, *, neglected: float = 0.5, last: int = 100) -> list[str]:
        """A plain sentence for every head that is neglected or worked against, and for every neglected expert.

        Args:
            neglected: A head is neglected if its share of the gradient, and an expert if its share of the weights,
                is below this part of an even share.
            last: How many of the last records are averaged.
        """
        found = super().sentences(neglected=neglected, last=last)
        names, even = self.experts["expert"], 1 / len(self.experts["expert"])
        for name, share, norm in zip(names, self.experts["share"], self.experts["gradient_norm"], strict=True):
            if share < neglected * even:
                found.append(
                    f"The expert {name!r} has {share:.2%} of the weights, where an even share would be {even:.0%}, "
                    f"and a gradient of {norm:.2g} nats; {self.effective_experts:.1f} of {len(names)} experts count."
                )
        return found


def read_conflicts(core: ImpartialMixture, rows: Modalities, generator: torch.Generator) -> Conflicts:
    """What there is to read in one step of plain training on some of the rows, on a copy of the model."""
    few = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))[:ROWS].sort().values
    batch = rows.rows(few.to(rows.device)).to(core.betas.device)
    plain = core.with_methods({goal: Sum() for goal in GOALS})
    probe = torch.zeros(len(core.expert_names), device=core.betas.device, dtype=core.betas.dtype, requires_grad=True)
    with torch.enable_grad():
        step = plain(batch.values, batch.mask(), plain.noise(len(batch), generator), probe=probe)
        step.loss.backward()
    squares = torch.zeros_like(probe) if probe.grad is None else probe.grad
    blocks, heads = _blocks(plain)
    conflicts = Conflicts(blocks, heads, _experts(core, step, squares), step.effective_experts.item())
    conflicts.record()
    return conflicts


def _experts(core: ImpartialMixture, step: Step, squares: Tensor) -> dict[str, list[Any]]:
    """The readings of a step as a table with a row for each expert."""
    numbers = {"share": (step.share, step.n_rate), "rate": (step.rate, step.n_rate)}
    numbers["gradient_norm"] = ((squares / step.n_rate.clamp(min=1)).sqrt(), step.n_rate)
    for d, name in enumerate(core.names):
        numbers[f"log_likelihood_from/{name}"] = (step.log_likelihood_from[:, d], step.n_likelihood_from[:, d])
    table = {name: mean.where(count > 0, torch.nan).tolist() for name, (mean, count) in numbers.items()}
    return {"expert": core.expert_names, **table}


def _blocks(core: ImpartialMixture) -> tuple[dict[str, Any], dict[str, Sequence[str]]]:
    """All blocks under names that people understand, and their heads."""
    experts, names = core.expert_names, core.names
    blocks: dict[str, Any] = {}
    heads: dict[str, Sequence[str]] = {}
    block: Any
    for goal, block in core.blocks.items():
        if goal == "DEI":
            for name, own, decoder in zip(names, block, core.network.decoders, strict=True):
                if any(p.requires_grad for p in decoder.parameters()):  # else nothing comes by
                    place = f"the decoder of {name}"
                    blocks[place], heads[place] = own, experts
        elif goal == "LI":
            blocks["the latent samples"], heads["the latent samples"] = block, names
        else:
            place = "the densities of the latent samples"
            blocks[place] = block
            heads[place] = [*experts, "prior"] if core.options.objective == "mmjsd" else experts
    return blocks, heads
