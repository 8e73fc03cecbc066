"""Rows of several modalities with a label each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from ..common import check_choice
from ..modalities.rows import Modalities

Split = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class LabelledModalities:
    """Rows of several modalities, with what they show.

    Attributes:
        data: The rows.
        labels: The class of every row, ``[N]``; None if rows have none.
        name: The name of the data set.
        source: Where the data come from.
        licence: Under which terms.
        note: What is unlike the published data set, if anything.
    """

    data: Modalities
    labels: Tensor | None
    name: str
    source: str = ""
    licence: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.labels is not None and self.labels.shape != (len(self.data),):
            raise ValueError(
                f"labels should have one entry for each of {len(self.data)} rows. "
                f"Found the shape {list(self.labels.shape)}."
            )

    def __len__(self) -> int:
        return len(self.data)

    def subset(self, index: Tensor) -> LabelledModalities:
        """Some of the rows; the items stay where they are."""
        labels = None if self.labels is None else self.labels[index]
        return replace(self, data=self.data.subset(index), labels=labels)


def split_pairs(
    labelled: LabelledModalities, fraction: float = 0.1, seed: int = 0
) -> tuple[LabelledModalities, LabelledModalities]:
    """Set a random part of the rows aside for validation, as published.

    The rows are pairs of images, and every image is in many pairs: the same images occur in both parts, only their
    combinations are new. A validation loss is therefore optimistic about new images, which the test split has.

    Args:
        labelled: The training rows.
        fraction: The part for validation.
        seed: Which rows these are.

    Returns:
        The rows for training and those for validation.
    """
    n = len(labelled)
    n_validation = round(fraction * n)
    if not 0 < n_validation < n:
        raise ValueError(f"fraction should leave rows for both parts of {n}. Found {fraction}.")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return labelled.subset(order[n_validation:]), labelled.subset(order[:n_validation])


def pair_with_others(labels: Tensor, repeats: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Pairs of different items of a class: each with the next one in a random circle, `repeats` times."""
    pairs = []
    for label in labels.unique():
        members = labels.eq(label).nonzero()[:, 0]
        for _ in range(repeats):
            circle = members[torch.randperm(len(members), generator=generator)]
            pairs.append(torch.stack([circle, circle.roll(1)]))
    left, right = torch.cat(pairs, 1)
    return left, right


def check_split(split: str) -> None:
    """Only two splits are published."""
    check_choice("split", split, get_args(Split))
