"""What multimodal models are judged by: coherence, latent classes, densities, rates, and all of these as scores."""

from ._coherence import (
    coherence,
    coherence_summary,
    conditional_log_likelihoods,
    joint_coherence,
    rates,
    sum_over_targets,
)
from ._latent_classification import latent_classification
from ._scores import MultimodalScores, evaluate, to_records

__all__ = [
    "MultimodalScores",
    "coherence",
    "coherence_summary",
    "conditional_log_likelihoods",
    "evaluate",
    "joint_coherence",
    "latent_classification",
    "rates",
    "sum_over_targets",
    "to_records",
]
