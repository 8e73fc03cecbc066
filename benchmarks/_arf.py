"""Adversarial random forests in a Python of their own, since arfpy wants an older pandas: ``arf(rows) -> Generated``.

python -m venv DIR; DIR/bin/pip install arfpy "pandas<2.2" "numpy<2"
ARFPY=DIR/bin/python python benchmarks/generate.py --only ARF
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from _rows import Generated, Rows


def arf(rows: Rows) -> Generated:
    """arfpy with its defaults: 30 trees."""
    from _elsewhere import elsewhere
    from _rows import Generated

    nominal = ",".join(str(d) for d, column in enumerate(rows.schema) if column.kind.nominal)
    made = Generated(note="arfpy 0.1.1")
    with made.timed("fit and sample"):
        made.tables[""] = elsewhere("ARFPY", __file__, rows.train, rows.n, rows.seed, nominal)
    return made


def _there(source: str, target: str, n: str, seed: str, nominal: str) -> None:
    import pandas as pd
    from arfpy import arf as forests

    np.random.seed(int(seed))  # it draws from the global generator
    frame = pd.DataFrame(np.load(source)).add_prefix("c")
    for d in nominal.split(","):
        frame[f"c{d}"] = frame[f"c{d}"].astype(int).astype(str).astype(object)  # text is what it takes for classes
    model = forests.arf(frame, verbose=False, random_state=int(seed))
    model.forde()
    np.save(target, model.forge(n=int(n)).astype(np.float64).to_numpy())


if __name__ == "__main__":
    _there(*sys.argv[1:])
