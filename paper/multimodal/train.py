"""Train a mixture-based VAE on MNIST-SVHN-Text in the paper's setting, and keep its weights and history.

    python paper/multimodal/train.py --goals LI --method cagrad --alpha 0.4 --epochs 30 --out runs/mmvae-siwae-li

Run again with the same arguments, it goes on where it was stopped. On a GPU add --fast (bf16, compiled, CUDA graph).
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import torch

from evenhand import CAGrad, GradNorm, MultimodalVAE
from evenhand.data.datasets import mnist_svhn_text, split_pairs
from evenhand.estimators import PAPER_SETTINGS, mnist_svhn_text_modalities

EXPERTS = {"mvae": "product", "mmvae": "mixture", "mopoe": "mixture-of-products"}
METHODS = {"cagrad": CAGrad, "gradnorm": GradNorm}


def build(options: argparse.Namespace) -> MultimodalVAE:
    method = METHODS[options.method](options.alpha)
    return MultimodalVAE(
        mnist_svhn_text_modalities(n_layers=options.layers, seed=options.seed),
        experts=EXPERTS[options.model],
        objective=options.objective,
        impartial=dict.fromkeys(options.goals, method),
        kl_weight=options.kl_weight,
        **PAPER_SETTINGS["model"] | {"local_step": options.local_step},
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=EXPERTS, default="mmvae")
    parser.add_argument("--objective", default="siwae")
    parser.add_argument("--goals", nargs="*", default=[], choices=["LI", "EEI", "DEI"], help="none: plain training")
    parser.add_argument("--method", choices=METHODS, default="cagrad")
    parser.add_argument("--alpha", type=float, default=0.4)
    parser.add_argument("--local-step", default="forward", choices=["backward", "forward", "none"])
    parser.add_argument("--kl-weight", type=float, default=1.0)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=PAPER_SETTINGS["fit"]["epochs"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    return parser


def main() -> None:
    options = arguments().parse_args()
    train, validation = split_pairs(mnist_svhn_text("train", seed=options.seed), seed=options.seed)
    few = torch.arange(0, len(validation), max(1, len(validation) // 8192))
    model = build(options)
    start = time.time()
    model.fit(
        train.data,
        **PAPER_SETTINGS["fit"] | {"epochs": options.epochs},
        validation=validation.subset(few).data,
        precision="bf16" if options.fast else "32",
        compile=options.fast,
        folder=options.out,
        seed=options.seed,
    )
    options.out.mkdir(parents=True, exist_ok=True)
    model.save(options.out / "model.safetensors")
    report = {
        "command": "python paper/multimodal/train.py " + " ".join(sys.argv[1:]),
        "options": vars(options) | {"out": str(options.out)},
        "seconds": time.time() - start,
        "pairs": len(train),
        "torch": torch.__version__,
        "hardware": torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else platform.processor() or platform.machine(),
        "note": train.note,
        "history": model.history,
    }
    (options.out / "report.json").write_text(json.dumps(report, indent=1))
    print(json.dumps({k: v for k, v in report.items() if k != "history"}, indent=1))


if __name__ == "__main__":
    main()
