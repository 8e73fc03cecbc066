"""How coherence grows over a training, to see when it has converged."""

from __future__ import annotations

import json
from typing import Any

import torch

from ..datasets import LabelledModalities
from ..datasets.judges import Classifiers
from ..modalities.models import MixtureVAE
from ._folder import Folder
from .judges import coherence, to_records

FILE = "followed.json"
ROWS = 2000  # of the validation part; the same ones each time
AT_ONCE = {"cpu": 512, "cuda": 4096}  # rows that are judged together: a GPU is kept waiting by small calls


class Follow:
    """Measures what a model in training generates from every single modality, and keeps it in the run's folder.

    Args:
        network: What is trained.
        rows: Validation rows; without labels there is nothing to measure.
        judges: Of generated modalities.
        folder: Of the run.
    """

    def __init__(self, network: MixtureVAE, rows: LabelledModalities, judges: Classifiers, folder: Folder) -> None:
        self._network, self._judges, self._folder = network, judges, folder
        self._rows = rows.subset(torch.arange(min(ROWS, len(rows))))

    def __call__(self, step: int) -> None:
        """Measure now; a step that is done again after an interruption is there once."""
        network, rows = self._network, self._rows
        if rows.labels is None:
            return
        single, size = [(name,) for name in network.names], rows_at_once(network)
        found = coherence(network, rows.data, rows.labels, self._judges, subsets=single, batch_size=size)
        before = [entry for entry in self.seen() if entry["step"] < step]
        self._folder.write_json(FILE, [*before, {"step": step, "coherence": to_records(found)}])

    def seen(self) -> list[dict[str, Any]]:
        """What was measured so far, step by step."""
        path = self._folder.path / FILE
        found: list[dict[str, Any]] = json.loads(path.read_text()) if path.is_file() else []
        return found


def rows_at_once(network: MixtureVAE) -> int:
    """How many rows are judged together where a model is."""
    return AT_ONCE.get(network.subsets.device.type, AT_ONCE["cpu"])
