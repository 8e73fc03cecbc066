"""The line for a plain loop, which all trainers share."""

import pytest
import torch

from evenhand.impartial import IMTLG, Block, Output, impartial_sum

from ._model import assert_same, gradients_of_a_loop, losses_of, make


@pytest.mark.parametrize("n", [1, 4])
def test_accumulated_gradients_are_those_of_a_block(n):
    model, rows = make()
    expected = gradients_of_a_loop(model, rows[:n])
    trunk, block = Output(model.trunk), Block(IMTLG())
    for x in rows[:n]:
        (impartial_sum(losses_of(*model(x)), at=trunk, method=block) / n).backward()
    assert_same({name: p.grad for name, p in model.named_parameters()}, expected)


@pytest.mark.parametrize("place", ["tensor", "output", "module"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_it_is_the_plain_sum(mode, place):
    model, rows = make()
    places = {"tensor": rows[0], "output": Output(model.trunk), "module": model.trunk}
    with mode():
        losses = losses_of(*model(rows[0]))
        assert impartial_sum(losses, at=places[place], method=IMTLG()) == sum(losses.values())
    with pytest.raises(ValueError, match="losses should have at least one loss"), mode():
        impartial_sum({}, at=places[place], method=IMTLG())
