"""Count survivors: short trainings over many seeds under the tight bound and between loose and tight.

python paper/survival/count.py digits --seeds 3 --out survivors.json          # on a CPU, about a minute a run
python paper/survival/count.py mnist_svhn_text --seeds 10 --out survivors.json   # on a GPU, 10 to 20 s a run
python paper/survival/count.py --table paper/survival/mnist_svhn_text.json
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from evenhand import CAGrad, MultimodalVAE
from evenhand.modalities import Balanced, Defensive, LooseToTight, PartlyTight, Tempered, Tight

STARVED = 0.05 / 3  # of the weights: a twentieth of an equal share
RUNAWAY = 1_000.0  # nats
RULES = {
    "tight": Tight(),
    "balanced 0.5": Balanced(0.5),
    "balanced 0.6": Balanced(0.6),
    "partly tight": PartlyTight(),
    "loose to tight": LooseToTight(1200),
    "defensive": Defensive(0.1),
    "tempered 0.02": Tempered(0.02),
    "loose": None,
}
GOALS = {"none": (), "LI": ("LI",), "LI+EEI": ("LI", "EEI"), "all": ("LI", "EEI", "DEI")}


@dataclass(frozen=True)
class Arm:
    """What is trained with every seed."""

    rule: str
    goals: str = "none"
    restored: bool = True
    scale: str = "softmax"


ARMS = (
    *(Arm("tight", goals) for goals in GOALS),
    *(Arm(rule) for rule in RULES if rule != "tight"),
    *(Arm("balanced 0.6", goals, restored) for goals in ("LI", "all") for restored in (True, False)),
    Arm("tight", scale="softplus"),
    Arm("balanced 0.6", scale="softplus"),
    *(Arm("balanced 0.6", goals, False, "softplus") for goals in ("LI", "all")),
)


def train(arm: Arm, data: str, seed: int, steps: int, device: str) -> dict[str, Any]:
    """One short training: shares and rates of the experts in its last hundred steps."""
    from evenhand import datasets

    brought = datasets.multimodal(data)
    rows = brought.load("train", seed=seed).data
    digits = data == "digits_in_three"
    options = {} if digits else {"scale": arm.scale}
    modalities = (datasets.digits_in_three_modalities if digits else datasets.mnist_svhn_text_modalities)(
        brought.n_latent, seed=seed, **options
    )
    model = MultimodalVAE(
        modalities,
        n_latent=brought.n_latent,
        objective="iwae" if arm.rule == "loose" else "siwae",
        tightness=RULES[arm.rule],
        n_samples=5 if digits else 30,
        n_backward=None if digits or arm.rule == "tight" else 4,
        local_step="forward",
        preserve_norm=arm.restored,
        impartial=dict.fromkeys(GOALS[arm.goals], CAGrad(0.4)),
        seed=seed,
    )
    batch = 64 if digits else 128
    few = rows.subset(torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))[: steps * batch])
    place = {"device": device, "precision": "32" if device == "cpu" else "bf16"}
    epochs = max(1, round(steps * batch / len(few)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deaths, which are what is counted
        model.fit(few, epochs=epochs, batch_size=batch, log_every=100, seed=seed, verbose=False, **place)
    last = model.history[-2] if "rate/" + model.core.expert_names[0] not in model.history[-1] else model.history[-1]
    names = model.core.expert_names
    return {
        **asdict(arm),
        "seed": seed,
        "steps": int(model.history[-1]["step"]),
        "share": [round(last[f"share/{name}"], 5) for name in names],
        "rate": [round(last[f"rate/{name}"], 1) for name in names],
    }


def wilson(k: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """A 95 % interval of a probability, from k of n."""
    centre, spread = (k + z * z / 2) / (n + z * z), z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    return max(0.0, centre - spread), min(1.0, centre + spread)


def table(report: dict[str, Any]) -> str:
    """The counts as a Markdown table."""
    names = report["experts"]
    columns = ["bound", "scales", "goals", "norms", "steps", "all live", *(f"{n} starves / runs away" for n in names)]
    columns += ["rate"] + (["M\\|M", "T\\|M", "M\\|S", "T\\|S", "M\\|T", "T\\|T"] if report.get("coherence") else [])
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for run in report["runs"]:
        key = (run["rule"], run["scale"], run["goals"], run["restored"], run["steps"])
        groups.setdefault(key, []).append(run)
    for (rule, scale, goals, restored, steps), runs in sorted(groups.items(), key=lambda item: str(item[0])):
        norms = "" if goals == "none" else "restored" if restored else "as settled"
        cells = [rule, scale, goals, norms, f"{steps:,}", *_numbers(runs, bool(report.get("coherence")))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _numbers(runs: list[dict[str, Any]], judged: bool) -> list[str]:
    """Survivors, deaths, rates and coherence of the runs of an arm."""
    n = len(runs)
    starved = [[share < STARVED for share in run["share"]] for run in runs]
    away = [[rate > RUNAWAY for rate in run["rate"]] for run in runs]
    alive = sum(not any(s) and not any(a) for s, a in zip(starved, away, strict=True))
    low, high = wilson(alive, n)
    cells = [f"{alive} of {n} ({100 * low:.0f} to {100 * high:.0f} %)"]
    for i in range(len(runs[0]["share"])):
        cells.append(f"{sum(s[i] for s in starved)} / {sum(a[i] for a in away)}")
    cells.append(", ".join(f"{median(run['rate'][i] for run in runs):,.0f}" for i in range(len(runs[0]["rate"]))))
    if judged:
        for key in ("m|m", "t|m", "m|s", "t|s", "m|t", "t|t"):
            cells.append(f"{100 * sum(run['coherence'][key] for run in runs) / n:.0f}")
    return cells


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", choices=["digits", "mnist_svhn_text"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="print the table of a report that is there")
    args = parser.parse_args()
    if args.table:
        print(table(json.loads(args.table.read_text())))
        return
    data = "digits_in_three" if args.data == "digits" else "mnist_svhn_text"
    device = "cuda" if torch.cuda.is_available() else "cpu"
    runs = []
    arms = [arm for arm in ARMS if arm.scale == "softmax" or args.data != "digits"]
    for seed in range(args.seeds):
        for arm in arms:
            runs.append(train(arm, data, seed, args.steps, device))
            print(json.dumps(runs[-1]), flush=True)
            experts = ["digit", "colour", "text"] if args.data == "digits" else ["mnist", "svhn", "text"]
            report = {"data": data, "experts": experts, "torch": torch.__version__, "runs": runs}
            if args.out:
                args.out.write_text(json.dumps(report, indent=1))
    print(table(report))


if __name__ == "__main__":
    main()
