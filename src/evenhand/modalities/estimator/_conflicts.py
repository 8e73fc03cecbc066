"""Where the gradients of a multimodal model conflict, before anything is done about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...impartial import Monitor, Sum
from ..rows import Modalities
from ..training import GOALS, ImpartialMixture

ROWS = 512  # at most


def read_conflicts(core: ImpartialMixture, rows: Modalities, generator: torch.Generator) -> Monitor:
    """What blocks of all goals read in one step of plain training on some of the rows, on a copy of the model."""
    few = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))[:ROWS].sort().values
    batch = rows.rows(few.to(rows.device)).to(core.betas.device)
    plain = core.with_methods({goal: Sum() for goal in GOALS})
    with torch.enable_grad():
        plain(batch.values, batch.mask(), plain.noise(len(batch), generator)).loss.backward()
    return _monitor(plain)


def _monitor(core: ImpartialMixture) -> Monitor:
    """All blocks under names that people understand."""
    experts, names = core.expert_names, core.names
    blocks: dict[str, Any] = {}
    heads: dict[str, Sequence[str]] = {}
    block: Any
    for goal, block in core.blocks.items():
        if goal == "DEI":
            blocks |= {f"the decoder of {name}": own for name, own in zip(names, block, strict=True)}
            heads |= {f"the decoder of {name}": experts for name in names}
        elif goal == "LI":
            blocks["the latent samples"], heads["the latent samples"] = block, names
        else:
            place = "the densities of the latent samples"
            blocks[place] = block
            heads[place] = [*experts, "prior"] if core.options.objective == "mmjsd" else experts
    monitor = Monitor(blocks, heads)
    monitor.record()
    return monitor
