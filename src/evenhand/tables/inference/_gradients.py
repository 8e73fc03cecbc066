"""How the gradients of a table's columns meet in a model, as plain training would add them up."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ...impartial import LinearBlock, Reading, Sum
from ..families import Family, Latent
from ..stack import Rows


def head_gradients(model: Family, rows: Rows, index: Tensor) -> Reading:
    """The gradients of all columns at the (first) place where the heads meet, for every replica.

    Nothing is changed: looking moves neither weights nor running averages.

    Args:
        model: R replicas.
        rows: The table.
        index: Which rows, ``[n]``, or other ones for every replica ``[R, n]``.

    Returns:
        Inner products ``[R, D, D]`` and weights ``[R, D]``, in the schema's order.
    """
    was_training = model.training
    model.eval()
    inputs, targets, mask = rows.split(rows.record[index])
    if index.ndim == 1:
        replicas = len(next(model.parameters()))
        inputs, targets, mask = (t.expand(replicas, *t.shape) for t in (inputs, targets, mask))
    with torch.no_grad():
        latent = model.most_probable(model.look(rows.seen(inputs, mask)))
    with torch.enable_grad():
        z = latent.z.detach().requires_grad_()
        s = None if latent.s is None else latent.s.detach().requires_grad_()
        blocks = [LinearBlock(Sum(), heads).to(z.device) for heads in model.block_heads]
        log_p = model.log_prob(model.decode(Latent.of_samples(z, s), blocks), targets)
        torch.autograd.grad((log_p * mask.unsqueeze(1)).sum(), z)
    model.train(was_training)
    reading, order = blocks[0].last, model.likelihood.inverse
    return replace(reading, gram=reading.gram[:, order][:, :, order], weights=reading.weights[:, order])
