"""Peers that need older packages run in a Python of their own: arrays go there and come back in files."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def elsewhere(variable: str, script: str, values: Array, *arguments: object) -> Array:
    """What ``PYTHON script IN.npy OUT.npy *arguments`` makes of an array.

    Args:
        variable: The environment variable that names the Python.
        script: The file to run, which explains how to install that Python.
        values: What it reads.
        arguments: What else it is told.
    """
    python = os.environ.get(variable)
    if not python:
        raise ImportError(f"{variable} should name a Python that has the peer. See benchmarks/{Path(script).name}.")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npy", Path(folder) / "out.npy"
        np.save(source, values)
        command = [python, script, str(source), str(target), *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == -signal.SIGXCPU:  # the limit of a process holds for those that it starts
            raise TimeoutError(f"It was not done in {resource.getrlimit(resource.RLIMIT_CPU)[0]} s.")
        if done.returncode:
            raise RuntimeError(f"It ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        return np.load(target)
