"""What an encoder sees of a table."""

from __future__ import annotations

import torch
from torch import Tensor

from ._kind import Encoding
from ._likelihood import TableLikelihood


def encoder_inputs(values: Tensor, likelihood: TableLikelihood, encoding: Encoding) -> tuple[Tensor, Tensor]:
    """Inputs ``[N, I]`` and, for every input, the column it belongs to ``[I]`` in the likelihood's inner order.

    Args:
        values: Preprocessed values ``[N, D]`` in the schema's order.
        likelihood: Knows the inner order.
        encoding: "one-hot": numbers, log(1 + count), one input per category, one for a binary column. "codes":
            one input per column, categories as their codes, as in the paper's experiments. "hivae": as "one-hot",
            two inputs for a binary column, and ordinal category r as r + 1 ones.
    """
    pairs = zip(likelihood.columns, likelihood.order, strict=True)
    parts = [column.inputs(values[:, d], encoding) for column, d in pairs]
    owners = [inner for inner, part in enumerate(parts) for _ in range(part.shape[-1])]
    return torch.cat(parts, -1), torch.tensor(owners, device=values.device)
