"""A monitor writes its numbers to whatever the user logs with."""

import pickle

import pytest
import torch

from evenhand.impartial import Block, Monitor, Sum

from ._asserts import assert_close


def pass_back(block, *rows):
    y = torch.zeros(len(rows[0]), requires_grad=True)
    torch.autograd.backward(block(y, len(rows)), [torch.tensor(row) for row in rows])


def test_every_record_goes_to_the_log():
    block, rows = Block(Sum()), []
    monitor = Monitor({"y": block}, ["age", "region"], log=lambda numbers, step: rows.append((step, numbers)))
    for step in (3, 7):
        pass_back(block, [3.0, 0.0], [0.0, float(step)])
        monitor.record(step)
    table = monitor.table()
    assert [step for step, _ in rows] == [3, 7]
    for i, (step, numbers) in enumerate(rows):
        assert len(numbers) == 10
        for column in ("norm", "weight", "share", "agreement", "conflict"):
            for j, head in enumerate(["age", "region"]):
                assert numbers[f"{column}/y/{head}"] == table[column][2 * i + j]
        assert_close(torch.tensor(numbers["share/y/region"]), torch.tensor(step / (3 + step)))


def test_what_a_writer_of_single_numbers_gets():
    class Writer:
        rows = ()

        def add_scalar(self, tag, scalar_value, global_step):
            self.rows += ((tag, scalar_value, global_step),)

    block, writer = Block(Sum()), Writer()
    monitor = Monitor(block, log=writer)
    pass_back(block, [3.0, 0.0], [0.0, 4.0])
    monitor.record(step=5)
    assert {tag: value for tag, value, _ in writer.rows} == monitor.latest()
    assert {step for _, _, step in writer.rows} == {5}


def test_nothing_is_logged_twice():
    first, second, rows = Block(Sum()), Block(Sum()), []
    monitor = Monitor({"first": first, "second": second}, log=lambda numbers, step: rows.append(numbers))
    assert monitor.latest() == {}
    pass_back(first, [1.0], [1.0])
    pass_back(second, [1.0], [1.0])
    monitor.record()
    pass_back(second, [1.0], [3.0])
    monitor.record()
    assert {name.split("/")[1] for name in rows[0]} == {"first", "second"}
    assert {name.split("/")[1] for name in rows[1]} == {"second"}
    monitor.record()  # no backward pass since
    assert len(rows) == 2
    assert monitor.latest() == {}


def test_a_monitor_that_logs_can_be_copied():
    block = Block(Sum())
    monitor = pickle.loads(pickle.dumps(Monitor(block, log=print)))
    pass_back(monitor.blocks["block"], [1.0], [2.0])
    monitor.record()
    assert monitor.latest()["share/block/1"] == pytest.approx(2 / 3)


class Run:
    def log(self, data, step):
        """As a run of W&B has it."""


def test_what_cannot_be_logged_to_is_named():
    with pytest.raises(ValueError, match=r"log should be a SummaryWriter.* Found Run\. Pass its method log\."):
        Monitor(Block(Sum()), log=Run())
    with pytest.raises(ValueError, match=r"such as run.log or mlflow.log_metrics\. Found str\.$"):
        Monitor(Block(Sum()), log="runs")
