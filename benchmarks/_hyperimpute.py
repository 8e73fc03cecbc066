"""hyperimpute, in a Python of its own, because it wants an older scikit-learn: ``hyperimpute(holes) -> Filled``.

    python -m venv DIR; DIR/bin/pip install hyperimpute scikit-learn==1.6.1
    HYPERIMPUTE=DIR/bin/python python benchmarks/impute.py --only hyperimpute

It cannot fill rows that it was not fitted to, so it is given all rows, those to fill among them. Run as a script,
this file is that other side: ``python _hyperimpute.py IN.npy OUT.npy SEED``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from _filled import Filled
    from _holes import Holes


def hyperimpute(holes: Holes) -> Filled:
    """HyperImpute with its defaults: a model chosen for every column, in rounds."""
    from _filled import Filled
    from _imputers import fill

    filled = Filled(note="fitted to all rows, those to fill among them")
    python = os.environ.get("HYPERIMPUTE")
    if not python:
        raise ImportError("HYPERIMPUTE should name a Python that has hyperimpute. See benchmarks/_hyperimpute.py.")
    with filled.timed("fit and guess"), tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npy", Path(folder) / "out.npy"
        np.save(source, np.concatenate([holes.train, holes.test]))
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["LOKY_MAX_CPU_COUNT"] = "1"  # one thread, as everybody else
        command = [python, __file__, str(source), str(target), str(holes.seed)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"hyperimpute ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        guess = np.load(target)[len(holes.train) :]
        filled.guess = fill(holes.test, _as_codes(guess, holes))
    return filled


def _as_codes(guess: np.ndarray, holes: Holes) -> np.ndarray:
    """Categories as the nearest code that exists."""
    sizes = [column.size - 1 if column.kind.nominal else None for column in holes.schema]
    rounded = [
        cells if top is None else cells.round().clip(0, top) for cells, top in zip(guess.T, sizes, strict=True)
    ]
    return np.stack(rounded, -1)


def _other_side(source: str, target: str, seed: str) -> None:
    import pandas as pd
    from hyperimpute.plugins.imputers import Imputers

    values = pd.DataFrame(np.load(source))
    model = Imputers().get("hyperimpute", random_state=int(seed))
    np.save(target, model.fit_transform(values).to_numpy(dtype=np.float64))


if __name__ == "__main__":
    _other_side(*sys.argv[1:])
