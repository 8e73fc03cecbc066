"""What a trained model says about rows: guesses, draws, densities, errors, new rows and their quality."""

from ._errors import column_errors, macro_class_errors, summary, trivial_guess
from ._generation import rows_from_codes, rows_from_prior
from ._gradients import head_gradients
from ._inference import (
    direct_expectations,
    direct_losses,
    direct_outputs,
    draws,
    encode,
    expectations,
    log_likelihood,
    rates_and_bounds,
    reconstruct,
)
from ._quality import Quality, quality
from ._reveal import reveal
from ._reward import rewards

__all__ = [
    "Quality",
    "column_errors",
    "direct_expectations",
    "direct_losses",
    "direct_outputs",
    "draws",
    "encode",
    "expectations",
    "head_gradients",
    "log_likelihood",
    "macro_class_errors",
    "quality",
    "rates_and_bounds",
    "reconstruct",
    "reveal",
    "rewards",
    "rows_from_codes",
    "rows_from_prior",
    "summary",
    "trivial_guess",
]
