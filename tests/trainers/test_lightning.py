"""Lightning's trainer takes the steps of a plain loop, and logs what blocks read."""

import copy
import csv

import pytest
import torch
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.loggers import CSVLogger
from torch.multiprocessing import ProcessExitedException
from torch.utils.data import DataLoader

from evenhand.impartial import IMTLG, Block, LogReadings, Monitor, Output, impartial_sum

from ._model import assert_same, gradients_of_a_loop, losses_of, make, state, step

# what Lightning says about itself, and about how few workers and steps there are
pytestmark = pytest.mark.filterwarnings("ignore")


class Module(LogReadings, LightningModule):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.trunk, self.block = Output(model.trunk), Block(IMTLG())
        self.monitor = Monitor({"y": self.block})

    def training_step(self, x, batch_idx):
        world, rank = self.trainer.world_size, self.trainer.global_rank
        losses = losses_of(*self.model(x[rank::world]))
        return impartial_sum(losses, at=self.trunk, method=self.block)

    def validation_step(self, x, batch_idx):
        self.log("validation", self.training_step(x, batch_idx))

    def configure_optimizers(self):
        return torch.optim.SGD(self.model.parameters(), lr=1.0)


def fit(module, rows, **options):
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = Trainer(**{"accelerator": "cpu", "max_epochs": 1, "logger": False, **quiet, **options})
    trainer.fit(module, DataLoader(rows, batch_size=None))
    return trainer


@pytest.mark.parametrize("n", [1, 4])
def test_a_step_is_that_of_a_loop(n):
    model, rows = make()
    before = state(model)
    fit(Module(model), rows[:n], accumulate_grad_batches=n)
    taken = step(before, model)
    assert_same(taken, gradients_of_a_loop(module_of(before), rows[:n]))
    plain = gradients_of_a_loop(module_of(before), rows[:n], impartial=False)
    assert (taken["trunk.0.weight"] - plain["trunk.0.weight"]).abs().max() > 1


class Manual(Module):
    automatic_optimization = False

    def training_step(self, x, batch_idx):
        self.manual_backward(super().training_step(x, batch_idx))
        self.optimizers().step()


def test_manual_optimisation():
    model, rows = make()
    before, expected = state(model), gradients_of_a_loop(model, rows[:1])
    module = Manual(model)
    fit(module, rows[:1], log_every_n_steps=1)
    assert_same(step(before, model), expected)
    assert module.monitor.table()["share"] == pytest.approx([0.5, 0.5])


def module_of(parameters):
    model, _ = make()
    model.load_state_dict(parameters)
    return model


def test_gradients_are_clipped_as_those_of_a_loop():
    model, rows = make()
    expected = gradients_of_a_loop(model, rows[:1])
    length = torch.cat([g.flatten() for g in expected.values()]).norm()
    assert length > 1
    before = state(model)
    fit(Module(model), rows[:1], gradient_clip_val=0.5)
    assert_same(step(before, model), {name: g * 0.5 / length for name, g in expected.items()}, 1e-6)


def test_the_loss_of_validation_is_the_plain_sum():
    model, rows = make()
    module = Module(model)
    trainer = fit(module, rows[:1])
    (found,) = trainer.validate(module, DataLoader(rows[1:2], batch_size=None), verbose=False)
    assert found["validation"] == pytest.approx(sum(losses_of(*model(rows[1])).values()).item())


def test_mixed_precision():
    torch.set_default_dtype(torch.float32)
    model, rows = make()
    expected = gradients_of_a_loop(model, rows[:2], autocast="losses")
    exact = gradients_of_a_loop(model, rows[:2])
    before = state(model)
    fit(Module(model), rows[:2], accumulate_grad_batches=2, precision="bf16-mixed")
    taken = step(before, model)
    assert_same(taken, expected, 1e-5)
    assert (taken["trunk.0.weight"] - exact["trunk.0.weight"]).abs().max() > 1e-3


def test_two_processes_take_the_step_of_one():
    model, rows = make()
    before, expected = state(model), gradients_of_a_loop(model, rows[:1])
    for attempt in range(3):
        module = Module(copy.deepcopy(model))
        try:
            fit(module, rows[:1], strategy="ddp_spawn", devices=2, use_distributed_sampler=False)
            break
        except ProcessExitedException as error:
            # seldom, a process that has done its work dies while torch takes down its threads
            if error.signal_name != "SIGABRT" or attempt == 2:
                raise
    assert_same(step(before, module.model), expected)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_readings_are_logged(tmp_path, accumulate):
    model, rows = make()
    logger = CSVLogger(tmp_path)
    module = Module(model)
    fit(module, rows.repeat(accumulate, 1, 1), logger=logger, log_every_n_steps=2, accumulate_grad_batches=accumulate)
    logger.save()
    with (tmp_path / "lightning_logs" / "version_0" / "metrics.csv").open() as file:
        logged = list(csv.DictReader(file))
    table = module.monitor.table()
    assert [int(row["step"]) for row in logged] == [1, 3] == table["step"][::2]
    for column in ("norm", "weight", "share", "agreement", "conflict"):
        for i, head in enumerate(["small", "large"]):
            found = [float(row[f"{column}/y/{head}"]) for row in logged]
            assert found == pytest.approx(table[column][i::2], rel=1e-6)
    assert table["share"] == pytest.approx([0.5] * 4)


def test_hooks_of_the_module_still_run():
    called = []

    class Other(LightningModule):
        def on_before_optimizer_step(self, optimizer):
            called.append(type(optimizer).__name__)

    class Both(Module, Other):
        pass

    model, rows = make()
    fit(Both(model), rows[:2])
    assert called == ["SGD", "SGD"]


def test_mistakes_are_named():
    with pytest.raises(TypeError, match=r"Late should name LogReadings before LightningModule"):

        class Late(LightningModule, LogReadings):
            pass

    model, rows = make()
    module = Module(model)
    del module.monitor
    with pytest.raises(ValueError, match="monitor should be a Monitor, set in the constructor of Module.* NoneType"):
        fit(module, rows[:1])
