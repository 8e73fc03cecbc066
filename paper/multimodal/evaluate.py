"""Score models that train.py made: coherence, latent classification, likelihoods and rates beside the paper's.

python paper/multimodal/evaluate.py runs/vanilla runs/li --out paper/multimodal/first_run.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from train import build

from evenhand.data.datasets import mnist_svhn_text
from evenhand.evaluation import (
    coherence_table,
    digit_classifiers,
    evaluate,
    latent_table,
    log_likelihood_table,
    rate_table,
    reconstruction_table,
    sample_grid,
    to_markdown,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders with report.json and model.safetensors")
    parser.add_argument("--rows", type=int, default=10_000, help="test pairs that are scored")
    parser.add_argument("--figures", type=Path, help="a folder for grids of samples")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train, test = mnist_svhn_text("train"), mnist_svhn_text("test")
    results, saved, classifiers = [], [], None
    for folder in options.runs:
        report = json.loads((folder / "report.json").read_text())
        model = build(argparse.Namespace(**report["options"])).load(folder / "model.safetensors")
        classifiers = classifiers or digit_classifiers(train, test, model.likelihoods, verbose=True)
        hours = report["seconds"] / 3600
        scores = evaluate(model.network, train, test, classifiers, n_rows=options.rows, hours=hours)
        goals = report["options"]["goals"]
        label = ", ".join(goals) if goals else "vanilla"
        results.append((report["options"]["model"].upper(), label, [scores]))
        kept = {k: report[k] for k in ("command", "seconds", "pairs", "torch", "hardware", "note", "history")}
        saved.append(kept | {"label": label, "scores": scores.to_dict()})
        print(f"{label}\n{scores}\n", flush=True)
        if options.figures:
            few = test.subset(torch.linspace(0, len(test) - 1, 8).long())
            sample_grid(model.network, few.data).savefig(options.figures / f"{folder.name}.png", dpi=80)
    for title, table in (
        ("Reconstruction coherence", reconstruction_table(results)),
        ("Self and cross coherence", coherence_table(results)),
        ("Latent classification", latent_table(results)),
        ("Log-likelihood per dimension", log_likelihood_table(results)),
        ("Rates in nats", rate_table(results)),
    ):
        print(f"\n{title}\n\n{to_markdown(table)}")
    if options.out:
        report = {"classifiers": classifiers.accuracies, "rows": options.rows, "runs": saved}
        options.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
