"""What an encoder sees of a table."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from ..schema import Kind
from ._likelihood import TableLikelihood

Encoding = Literal["one-hot", "codes", "hivae"]


def encoder_inputs(values: Tensor, likelihood: TableLikelihood, encoding: Encoding) -> tuple[Tensor, Tensor]:
    """Inputs ``[N, I]`` and, for every input, the column it belongs to ``[I]`` in the likelihood's inner order.

    Args:
        values: Preprocessed values ``[N, D]`` in the schema's order.
        likelihood: Knows the inner order.
        encoding: "one-hot": numbers, log(1 + count), one input per category, one for a binary column. "codes":
            one input per column, categories as their codes, as in the paper's experiments. "hivae": as "one-hot",
            two inputs for a binary column, and ordinal category r as r + 1 ones.
    """
    columns = list(likelihood.schema)
    parts, owners = [], []
    for inner, d in enumerate(likelihood.order):
        x, kind = values[:, d], columns[d].kind
        if (
            encoding == "codes"
            or kind in (Kind.REAL, Kind.POSITIVE)
            or (kind == Kind.BINARY and encoding == "one-hot")
        ):
            part = x.unsqueeze(-1)
        elif kind == Kind.COUNT:
            part = x.log1p().unsqueeze(-1)
        elif kind == Kind.ORDINAL and encoding == "hivae":
            part = (torch.arange(columns[d].size, device=x.device) <= x.unsqueeze(-1)).to(x.dtype)
        else:
            part = F.one_hot(x.long(), columns[d].size).to(x.dtype)
        parts.append(part)
        owners += [inner] * part.shape[-1]
    return torch.cat(parts, -1), torch.tensor(owners, device=values.device)
