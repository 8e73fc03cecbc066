"""A captured step does what the function would have done, without calling it."""

import pytest
import torch

from evenhand.common import CapturedStep, pack, unpack

from ._recorder import Cuda

WARM_UP = 5  # calls before the capture


@pytest.fixture
def cuda(monkeypatch):
    return Cuda(monkeypatch)


class Sums:
    """A step that adds up what it is given; the function's own calls are counted."""

    def __init__(self):
        self.total, self.calls = torch.zeros(2), []

    def __call__(self, inputs):
        self.calls.append({name: tuple(x.shape) for name, x in inputs.items()})
        self.total.add_((inputs["x"] * 2).sum(0))


def batch(value, rows=3):
    return {"x": torch.full((rows, 2), float(value))}


def test_every_call_counts_once_before_at_and_after_the_capture(cuda):
    sums = Sums()
    step = CapturedStep(sums)
    expected = 0
    for number in range(1, 12):
        step(batch(number))
        expected += 6 * number
        assert sums.total.tolist() == [expected] * 2, f"call {number}"
    assert len(sums.calls) == WARM_UP + 1  # the last of them is recorded; from then on Python is not needed


def test_the_first_calls_warm_up_on_a_side_stream(cuda):
    step = CapturedStep(Sums())
    for _ in range(WARM_UP):
        step(batch(1))
    assert len(cuda.side) == WARM_UP
    assert all(stream.waited_for == [cuda.main] for stream in cuda.side)
    assert cuda.main.waited_for == cuda.side  # what comes next waits for them in turn
    assert cuda.graphs == []
    assert cuda.synchronised == 0


def test_then_one_graph_is_recorded_and_replayed(cuda):
    step = CapturedStep(Sums())
    for _ in range(WARM_UP + 4):
        step(batch(1))
    (graph,) = cuda.graphs
    assert graph.replays == 4  # once right after the capture, which itself does nothing
    assert cuda.synchronised == 1
    assert len(cuda.side) == WARM_UP


def test_the_callers_tensors_are_copied(cuda):
    """A graph reads the same memory again and again; a caller's batch lies elsewhere each time."""
    sums = Sums()
    step = CapturedStep(sums)
    for _ in range(WARM_UP + 1):
        step(batch(0))
    given = batch(1)
    step(given)
    given["x"].zero_()
    assert sums.total.tolist() == [6, 6]


@pytest.mark.parametrize("when", [1, WARM_UP, WARM_UP + 3])
def test_another_shape_is_computed_without_the_graph(cuda, when):
    sums = Sums()
    step = CapturedStep(sums)
    for _ in range(when):
        step(batch(1))
    before, replays = len(sums.calls), sum(g.replays for g in cuda.graphs)
    step(batch(1, rows=5))
    assert sums.calls[before:] == [{"x": (5, 2)}]
    assert sum(g.replays for g in cuda.graphs) == replays
    assert sums.total.tolist() == [6 * when + 10] * 2
    step(batch(1))  # the usual shape goes on as before
    assert sums.total.tolist() == [6 * when + 16] * 2


def test_batches_of_other_shapes_do_not_count_as_warm_up(cuda):
    step = CapturedStep(Sums())
    step(batch(1))
    for _ in range(2 * WARM_UP):
        step(batch(1, rows=1))
    step(batch(1))
    assert cuda.graphs == []


def test_other_names_are_another_shape(cuda):
    sums = Sums()
    step = CapturedStep(sums)
    step(batch(1))
    step({**batch(1), "mask": torch.ones(3)})
    assert [set(shapes) for shapes in sums.calls] == [{"x"}, {"x", "mask"}]
    assert len(cuda.side) == 1


def test_a_step_without_inputs(cuda):
    total = torch.zeros(())
    step = CapturedStep(lambda inputs: total.add_(1))
    for _ in range(WARM_UP + 3):
        step()
    assert total == WARM_UP + 3
    assert cuda.graphs[0].replays == 3


def test_a_step_that_forgets_starts_over(cuda):
    sums = Sums()
    step = CapturedStep(sums)
    for _ in range(WARM_UP + 2):
        step(batch(1))
    step.forget()
    for _ in range(WARM_UP + 2):
        step(batch(1, rows=4))  # the shape, too, may be another
    assert len(cuda.graphs) == 2
    assert len(cuda.side) == 2 * WARM_UP
    assert sums.total.tolist() == [14 * (WARM_UP + 2)] * 2


def test_what_looks_at_numbers_cannot_be_recorded(cuda):
    def looks(inputs):
        if inputs["x"].sum().item() < 0:
            raise AssertionError

    step = CapturedStep(looks, advice="Do something else.")
    for _ in range(WARM_UP):
        step(batch(1))
    with pytest.raises(RuntimeError) as caught:
        step(batch(1))
    assert str(caught.value) == (
        "The training step could not be recorded as a CUDA graph; a network or a method may look at numbers on the "
        "way. Do something else. operation not permitted when stream is capturing"
    )
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert not cuda.capturing
    assert cuda.graphs[0].replays == 0


@pytest.mark.parametrize(
    ("fault", "words"), [(RuntimeError("no"), r"Train with compile=False\. no$"), (KeyError("mask"), "^'mask'$")]
)
def test_the_usual_advice_and_other_errors(cuda, fault, words):
    def fails_at_the_capture(inputs):
        if cuda.capturing:
            raise fault

    step = CapturedStep(fails_at_the_capture)
    for _ in range(WARM_UP):
        step(batch(1))
    with pytest.raises(type(fault), match=words):
        step(batch(1))


def test_packing():
    values, mask = {"a": torch.zeros(1), "b": torch.ones(1)}, torch.ones(2)
    packed = pack(values, mask=mask, weights=None)
    assert set(packed) == {"values.a", "values.b", "mask"}
    unpacked, others = unpack(packed)
    assert unpacked == values
    assert others == {"mask": mask}
