"""The Trainer of Hugging Face takes the steps of a plain loop, and logs what blocks read."""

import pytest
import torch
from accelerate.state import AcceleratorState
from transformers import Trainer, TrainingArguments

from evenhand.impartial import IMTLG, Block, Monitor, Output, impartial_sum

from ._model import Model, assert_same, gradients_of_a_loop, losses_of, make, state, step

# what transformers says about itself
pytestmark = pytest.mark.filterwarnings("ignore")


class ImpartialTrainer(Trainer):
    """The recipe of the guide."""

    def __init__(self, **options):
        super().__init__(**options)
        self.trunk, self.block = Output(self.model.trunk), Block(IMTLG())
        self.monitor = Monitor({"y": self.block})

    def compute_loss(self, model, inputs, **_):
        return impartial_sum(losses_of(*model(inputs["x"])), at=self.trunk, method=self.block)

    def log(self, logs, *args):
        self.monitor.record(self.state.global_step)
        super().log({**logs, **self.monitor.latest()}, *args)


def train(model, rows, folder, **options):
    AcceleratorState._reset_state(reset_partial_state=True)  # what other tests have left in this process
    items = [{"x": x, "labels": torch.zeros(2)} for x in rows.flatten(0, 1)]
    arguments = TrainingArguments(
        str(folder),
        max_grad_norm=0.0,
        optim="sgd",
        learning_rate=1.0,
        lr_scheduler_type="constant",
        num_train_epochs=1,
        remove_unused_columns=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        logging_steps=1,
        per_device_train_batch_size=rows.shape[1],
        train_sampling_strategy="sequential",
        **options,
    )
    trainer = ImpartialTrainer(model=model, args=arguments, train_dataset=items)
    trainer.train()
    return trainer


class Taking(Model):
    """As most models of transformers: what `forward` does not know, it takes."""

    accepts_loss_kwargs = False  # the loss is not divided by the number of tokens

    def forward(self, x, **_):
        return super().forward(x)


@pytest.mark.parametrize("kind", [Model, Taking])
@pytest.mark.parametrize("n", [1, 4])
def test_a_step_is_that_of_a_loop(n, kind, tmp_path):
    model, rows = make()
    model.__class__ = kind
    before, expected = state(model), gradients_of_a_loop(model, rows[:n])
    train(model, rows[:n], tmp_path, gradient_accumulation_steps=n)
    assert_same(step(before, model), expected)


def test_readings_are_logged(tmp_path):
    model, rows = make()
    trainer = train(model, rows, tmp_path, gradient_accumulation_steps=2)
    logged = [row for row in trainer.state.log_history if "share/y/small" in row]
    table = trainer.monitor.table()
    assert [row["step"] for row in logged] == [1, 2] == table["step"][::2]
    for column in ("norm", "weight", "share", "agreement", "conflict"):
        for i, head in enumerate(["small", "large"]):
            assert [row[f"{column}/y/{head}"] for row in logged] == table[column][i::2]
    assert table["share"] == pytest.approx([0.5] * 4)
