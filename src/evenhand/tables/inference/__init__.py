"""What a trained model says about rows: guesses, draws, densities, errors, new rows and their quality."""

from ._density import effective_sample_size, importance_weighted
from ._errors import column_errors, macro_class_errors, relative_rmse, summary, trivial_guess
from ._generation import rows_from_codes, rows_from_prior
from ._gradients import head_gradients
from ._inference import draws, encode, expectations, log_likelihood, rates_and_bounds, reconstruct
from ._quality import Quality, quality

__all__ = [
    "Quality",
    "column_errors",
    "draws",
    "effective_sample_size",
    "encode",
    "expectations",
    "head_gradients",
    "importance_weighted",
    "log_likelihood",
    "macro_class_errors",
    "quality",
    "rates_and_bounds",
    "reconstruct",
    "relative_rmse",
    "rows_from_codes",
    "rows_from_prior",
    "summary",
    "trivial_guess",
]
