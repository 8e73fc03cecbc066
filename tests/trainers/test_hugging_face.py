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

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        outputs = model(inputs["x"])
        loss = impartial_sum(losses_of(*outputs), at=self.trunk, method=self.block)
        return (loss, {"outputs": outputs}) if return_outputs else loss

    def log(self, logs, *args):
        if "loss" in logs:
            self.monitor.record(self.state.global_step)
            logs = {**logs, **self.monitor.latest()}
        super().log(logs, *args)


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
        label_names=["labels"],
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        logging_steps=1,
        per_device_train_batch_size=rows.shape[1],
        train_sampling_strategy="sequential",
        **options,
    )
    trainer = ImpartialTrainer(model=model, args=arguments, train_dataset=items, eval_dataset=items)
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


def test_mixed_precision(tmp_path):
    torch.set_default_dtype(torch.float32)
    model, rows = make()
    before, expected = state(model), gradients_of_a_loop(model, rows[:2], autocast="model")
    exact = gradients_of_a_loop(model, rows[:2])
    train(model, rows[:2], tmp_path, gradient_accumulation_steps=2, bf16=True)
    taken = step(before, model)
    assert_same(taken, expected, 1e-5)
    assert (taken["trunk.0.weight"] - exact["trunk.0.weight"]).abs().max() > 1e-3


def test_the_loss_of_validation_is_the_plain_sum(tmp_path):
    model, rows = make()
    before = sum(losses_of(*model(rows[0])).values()).item()
    trainer = train(model, rows[:1], tmp_path, eval_strategy="epoch", eval_on_start=True)
    after = sum(losses_of(*model(rows[0])).values()).item()
    logged = [row["eval_loss"] for row in trainer.state.log_history if "eval_loss" in row]
    assert logged == pytest.approx([before, after])


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
