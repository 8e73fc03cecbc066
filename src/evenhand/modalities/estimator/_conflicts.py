"""Where the gradients of a multimodal model conflict, before anything is done about it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from ...impartial import Monitor, Sum
from ..rows import Modalities
from ..training import ImpartialMixture


def read_conflicts(core: ImpartialMixture, rows: Modalities, generator: torch.Generator) -> Monitor:
    """What all blocks read in one step of plain training, on a copy of the model."""
    plain = ImpartialMixture(
        copy.deepcopy(core.network),
        dimensions=core.dimensions,
        objective=core.objective,
        n_samples=core.n_samples,
        gradient=core.gradient,
        impartial={"LI": Sum(), "EEI": Sum(), "DEI": Sum()},
        local_step=core.local_step,
        kl_weight=core.kl_weight,
        micro_batch=core.micro_batch,
        n_negatives=core.n_negatives,
        contrast=core.contrast,
    ).to(core.betas.device, core.betas.dtype)
    with torch.enable_grad():
        plain(rows.values, rows.mask(), plain.noise(len(rows), generator)).loss.backward()
    return _monitor(plain)


def _monitor(core: ImpartialMixture) -> Monitor:
    """All blocks under names that people understand."""
    experts, names = core.expert_names, core.names
    blocks: dict[str, Any] = {}
    heads: dict[str, Sequence[str]] = {}
    for goal, found in core.blocks.items():
        block: Any = found
        if goal == "DEI":
            blocks |= {f"the decoder of {name}": own for name, own in zip(names, block, strict=True)}
            heads |= {f"the decoder of {name}": experts for name in names}
        elif goal == "LI":
            blocks["the latent samples"], heads["the latent samples"] = block, names
        else:
            place = "the densities of the latent samples"
            blocks[place] = block
            heads[place] = [*experts, "prior"] if core.objective == "mmjsd" else experts
    monitor = Monitor(blocks, heads)
    monitor.record()
    return monitor
