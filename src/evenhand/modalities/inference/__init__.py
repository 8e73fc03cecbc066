"""What a trained mixture knows: latent samples given some modalities, and densities."""

from ._by_row import row_seeds, samples_by_row
from ._given import Subset, batches_given, checked_subsets, evaluating, some_rows, usual_subsets
from ._posterior import decode_in_parts, mixture_log_likelihood, posterior_samples, stratified_samples

__all__ = [
    "Subset",
    "batches_given",
    "checked_subsets",
    "decode_in_parts",
    "evaluating",
    "mixture_log_likelihood",
    "posterior_samples",
    "row_seeds",
    "samples_by_row",
    "some_rows",
    "stratified_samples",
    "usual_subsets",
]
