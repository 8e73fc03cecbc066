"""Several losses with the Trainer of Hugging Face: `compute_loss` returns their impartial sum.

A small transformer reads pictures of handwritten digits (of scikit-learn) line by line. It tells which digit it is,
and how much ink was used. Ink is counted in shades of pixels, so its loss owns the transformer unless something is
done about it.

    python examples/trainers/with_hugging_face.py [--epochs 20]
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import Dataset, Subset
from transformers import BertConfig, BertModel, PrinterCallback, Trainer, TrainingArguments

from evenhand import IMTLG, Block, Monitor, Output, Sum, impartial_sum
from evenhand.impartial import Method


class Digits(Dataset):
    def __init__(self, n: int) -> None:
        images, digits = load_digits(return_X_y=True)
        self.lines = torch.tensor(images[:n] / 16).float().reshape(-1, 8, 8)
        self.digit = torch.tensor(digits[:n])
        ink = torch.tensor(images[:n]).float().sum(1)
        self.ink = ink - ink.mean()

    def __len__(self) -> int:
        return len(self.digit)

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {"lines": self.lines[row], "digit": self.digit[row], "ink": self.ink[row]}


class Reader(nn.Module):
    """A transformer with random weights and two heads: nothing in it knows of Evenhand."""

    def __init__(self) -> None:
        super().__init__()
        size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        self.word = nn.Linear(8, 32)  # a line of pixels is a word of this text
        self.bert = BertModel(BertConfig(vocab_size=1, max_position_embeddings=8, **size))
        self.digit = nn.Linear(32, 10)
        self.ink = nn.Linear(32, 1)

    def forward(self, lines: Tensor) -> dict[str, Tensor]:
        y = self.bert(inputs_embeds=self.word(lines)).pooler_output
        return {"digit": self.digit(y), "ink": self.ink(y).squeeze(-1)}


class ImpartialTrainer(Trainer):
    def __init__(self, method: Method, **options: Any) -> None:
        super().__init__(**options)
        self.trunk, self.block = Output(self.model.bert.pooler), Block(method)
        self.monitor = Monitor({"bert": self.block})

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Tensor], return_outputs: bool = False, **_: Any
    ) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        outputs = model(inputs["lines"])
        losses = {
            "digit": F.cross_entropy(outputs["digit"], inputs["digit"]),
            "ink": F.mse_loss(outputs["ink"], inputs["ink"]),
        }
        loss = impartial_sum(losses, at=self.trunk, method=self.block)
        return (loss, outputs) if return_outputs else loss

    def log(self, logs: dict[str, float], *args: Any) -> None:
        """Every `logging_steps`: what the block reads goes where the loss goes."""
        if "loss" in logs:  # and not the numbers of an evaluation
            self.monitor.record(self.state.global_step)
            logs = {**logs, **self.monitor.latest()}
        super().log(logs, *args)


def train(method: Method, rows: Dataset, epochs: int, seed: int) -> ImpartialTrainer:
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=32,
            gradient_accumulation_steps=2,
            learning_rate=3e-3,
            logging_steps=5,
            label_names=["digit", "ink"],  # what `trainer.evaluate` compares with
            remove_unused_columns=False,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=True,
            seed=seed,
        )
        trainer = ImpartialTrainer(method, model=Reader(), args=arguments, train_dataset=rows)
        trainer.remove_callback(PrinterCallback)  # the table below is enough
        trainer.train()
    return trainer


def errors(model: nn.Module, rows: dict[str, Tensor]) -> list[float]:
    """The share of wrong digits; the error of the ink in units of its deviation, where 1 is guessing the mean."""
    with torch.no_grad():
        outputs = model.eval()(rows["lines"])
    wrong = (outputs["digit"].argmax(1) != rows["digit"]).float().mean()
    ink = (outputs["ink"] - rows["ink"]).square().mean().sqrt() / rows["ink"].std()
    return [wrong.item(), ink.item()]


def _mean_shares(logs: list[dict[str, float]]) -> list[float]:
    rows = [row for row in logs if "share/bert/digit" in row]
    return [sum(row[f"share/bert/{head}"] for row in rows) / len(rows) for head in ("digit", "ink")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1797)
    parser.add_argument("--seed", type=int, default=0, help="of the first weights and of the order of rows")
    args = parser.parse_args()
    torch.set_num_threads(1)
    digits = Digits(args.rows)
    split = len(digits) * 4 // 5
    print(f"{'':12}{'share':>15}{'error':>15}\n{'':12}" + f"{'digit':>8}{'ink':>7}" * 2)
    for name, method in {"plain": Sum(), "impartial": IMTLG()}.items():
        trainer = train(method, Subset(digits, range(split)), args.epochs, args.seed)
        a, b = _mean_shares(trainer.state.log_history)
        c, d = errors(trainer.model, digits[split:])
        print(f"{name:12}{a:8.2%}{b:7.1%}{c:8.3f}{d:7.3f}")


if __name__ == "__main__":
    main()
