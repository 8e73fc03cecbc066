"""Reading blocks, and following them through training."""

import weakref

import matplotlib.figure
import pandas as pd
import pytest
import torch

from evenhand.impartial import IMTLG, MGDA, Block, Monitor, Reading, Sum

from ._asserts import assert_close
from ._inputs import METHODS
from ._models import MultiHead

ROWS = torch.tensor([[3.0, 0, 0], [0, 4, 0], [-1, -1, 0]]).double()


def read(method=None, rows=ROWS):
    block = Block(method or Sum())
    y = torch.zeros(rows.shape[1], requires_grad=True)
    torch.autograd.backward(block(y, len(rows)), list(rows))
    return block, y.grad


def test_norms_cosines_and_shares():
    reading = read()[0].last
    assert_close(reading.norms, ROWS.norm(dim=-1))
    unit = ROWS / ROWS.norm(dim=-1, keepdim=True)
    assert_close(reading.cosines, unit @ unit.T)
    assert_close(reading.shares, ROWS.norm(dim=-1) / ROWS.norm(dim=-1).sum())
    total = ROWS.sum(0)
    assert_close(reading.agreement, unit @ total / total.norm())


@pytest.mark.parametrize("name", sorted(m for m in METHODS if "graddrop" not in m))
def test_weights_tell_the_sum_that_went_on(name):
    block, total = read(METHODS[name](), torch.randn(4, 9))
    rows = torch.randn(4, 9)
    block, total = read(METHODS[name](), rows)
    assert_close(block.last.weights @ rows, total)
    unit = rows / rows.norm(dim=-1, keepdim=True)
    assert_close(block.last.agreement, unit @ total / total.norm(), 1e-7)


def test_heads_without_gradient_read_as_zero():
    reading = Reading(torch.zeros(2, 2), torch.ones(2))
    for value in (reading.norms, reading.cosines, reading.shares, reading.agreement):
        assert (value == 0).all()


def monitored(method, heads, **options):
    model = MultiHead(method)
    monitor = Monitor({"y": model.block}, heads, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(6, 5)).backward()
        optimizer.step()
        monitor.record()
    return monitor


def test_the_table_is_ready_for_a_data_frame():
    frame = pd.DataFrame(monitored(Sum(), ["small", "middle", "large"]).table())
    assert list(frame.columns) == [
        "step", "block", "head", "norm", "weight", "share", "agreement", "conflict",
    ]  # fmt: skip
    assert len(frame) == 15
    assert frame.step.tolist() == sorted(frame.step.tolist())
    assert frame.groupby("step").share.sum().tolist() == pytest.approx([1.0] * 5)
    last = frame[frame.step == 4].set_index("head")
    assert last.norm["large"] > last.norm["small"]


def test_sentences_name_the_neglected():
    small, middle = [s for s in monitored(Sum(), ["small", "middle", "large"]).sentences() if "receives" in s]
    assert middle.startswith("'middle' receives")
    (sentence,) = [
        s for s in monitored(Sum(), ["small", "middle", "large"]).sentences(neglected=0.1) if "receives" in s
    ]
    assert sentence.startswith(small[:15])
    assert sentence.startswith("'small' receives 0.")
    assert "of the gradient at y, where an even share would be 33 %." in sentence
    assert not [s for s in monitored(IMTLG(), ["small", "middle", "large"]).sentences() if "receives" in s]


def test_sentences_name_those_worked_against():
    block, _ = read(Sum(), torch.tensor([[10.0, 0], [-3, 0.1]]))
    monitor = Monitor(block)
    monitor.record()
    assert monitor.sentences(neglected=0.1) == [
        "'1' is worked against at block: the step and its gradient have a cosine of -1.00."
    ]
    assert monitor.sentences(neglected=0.5)[0].startswith("'1' receives 23 %")


def test_the_figure_has_a_row_per_block(tmp_path):
    monitor = monitored(MGDA(), ["small", "middle", "large"])
    figure = monitor.plot()
    assert isinstance(figure, matplotlib.figure.Figure)
    assert figure.axes[0].get_title() == "Shares of the gradient at y"
    assert [t.get_text() for t in figure.axes[0].get_legend().get_texts()] == ["large", "middle", "small"]
    figure.savefig(tmp_path / "monitor.png")
    assert (tmp_path / "monitor.png").stat().st_size > 10_000


def test_per_sample_blocks_are_averaged():
    block = Block(MGDA(), per_sample=True)
    y = torch.zeros(7, 3, requires_grad=True)
    torch.autograd.backward(block(y, 2), [torch.randn(7, 3), torch.randn(7, 3)])
    monitor = Monitor(block)
    monitor.record(step=40)
    table = monitor.table()
    assert table["head"] == ["0", "1"]
    assert table["step"] == [40, 40]


def test_blocks_that_are_not_used_in_every_step():
    first, second = Block(Sum()), Block(Sum())
    monitor = Monitor({"first": first, "second": second})
    y = torch.ones(3, requires_grad=True)
    torch.autograd.backward(first(y, 2), [y.detach(), y.detach()])
    with pytest.raises(RuntimeError, match="No backward pass"):
        monitor.record()
    assert monitor.table()["step"] == []  # all or nothing
    torch.autograd.backward(second(y, 2), [y.detach(), y.detach()])
    monitor.record()
    torch.autograd.backward(first(y, 2), [y.detach(), y.detach()])
    monitor.record()
    table = pd.DataFrame(monitor.table())
    assert table.groupby("block").step.unique().map(list).to_dict() == {"first": [0, 1], "second": [0]}
    monitor.plot()


def test_a_broken_step_does_not_silence_the_monitor():
    block, _ = read(Sum(), torch.tensor([[10.0, 0], [0.1, 0.1]]))
    monitor = Monitor(block)
    monitor.record()
    y = torch.zeros(2, requires_grad=True)
    torch.autograd.backward(block(y, 2), [torch.tensor([torch.inf, 0]), torch.ones(2)])
    monitor.record()
    assert len(monitor.table()["step"]) == 4
    assert monitor.sentences()[0].startswith("'1' receives 1.4 %")


def test_the_monitor_keeps_no_readings_of_blocks_but_the_last():
    block = Block(Sum())
    monitor = Monitor(block)
    readings = []
    for _ in range(3):
        y = torch.ones(3, requires_grad=True)
        torch.autograd.backward(block(y, 2), [y.detach(), y.detach()])
        readings.append(weakref.ref(block.last))
        monitor.record()
    assert [r() is None for r in readings] == [True, True, False]


def test_one_head_is_in_conflict_with_nobody():
    block, _ = read(Sum(), torch.ones(1, 2))
    monitor = Monitor(block)
    monitor.record()
    assert pd.isna(monitor.table()["conflict"][0])
    monitor.plot()


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"blocks\['y'\] should be a block. Found Linear"):
        Monitor({"y": torch.nn.Linear(1, 1)})
    block, _ = read()
    with pytest.raises(ValueError, match="heads should name the 3 heads of block. Found 2 names"):
        Monitor(block, ["a", "b"]).record()
    with pytest.raises(RuntimeError, match="Nothing has been recorded yet"):
        Monitor(block).plot()
    with pytest.raises(RuntimeError, match="No backward pass"):
        Monitor(Block(Sum())).record()
