"""What users pass as X, in a form that the rest can read."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array


def tidy(X: Any) -> Any:
    """A frame as it is; anything else as a two-dimensional array."""
    if nw.dependencies.is_into_dataframe(X):
        if hasattr(X, "collect") and not hasattr(X, "shape"):
            raise TypeError("X should be a DataFrame. Found a lazy one: call collect() first.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"X should have rows and columns. Found 0 sample(s) or 0 feature(s) (shape={tuple(X.shape)}) while a "
                "minimum of 1 is required."
            )
        return X
    # numbers stay numbers; objects and texts are looked at column by column later
    return check_array(X, dtype=None, ensure_all_finite=False, estimator="TabularVAE")


def remember_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """scikit-learn's names and number of features, stored at fit and compared later."""
    if isinstance(X, np.ndarray) or _is_pandas(X):
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)
    elif reset:
        estimator.feature_names_in_ = np.asarray(nw.from_native(X, eager_only=True).columns, dtype=object)
        estimator.n_features_in_ = X.shape[1]


def _is_pandas(X: Any) -> bool:
    return bool(nw.dependencies.is_pandas_dataframe(X))
