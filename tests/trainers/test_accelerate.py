"""A loop with Accelerate takes the steps of a plain loop, and its trackers get what blocks read."""

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from evenhand.impartial import IMTLG, Block, Monitor, Output, impartial_sum

from ._model import assert_same, gradients_of_a_loop, losses_of, make, state, step

# what Accelerate and TensorBoard say about themselves
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _a_new_accelerator():
    AcceleratorState._reset_state(reset_partial_state=True)  # it is shared by all accelerators of a process
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


def one_step(accelerator, model, rows):
    """The recipe of the guide."""
    trunk, block = Output(model.trunk), Block(IMTLG())
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    prepared, optimizer = accelerator.prepare(model, optimizer)
    for x in rows:
        with accelerator.accumulate(prepared):
            losses = losses_of(*prepared(x))
            accelerator.backward(impartial_sum(losses, at=trunk, method=block))
            optimizer.step()
            optimizer.zero_grad()
    return block


@pytest.mark.parametrize("n", [1, 4])
def test_a_step_is_that_of_a_loop(n):
    model, rows = make()
    before, expected = state(model), gradients_of_a_loop(model, rows[:n])
    one_step(Accelerator(cpu=True, gradient_accumulation_steps=n), model, rows[:n])
    assert_same(step(before, model), expected)


def test_mixed_precision():
    """What the model returns is a copy in float32, so that a place inside has to be an `Output`."""
    torch.set_default_dtype(torch.float32)
    model, rows = make()
    before, expected = state(model), gradients_of_a_loop(model, rows[:2], autocast="model")
    exact = gradients_of_a_loop(model, rows[:2])
    one_step(Accelerator(cpu=True, gradient_accumulation_steps=2, mixed_precision="bf16"), model, rows[:2])
    taken = step(before, model)
    assert_same(taken, expected, 1e-5)
    assert (taken["trunk.0.weight"] - exact["trunk.0.weight"]).abs().max() > 1e-3


def test_a_copy_of_the_features_is_no_place():
    torch.set_default_dtype(torch.float32)
    model, rows = make()
    y, *outputs = Accelerator(cpu=True, mixed_precision="bf16").prepare(Returning(model.trunk, model.heads))(rows[0])
    with pytest.raises(ValueError, match="a trainer has wrapped the model"):
        impartial_sum(losses_of(*outputs), at=y, method=IMTLG()).backward()


class Returning(torch.nn.Module):
    """A model that returns its features, too."""

    def __init__(self, trunk, heads):
        super().__init__()
        self.trunk, self.heads = trunk, heads

    def forward(self, x):
        y = self.trunk(x)
        return y, *(head(y) for head in self.heads.values())


def test_trackers_get_readings(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model, rows = make()
    accelerator = Accelerator(cpu=True, log_with="tensorboard", project_dir=tmp_path)
    accelerator.init_trackers("run")
    block = one_step(accelerator, model, rows[:1])
    monitor = Monitor({"y": block}, heads=["small", "large"], log=accelerator.log)
    monitor.record(step=7)
    accelerator.end_training()
    events = EventAccumulator(str(tmp_path / "run")).Reload()
    read = {name: [(e.step, e.value) for e in events.Scalars(name)] for name in events.Tags()["scalars"]}
    assert read.keys() == monitor.latest().keys()
    for name, number in monitor.latest().items():
        assert read[name] == [(7, pytest.approx(number, rel=1e-6))]
