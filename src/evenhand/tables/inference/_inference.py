"""What fitted models say about rows: reconstructions, imputations, likelihoods. All for R replicas at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ..families import Family, How, Latent
from ..stack import Rows
from ._density import importance_weighted

BUDGET = 2**25  # numbers that a chunk of rows may take in memory


@torch.no_grad()
def reconstruct(model: Family, rows: Rows, index: Tensor, visible: Tensor | None = None) -> Tensor:
    """The paper's prediction: the mode of every likelihood at the mode of q(z|x), ``[R, n, D]`` in original units.

    Args:
        model: R replicas.
        rows: The table.
        index: Which rows, ``[n]``, or other ones for every replica ``[R, n]``.
        visible: 1 for cells that the encoder may see, ``[n, D]`` or ``[R, n, D]`` in the inner order; all if None.
    """

    def chunk(seen: Tensor, _: Tensor, __: Tensor) -> Tensor:
        latent = model.most_probable(seen)
        return model.likelihood.point(_natural(model, latent)).squeeze(1)

    return _by_chunks(model, rows, index, visible, 1, chunk)


@torch.no_grad()
def expectations(
    model: Family,
    rows: Rows,
    index: Tensor,
    visible: Tensor | None = None,
    *,
    n_samples: int = 32,
    weighted: bool = True,
    median: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Expected numbers and probabilities of categories given the visible cells, ``[R, n, targets]``.

    Args:
        model: R replicas.
        rows: The table.
        index: Which rows.
        visible: Which cells count as known; all observed ones if None.
        n_samples: Number of samples of z; 0 for the mode of q(z|x) alone.
        weighted: Whether samples are weighted by p(x, z) / q(z|x) of the visible cells.
        median: Whether numbers are the median over samples of z, and not the mean.
        generator: Where noise comes from.
    """
    noise = _noise(model, n_samples, index.device, generator) if n_samples else None

    def chunk(seen: Tensor, targets: Tensor, known: Tensor) -> Tensor:
        latent = model.most_probable(seen) if noise is None else model.infer(seen, _for_all(noise, seen))
        eta = _natural(model, latent)
        values = model.likelihood.expectation(eta)
        weights = torch.full_like(values[..., 0], 1 / values.shape[1])
        if weighted and noise is not None:
            weights = _log_weights(model, latent, eta, targets, known).softmax(1).to(values)
        mean = torch.einsum("rkn,rknt->rnt", weights, values)
        if not median:
            return mean
        numbers = model.likelihood.n_numbers
        return torch.cat([_weighted_median(values[..., :numbers], weights), mean[..., numbers:]], -1)

    return _by_chunks(model, rows, index, visible, max(n_samples, 1), chunk)


@torch.no_grad()
def direct_expectations(
    model: Family, rows: Rows, index: Tensor, visible: Tensor | None = None, how: How = "mean"
) -> Tensor:
    """Numbers and probabilities of categories by the direct way of a family that has one, ``[R, n, targets]``.

    Args:
        model: R replicas.
        rows: The table.
        index: Which rows.
        visible: Which cells count as known; all observed ones if None.
        how: Whether numbers are means, medians or modes.
    """
    direct = model.direct
    assert direct is not None

    def chunk(features: Tensor, _: Tensor, __: Tensor) -> Tensor:
        return direct.expectation(direct.outputs(features), how)

    return _by_chunks(model, rows, index, visible, 4, chunk)


@torch.no_grad()
def direct_outputs(model: Family, rows: Rows, index: Tensor, visible: Tensor | None = None) -> Tensor:
    """What the heads of the direct way of a family that has one give, ``[R, n, outputs]``."""
    direct = model.direct
    assert direct is not None
    return _by_chunks(model, rows, index, visible, 4, lambda features, _, __: direct.outputs(features))


@torch.no_grad()
def direct_losses(model: Family, rows: Rows, index: Tensor, visible: Tensor) -> Tensor:
    """The loss of the direct way on observed cells that are not visible, a mean over columns, ``[R]``."""
    direct = model.direct
    assert direct is not None
    inputs, targets, mask = rows.split(rows.record[index])
    known = mask * visible.to(mask)
    replicas = len(next(model.parameters()))
    found = (rows.seen(inputs, known), targets, mask - known)
    seen, targets, hidden = (t.expand(replicas, *t.shape) for t in found)
    was_training = model.training
    model.eval()
    try:
        return direct.loss(direct.outputs(model.look(seen)), targets, hidden) / model.likelihood.n
    finally:
        model.train(was_training)


@torch.no_grad()
def draws(
    model: Family,
    rows: Rows,
    index: Tensor,
    visible: Tensor | None = None,
    *,
    n_draws: int = 1,
    n_samples: int = 32,
    weighted: bool = True,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draws of all cells given the visible ones, ``[R, m, n, D]`` in original units, by importance resampling.

    With ``weighted=False`` draws come from q(z|x) as it is.
    """

    def chunk(seen: Tensor, targets: Tensor, known: Tensor) -> Tensor:
        latent = _sample(model, seen, n_samples if weighted else n_draws, generator)
        eta = _natural(model, latent)
        if not weighted:
            return model.likelihood.sample(eta, generator).transpose(1, 2)
        weights = _log_weights(model, latent, eta, targets, known).softmax(1)  # [R, K, n]
        flat = weights.transpose(1, 2).flatten(0, 1)
        chosen = torch.multinomial(flat, n_draws, replacement=True, generator=generator)
        picks = chosen.unflatten(0, (weights.shape[0], -1)).transpose(1, 2)  # [R, m, n]
        eta = eta.gather(1, picks.unsqueeze(-1).expand(-1, -1, -1, eta.shape[-1]))
        return model.likelihood.sample(eta, generator).transpose(1, 2)  # [R, n, m, D]

    return _by_chunks(model, rows, index, visible, max(n_samples, n_draws), chunk).transpose(1, 2)


@torch.no_grad()
def log_likelihood(
    model: Family,
    rows: Rows,
    index: Tensor,
    base: Tensor | None = None,
    *,
    n_samples: int = 100,
    generator: torch.Generator | None = None,
) -> Tensor:
    """An importance-weighted estimate of log p(x) of the observed cells, ``[R, n]``.

    Args:
        model: R replicas.
        rows: The table.
        index: Which rows.
        base: `TableLikelihood.base` of all rows, for densities in original units.
        n_samples: K.
        generator: Where noise comes from.
    """
    noise = _noise(model, n_samples, index.device, generator)

    def chunk(seen: Tensor, targets: Tensor, known: Tensor) -> Tensor:
        latent = model.infer(seen, _for_all(noise, seen))
        log_weights = _log_weights(model, latent, _natural(model, latent), targets, known)
        return importance_weighted(log_weights).unsqueeze(-1)

    found = _by_chunks(model, rows, index, None, n_samples, chunk).squeeze(-1)
    if base is None:
        return found
    mask = rows.split(rows.record)[2]
    return found + (base * mask).sum(-1)[index]


@torch.no_grad()
def rates_and_bounds(
    model: Family, rows: Rows, index: Tensor, *, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The rate, KL(q || p), and the ELBO (one sample, but for `base`) of every row ``[R, n]``.

    The rate is that of what goes through the latent variables of whole rows. The third is the mean of log p(x_d|z)
    over the cells observed, by column ``[R, D]`` in the inner order.
    """

    def chunk(seen: Tensor, targets: Tensor, known: Tensor) -> Tensor:
        latent = _sample(model, seen, 1, generator)
        log_p = _log_prob(model, _natural(model, latent), targets).squeeze(1) * known
        beside = torch.zeros_like(latent.kl) if latent.cells_kl is None else latent.cells_kl
        return torch.cat([torch.stack([latent.kl, beside], -1), log_p, known], -1)

    found = _by_chunks(model, rows, index, None, 1, chunk)
    rates, log_p, known = found.split([2, model.likelihood.n, model.likelihood.n], -1)
    return rates[..., 0], log_p.sum(-1) - rates.sum(-1), log_p.sum(1) / known.sum(1).clamp(min=1)


@torch.no_grad()
def encode(model: Family, rows: Rows, index: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    """Means of q(z|x), ``[R, n, L]``, or samples of it if there is a generator."""

    def chunk(seen: Tensor, _: Tensor, __: Tensor) -> Tensor:
        latent = model.most_probable(seen) if generator is None else _sample(model, seen, 1, generator)
        return latent.z.squeeze(1)

    return _by_chunks(model, rows, index, None, 1, chunk)


def _by_chunks(
    model: Family,
    rows: Rows,
    index: Tensor,
    visible: Tensor | None,
    n_samples: int,
    work: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> Tensor:
    replicas = len(next(model.parameters()))
    budget = BUDGET if index.device.type == "cpu" else 8 * BUDGET
    size = max(1, budget // (replicas * n_samples * model.likelihood.n_parameters))
    was_training = model.training
    model.eval()
    try:
        return torch.cat(
            [work(model.look(seen), *known) for seen, *known in _chunks(rows, index, visible, replicas, size)], 1
        )
    finally:
        model.train(was_training)


def _chunks(
    rows: Rows, index: Tensor, visible: Tensor | None, replicas: int, size: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Inputs as the encoder sees them, targets, and which cells are known; ``[R, n, ...]`` each."""
    for start in range(0, max(index.shape[-1], 1), size):
        part = index[..., start : start + size]
        inputs, targets, known = rows.split(rows.record[part])
        if visible is not None:
            known = known * visible[..., start : start + size, :].to(known)
        seen = rows.seen(inputs, known)
        found = (seen, targets, known)
        seen, targets, known = (t.expand(replicas, *t.shape) if t.ndim == 2 else t for t in found)
        yield seen, targets, known


def _sample(model: Family, seen: Tensor, n_samples: int, generator: torch.Generator | None) -> Latent:
    return model.infer(seen, _for_all(_noise(model, n_samples, seen.device, generator, rows=seen.shape[1]), seen))


def _noise(
    model: Family, n_samples: int, device: torch.device, generator: torch.Generator | None, rows: int = 1
) -> Tensor:
    """Noise for every row, or one for all of them; always the same for all replicas: they are to be compared."""
    dtype = next(model.parameters()).dtype
    return torch.randn(n_samples, rows, model.n_noise, generator=generator, device=device, dtype=dtype)


def _for_all(noise: Tensor, seen: Tensor) -> Tensor:
    """Noise for all replicas and rows. Where all rows share it, what one gets does not depend on its neighbours."""
    return noise.expand(seen.shape[0], -1, seen.shape[1], -1)


def _weighted_median(values: Tensor, weights: Tensor) -> Tensor:
    """The median over K of values ``[R, K, n, D]`` with weights ``[R, K, n]``."""
    ordered, order = values.sort(1)
    below = weights.unsqueeze(-1).expand_as(values).gather(1, order).cumsum(1)
    place = (below < 0.5 - 1e-9).sum(1, keepdim=True).clamp(max=values.shape[1] - 1)
    return ordered.gather(1, place).squeeze(1)


def _natural(model: Family, latent: Latent) -> Tensor:
    return model.natural(model.decode(latent))


def _log_prob(model: Family, eta: Tensor, targets: Tensor) -> Tensor:
    return model.likelihood.log_prob(eta, targets.unsqueeze(1), natural=True)


def _log_weights(model: Family, latent: Latent, eta: Tensor, targets: Tensor, known: Tensor) -> Tensor:
    log_p = (_log_prob(model, eta, targets) * known.unsqueeze(1)).sum(-1)
    return log_p + latent.log_prior - latent.log_q
