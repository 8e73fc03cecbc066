"""Rows of a table as a model sees them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..kinds import Batch, Encoding, TableLikelihood, encoder_inputs


@dataclass(frozen=True)
class Rows:
    """N rows, ready for a model.

    Attributes:
        record: ``[N, I + T + D]``: the encoder's inputs, the heads' targets, and which cells are observed (1 or 0;
            in the likelihood's inner order).
        owners: The column every input belongs to, ``[I]``.
        n_targets: T.
    """

    record: Tensor
    owners: Tensor
    n_targets: int

    @classmethod
    def encode(
        cls,
        batch: Batch,
        likelihood: TableLikelihood,
        *,
        encoding: Encoding = "one-hot",
        see_mask: bool = False,
        dtype: torch.dtype | None = None,
    ) -> Rows:
        """Encode a batch.

        Args:
            batch: Preprocessed values.
            likelihood: Knows the heads.
            encoding: How the encoder sees values.
            see_mask: Whether the encoder also sees which cells are observed.
            dtype: Torch's default type if None.
        """
        values = batch.values.to(dtype or torch.get_default_dtype())
        mask = batch.mask[:, likelihood.order].to(values)
        inputs, owners = encoder_inputs(values, likelihood, encoding)
        if see_mask:
            # an input that is 1 where its cell is observed; whoever hides the cell also hides the 1
            inputs = torch.cat([inputs, torch.ones_like(mask)], -1)
            owners = torch.cat([owners, torch.arange(mask.shape[-1], device=owners.device)])
        return cls(torch.cat([inputs, likelihood.targets(values), mask], -1), owners, likelihood.n_targets)

    def __len__(self) -> int:
        return len(self.record)

    @property
    def n_inputs(self) -> int:
        """I."""
        return len(self.owners)

    def split(self, record: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs, targets and mask of records ``[..., I + T + D]``."""
        n = record.shape[-1] - self.n_inputs - self.n_targets
        inputs, targets, mask = record.split([self.n_inputs, self.n_targets, n], -1)
        return inputs, targets, mask

    def seen(self, inputs: Tensor, visible: Tensor) -> Tensor:
        """Inputs with those of invisible cells set to zero; visible is ``[..., D]`` with 1 and 0."""
        return inputs * visible.index_select(-1, self.owners)

    def to(self, device: torch.device | str) -> Rows:
        """The same rows on another device."""
        return Rows(self.record.to(device), self.owners.to(device), self.n_targets)

    @classmethod
    def join(cls, parts: list[Rows]) -> Rows:
        """Concatenated, such as the same rows preprocessed for several splits."""
        return cls(torch.cat([p.record for p in parts]), parts[0].owners, parts[0].n_targets)
