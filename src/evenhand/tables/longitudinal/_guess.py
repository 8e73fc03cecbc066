"""What a trained network says about histories."""

from __future__ import annotations

import torch
from torch import Tensor

from ._network import HistoryVAE
from ._visits import Visits


@torch.no_grad()
def expectations(network: HistoryVAE, visits: Visits, visible: Tensor, *, direct: bool = True) -> Tensor:
    """Expected numbers and probabilities of categories of all cells, ``[N, T, targets]``, from visible ones.

    Args:
        network: A trained network.
        visits: The histories.
        visible: Which cells are seen, ``[N, T, D]``.
        direct: Whether guesses take the direct way, or the one through the means of the latent variables.
    """
    clock = visits.histories.clock
    seen, line = visits.seen(visible)
    context = network.context(seen, clock, visits.histories.present)
    if direct:
        outputs = network.direct_head(network.direct(context)) + network.skip(line)
    else:
        noise = clock.new_zeros(*clock.shape[:2], network.n_latent)
        outputs = network.head(network.infer(context, clock, noise).features)
    natural = network.likelihood.constrain(outputs)
    return network.likelihood.expectation(natural.unsqueeze(0))[0]


@torch.no_grad()
def rates(network: HistoryVAE, visits: Visits, visible: Tensor) -> Tensor:
    """KL(q || p) of every visit in nats, ``[visits]``, in the order of histories and time."""
    clock, present = visits.histories.clock, visits.histories.present
    context = network.context(visits.seen(visible)[0], clock, present)
    path = network.infer(context, clock, clock.new_zeros(*clock.shape[:2], network.n_latent))
    return path.kl[present]


@torch.no_grad()
def imagined(network: HistoryVAE, clock: Tensor, generator: torch.Generator) -> Tensor:
    """Cells of new histories in the units of the data, ``[N, T, D]``: one draw of everything."""
    noise = torch.randn(*clock.shape[:2], network.n_latent, generator=generator, dtype=clock.dtype)
    natural = network.likelihood.constrain(network.head(network.imagine(clock, noise)))
    return network.likelihood.sample(natural.unsqueeze(0), generator)[0]
