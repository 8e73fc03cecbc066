"""Layers that know no probability, with a leading axis of replicas."""

from ._stacked import GAINS, StackedBatchNorm, StackedLinear

__all__ = ["GAINS", "StackedBatchNorm", "StackedLinear"]
