"""MMVAE with SIWAE on digits in three modalities, plain and impartial, on a CPU in minutes.

    python paper/multimodal/digits.py [--seeds 5] [--epochs 30] [--local-step forward] [--out FILE]

The data come with scikit-learn: an 8 x 8 digit, a coloured distorted view of another one, and its name.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import torch
from torch import nn

from evenhand import CAGrad, Modality, MultimodalVAE
from evenhand.data.datasets import digits_in_three
from evenhand.evaluation import (
    coherence_table,
    digit_classifiers,
    evaluate,
    latent_table,
    rate_table,
    reconstruction_table,
    to_markdown,
)
from evenhand.likelihoods import Categorical, Laplace

SIDES = {
    "vanilla": {},
    "LI": {"LI": CAGrad(0.4)},
    "LI, EEI, DEI": {"LI": CAGrad(0.4), "EEI": CAGrad(0.4), "DEI": CAGrad(0.4)},
}
N_LATENT = 10


def encoder(n_in: int, width: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, 2 * N_LATENT))


def decoder(width: int, shape: tuple[int, ...]) -> nn.Module:
    n_out = int(torch.tensor(shape).prod())
    return nn.Sequential(nn.Linear(N_LATENT, width), nn.ReLU(), nn.Linear(width, n_out), nn.Unflatten(1, shape))


def modalities(seed: int) -> dict[str, Modality]:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return {
            "digit": Modality(encoder(64, 128), decoder(128, (1, 8, 8)), Laplace(0.75)),
            "colour": Modality(encoder(768, 128), decoder(128, (3, 16, 16)), Laplace(0.75)),
            "text": Modality(encoder(8 * 71, 128), decoder(128, (8, 71)), Categorical(71)),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--local-step", default="backward", choices=["backward", "forward", "none"])
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=list(SIDES))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    start, results, saved = time.time(), [], {}
    classifiers = None
    for label in options.sides:
        scores = []
        for seed in range(options.seeds):
            train, test = digits_in_three("train", seed=seed), digits_in_three("test", seed=seed)
            model = MultimodalVAE(
                modalities(seed),
                n_latent=N_LATENT,
                objective="siwae",
                n_samples=options.samples,
                impartial=SIDES[label],
                local_step=options.local_step,
            )
            classifiers = classifiers or digit_classifiers(train, test, model.likelihoods)
            began = time.time()
            model.fit(train.data, epochs=options.epochs, seed=seed, verbose=False)
            hours = (time.time() - began) / 3600
            scores.append(evaluate(model.network, train, test, classifiers, seed=seed, hours=hours))
            print(f"{label}, seed {seed}: {3600 * hours:.0f} s", flush=True)
        results.append(("MMVAE", label, scores))
        saved[label] = [s.to_dict() for s in scores]
    for title, table in (
        ("Reconstruction coherence", reconstruction_table(results)),
        ("Self and cross coherence", coherence_table(results)),
        ("Latent classification", latent_table(results)),
        ("Rates in nats", rate_table(results)),
    ):
        print(f"\n{title}\n\n{to_markdown(table)}")
    if options.out:
        report = {
            "command": "python paper/multimodal/digits.py " + " ".join(sys.argv[1:]),
            "torch": torch.__version__,
            "hardware": f"{platform.processor() or platform.machine()}, one thread",
            "seconds": time.time() - start,
            "classifiers": classifiers.accuracies,
            "scores": saved,
        }
        options.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
