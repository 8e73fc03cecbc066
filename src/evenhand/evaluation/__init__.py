"""How good a model is: errors of cells, quality of synthetic rows, densities, and tests of significance."""

from ._coherence import (
    coherence,
    coherence_summary,
    conditional_log_likelihoods,
    joint_coherence,
    rates,
    sum_over_targets,
)
from ._density import effective_sample_size, importance_weighted
from ._digit_classifiers import Classifiers, digit_classifiers, train_classifier
from ._errors import column_errors, macro_class_errors, relative_rmse, summary, trivial_guess
from ._generation import rows_from_codes, rows_from_prior
from ._given import all_subsets, evaluating
from ._gradients import head_gradients
from ._inference import draws, encode, expectations, log_likelihood, rates_and_bounds, reconstruct
from ._latent import LatentMixture
from ._latent_classification import latent_classification
from ._mixture import decode_in_parts, mixture_log_likelihood, posterior_samples
from ._multimodal_figures import parallel_coordinates, sample_grid
from ._multimodal_scores import MultimodalScores, evaluate
from ._multimodal_tables import (
    coherence_table,
    latent_table,
    log_likelihood_table,
    rate_table,
    reconstruction_table,
    side_by_side,
    to_markdown,
    to_text,
)
from ._quality import Quality, quality
from ._statistics import TTest, corrected_paired_t_test

__all__ = [
    "Classifiers",
    "LatentMixture",
    "MultimodalScores",
    "Quality",
    "TTest",
    "all_subsets",
    "coherence",
    "coherence_summary",
    "coherence_table",
    "column_errors",
    "conditional_log_likelihoods",
    "corrected_paired_t_test",
    "decode_in_parts",
    "digit_classifiers",
    "draws",
    "effective_sample_size",
    "encode",
    "evaluate",
    "evaluating",
    "expectations",
    "head_gradients",
    "importance_weighted",
    "joint_coherence",
    "latent_classification",
    "latent_table",
    "log_likelihood",
    "log_likelihood_table",
    "macro_class_errors",
    "mixture_log_likelihood",
    "parallel_coordinates",
    "posterior_samples",
    "quality",
    "rate_table",
    "rates",
    "rates_and_bounds",
    "reconstruct",
    "reconstruction_table",
    "relative_rmse",
    "rows_from_codes",
    "rows_from_prior",
    "sample_grid",
    "side_by_side",
    "sum_over_targets",
    "summary",
    "to_markdown",
    "to_text",
    "train_classifier",
    "trivial_guess",
]
