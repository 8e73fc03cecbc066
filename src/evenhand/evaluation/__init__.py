"""How good a model is: errors of cells, quality of synthetic rows, densities, and tests of significance."""

from ._density import effective_sample_size, importance_weighted
from ._errors import column_errors, macro_class_errors, relative_rmse, summary, trivial_guess
from ._inference import draws, encode, expectations, log_likelihood, rates_and_bounds, reconstruct
from ._latent import LatentMixture
from ._mixture import decode_in_parts, mixture_log_likelihood, posterior_samples
from ._quality import Quality, quality
from ._statistics import TTest, corrected_paired_t_test

__all__ = [
    "LatentMixture",
    "Quality",
    "TTest",
    "column_errors",
    "corrected_paired_t_test",
    "decode_in_parts",
    "draws",
    "effective_sample_size",
    "encode",
    "expectations",
    "importance_weighted",
    "log_likelihood",
    "macro_class_errors",
    "mixture_log_likelihood",
    "posterior_samples",
    "quality",
    "rates_and_bounds",
    "reconstruct",
    "relative_rmse",
    "summary",
    "trivial_guess",
]
