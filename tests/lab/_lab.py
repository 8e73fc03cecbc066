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
import pytest
import torch

from evenhand.common import read_tensors
from evenhand.lab._config import (
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

# A run that kills itself at a moment: when it calls a function, or when it has written half of a file.
SCRIPT = """
import os, signal, sys
import torch
from evenhand.lab import Folder, _measured, read_config, run

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

def save_half(state, file):
    if state["epoch"] > 40:
        file.write_bytes(b"half")
        die()
    save(state, file)

def write_half(self, name, content):
    if name == moment:
        (self.path / f"{name}.77.partial").write_bytes(b"half")
        die()
    return write(self, name, content)

torch.set_num_threads(1)
config, root, moment = sys.argv[1:]
save, write, Folder.write = torch.save, Folder.write, write_half
if moment == "saving":
    torch.save = save_half
elif moment == "evaluation":
    _measured.log_likelihood = die
run(read_config(config), root, device="cpu", save_seconds=0.0)
"""


@pytest.fixture(autouse=True)
def as_in_a_worker():
    """One thread and single precision, as processes of their own have it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(threads)


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
    """What a run leaves: its report without times, its history, and the bytes of its weights."""
    report = json.loads((folder / "report.json").read_text())
    return (
        {key: value for key, value in report.items() if key not in VARYING},
        json.loads((folder / "history.json").read_text()),
        weights(folder / "model.safetensors"),
    )


def weights(path):
    """The bytes of every tensor of a file; the order of the notes in its header is not ours."""
    return {name: x.numpy().tobytes() for name, x in read_tensors(path)[0].items()}


def start_process(config, root, moment=""):
    """Run an experiment in a process of its own, to a moment at which it kills itself, or to the end."""
    given = Path(root) / "given.toml"
    given.write_text(to_toml(config))
    command = [sys.executable, "-c", SCRIPT, str(given), str(root), moment]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True)


def killed(process):
    """Wait for a process that was killed, or kills itself."""
    _, errors = process.communicate(timeout=100)
    assert process.returncode == -signal.SIGKILL, errors


def wait_for(condition, seconds=60.0):
    """Look again and again until something is true; returns that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.002)
    raise AssertionError(f"what was waited for did not come within {seconds} seconds")
