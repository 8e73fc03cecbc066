"""A small table of several kinds, experiments on it that take a moment, and a run in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from evenhand.experiments._config import (
    Data,
    Evaluation,
    Model,
    Objective,
    Runs,
    TableExperiment,
    Training,
    from_dict,
    to_dict,
    to_toml,
)

ROWS = 120
COLUMNS = ["height", "income", "visits", "member", "region"]
KINDS = ["real", "positive", "count", "binary", "categorical"]
VARYING = ("seconds", "finished")  # of a report

# what a killed run leaves, another process goes on with
SCRIPT = """
import sys, torch
from evenhand.experiments import read_config, run
torch.set_num_threads(1)
run(read_config(sys.argv[1]), sys.argv[2], device="cpu", save_seconds=0.0)
"""


def make_frame(rows=ROWS, seed=0, missing=0.05):
    """Columns of five kinds that depend on one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=rows)
    frame = pd.DataFrame(
        {
            "height": 3 + 8 * hidden + 3 * rng.normal(size=rows),
            "income": np.exp(7 + hidden + 0.5 * rng.normal(size=rows)),
            "visits": rng.poisson(np.exp(1.5 + 0.5 * hidden)),
            "member": np.where(hidden + rng.normal(size=rows) > 0, "yes", "no"),
            "region": np.array(["north", "south", "west"])[np.digitize(hidden + rng.normal(size=rows), [-0.5, 0.8])],
        }
    )
    return frame.mask(rng.random(frame.shape) < missing)


def write_csv(path, **options):
    """The table as a file; returns its path."""
    make_frame(**options).to_csv(path, index=False)
    return path


def tiny(path, *overrides):
    """An experiment on that file of a fraction of a second, with settings replaced: "training.epochs=3"."""
    config = TableExperiment(
        Data(path=str(path)),
        Model(n_hidden=6),
        Objective(),
        Training(epochs=4, batch_size=32, lr=0.01, checks=2),
        Runs(("sum", "imtlg"), (0, 1)),
        Evaluation(n_samples=3),
    )
    return from_dict(to_dict(config), overrides)


def contents(folder):
    """What a run leaves: its report without times, its history, and the bytes of its model."""
    report = json.loads((folder / "report.json").read_text())
    return (
        {key: value for key, value in report.items() if key not in VARYING},
        json.loads((folder / "history.json").read_text()),
        (folder / "model.safetensors").read_bytes(),
    )


def start_process(config, root):
    """Run an experiment in a process of its own."""
    root = Path(root)
    root.mkdir(exist_ok=True)
    (root / "given.toml").write_text(to_toml(config))
    command = [sys.executable, "-c", SCRIPT, str(root / "given.toml"), str(root)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def finish(process):
    """Wait for a process that should end well."""
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def kill(process):
    """Kill a process that is still at work, without a warning."""
    assert process.poll() is None, process.communicate()[1]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def wait_for(condition, seconds=60.0):
    """Look again and again until something is true; returns that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.002)
    raise AssertionError(f"what was waited for did not come within {seconds} seconds")
