"""What a trained model generates of test rows, one of each digit: the same rows and the same noise for every model.

python paper/figure5/samples.py runs/NAME paper/figure5/plain.png

A run's folder has its config and its weights; the digits are those of MNIST-SVHN-Text.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from evenhand.datasets import multimodal
from evenhand.lab import build_model, read_config
from evenhand.lab.figures import sample_grid


def main(run: Path, picture: Path) -> None:
    """Draw a run's model."""
    config = read_config(run / "config.toml")
    model = build_model(config).load(run / "model.safetensors")
    test = multimodal(config.data.name).load("test", seed=0)
    firsts = torch.stack([(test.labels == digit).nonzero()[0, 0] for digit in range(10)])
    rows = test.subset(firsts).data
    figure = sample_grid(model.network, rows, n_columns=10, subsets=[(name,) for name in model.network.names])
    figure.savefig(picture, dpi=70)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
