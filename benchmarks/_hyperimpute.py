"""hyperimpute, in a Python of its own, because it wants older packages: ``hyperimpute(holes) -> Filled``.

    python -m venv DIR; DIR/bin/pip install hyperimpute scikit-learn==1.6.1 "pandas<3" "xgboost<2"
    HYPERIMPUTE=DIR/bin/python python benchmarks/impute.py --only hyperimpute

It cannot fill rows that it was not fitted to, so it is given all rows, those to fill among them. With pandas 3 it
fills in nothing but what it starts from, because assignments to a column of a frame are lost there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from _filled import Filled
    from _holes import Holes


def hyperimpute(holes: Holes) -> Filled:
    """HyperImpute with its defaults: a model chosen for every column, in rounds."""
    from _elsewhere import elsewhere
    from _filled import Filled
    from _imputers import fill

    filled = Filled(note="fitted to all rows, those to fill among them")
    with filled.timed("fit and guess"):
        both = elsewhere("HYPERIMPUTE", __file__, np.concatenate([holes.train, holes.test]), holes.seed)
        filled.guess = fill(holes.test, _as_codes(both[len(holes.train) :], holes))
    return filled


def _as_codes(guess: np.ndarray, holes: Holes) -> np.ndarray:
    """Categories as the nearest code that exists."""
    pairs = zip(guess.T, holes.schema, strict=True)
    return np.stack([x.round().clip(0, c.size - 1) if c.kind.nominal else x for x, c in pairs], -1)


def _there(source: str, target: str, seed: str) -> None:
    import pandas as pd
    from hyperimpute.plugins.imputers import Imputers

    if int(pd.__version__.split(".")[0]) > 2:
        raise ImportError(f"hyperimpute needs pandas below 3, or its guesses are lost. Found {pd.__version__}.")
    values = pd.DataFrame(np.load(source))
    model = Imputers().get("hyperimpute", random_state=int(seed))
    np.save(target, model.fit_transform(values).to_numpy(dtype=np.float64))


if __name__ == "__main__":
    _there(*sys.argv[1:])
