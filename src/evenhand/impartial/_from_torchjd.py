"""TorchJD's weightings as methods."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ._method import Scaling


class FromTorchJD(Scaling):
    """Use a weighting of the library TorchJD, which maps a Gram matrix to one weight per head.

    It runs eagerly, one problem at a time, and may synchronise with the host.

    Args:
        weighting: Any TorchJD weighting of a Gram matrix, such as ``KrumWeighting(...)``.

    Example:
        >>> from torchjd.aggregation import MeanWeighting
        >>> from evenhand.impartial import FromTorchJD
        >>> FromTorchJD(MeanWeighting())(torch.eye(2))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.5000]])
    """

    def __init__(self, weighting: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        if isinstance(weighting, str) or not callable(weighting):
            raise ValueError(
                "weighting should be a TorchJD weighting such as "
                f"torchjd.aggregation.UPGradWeighting(). Found {weighting!r}."
            )
        if any(base.__name__ == "Aggregator" for base in type(weighting).__mro__):
            raise ValueError(
                f"weighting should map a Gram matrix to weights. Found the aggregator {weighting!r}; "
                "pass its weighting, such as UPGradWeighting() for UPGrad()."
            )
        self.weighting: Callable[[Tensor], Tensor] | nn.Module = weighting

    def weights(self, gram: Tensor, /) -> Tensor:
        problems = gram.reshape(-1, *gram.shape[-2:])
        weights = torch.stack([self.weighting(problem) for problem in problems])
        return weights.reshape(gram.shape[:-1])
