"""How well classes can be read from latent samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ...modalities.inference import Subset, batches_given, checked_subsets, evaluating, some_rows
from ...modalities.models import MixtureVAE
from ...modalities.rows import Modalities

RIDGE = 1e-4  # keeps the weights of a linear classifier finite where classes are separable


def latent_classification(
    network: MixtureVAE,
    train: Modalities,
    train_labels: Tensor,
    test: Modalities,
    test_labels: Tensor,
    *,
    subsets: Iterable[Iterable[str]] | None = None,
    n_train: int | None = 20_000,
    n_test: int | None = None,
    batch_size: int = 512,
    seed: int = 0,
) -> Tensor:
    """How well linear classifiers read the class from latent samples, and those of one subset from another's.

    A classifier for each subset A learns from one sample of q(z | x_A) for every row; the mean of the diagonal is
    "self", that of the rest "cross". Published are 30 epochs of Adam with new samples in each. The problem is
    convex and has a few hundred unknowns, so here it is solved: multinomial logistic regression by L-BFGS on
    standardised samples with a very small penalty. It needs no learning rate and takes seconds.

    Args:
        network: The model.
        train: Rows to learn from; one that lacks a modality of A does not count for A.
        train_labels: Their classes, ``[N]``.
        test: Rows to judge by.
        test_labels: Their classes.
        subsets: The sets A; all by default.
        n_train: Take so many random rows; None for all.
        n_test: Likewise.
        batch_size: Rows at once.
        seed: Of the rows and of the samples.

    Returns:
        ``[A, A']``: the accuracy on test samples given A of the classifier that learnt from samples given A'.
    """
    chosen = checked_subsets(network, subsets)
    n_classes = int(max(train_labels.max(), test_labels.max())) + 1
    learn = _samples_by_subset(network, *some_rows(train, train_labels, n_train, seed), chosen, batch_size, seed)
    judge = _samples_by_subset(network, *some_rows(test, test_labels, n_test, seed), chosen, batch_size, seed + 1)
    matrix = torch.full((len(chosen), len(chosen)), math.nan, dtype=torch.float64)
    for j, (z, y) in enumerate(learn[subset] for subset in chosen):
        if not len(z):
            continue
        weight, bias = _logistic_regression(z, y, n_classes)
        for i, (test_z, test_y) in enumerate(judge[subset] for subset in chosen):
            if len(test_z):
                found = torch.addmm(bias, test_z.double(), weight).argmax(-1)
                matrix[i, j] = (found == test_y).double().mean().cpu()
    return matrix


def _samples_by_subset(
    network: MixtureVAE, data: Modalities, labels: Tensor, subsets: Sequence[Subset], batch_size: int, seed: int
) -> dict[Subset, tuple[Tensor, Tensor]]:
    """Latent samples ``[N, L]`` given each subset, with the classes of their rows."""
    device = network.subsets.device
    nothing = (torch.empty(0, network.n_latent, device=device), torch.empty(0, dtype=torch.long, device=device))
    parts = {subset: [nothing] for subset in subsets}
    with evaluating(network):
        for batch in batches_given(network, data, subsets, batch_size, seed):
            parts[batch.subset].append((batch.z[0], labels[batch.index.to(labels.device)].long().to(device)))
    return {s: (torch.cat([z for z, _ in part]), torch.cat([y for _, y in part])) for s, part in parts.items()}


@torch.enable_grad()
def _logistic_regression(z: Tensor, y: Tensor, n_classes: int) -> tuple[Tensor, Tensor]:
    """Weight ``[L, C]`` and bias ``[C]`` of the best linear classifier, for samples as they are."""
    z = z.detach().double()
    centre, spread = z.mean(0), z.std(0, correction=0).clamp(min=1e-12)
    standard = (z - centre) / spread
    weight = torch.zeros(z.shape[1], n_classes, dtype=z.dtype, device=z.device, requires_grad=True)
    bias = torch.zeros(n_classes, dtype=z.dtype, device=z.device, requires_grad=True)
    solver = torch.optim.LBFGS([weight, bias], max_iter=300, tolerance_grad=1e-5, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        value = F.cross_entropy(torch.addmm(bias, standard, weight), y) + 0.5 * RIDGE * weight.square().sum()
        value.backward()
        return value

    solver.step(loss)
    found = weight.detach() / spread[:, None]
    return found, bias.detach() - centre @ found
