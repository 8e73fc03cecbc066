"""A tiny experiment, and directories of finished ones."""

import json
from pathlib import Path

from evenhand.lab import from_dict


def tiny(table, objective="elbo"):
    config = {
        "experiment": "table",
        "data": {"path": str(table)},
        "model": {"n_hidden": 4},
        "objective": {"name": objective, "n_samples": 2},
        "training": {"epochs": 2, "batch_size": 20, "checks": 1},
        "runs": {"methods": ["sum", "imtlg"], "seeds": [0, 1]},
        "evaluation": {"n_samples": 2},
    }
    return from_dict(config)


def finished(folder, report, name="run"):
    place = Path(folder) / name
    place.mkdir(parents=True)
    (place / "report.json").write_text(json.dumps(report))
    (place / "DONE").touch()
    return place
