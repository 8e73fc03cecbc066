"""What is kept of every step: the names of columns, their numbers, and what went wrong first."""

from dataclasses import replace

import pytest
import torch

from evenhand.impartial import Sum
from evenhand.modalities.training import GOALS, Options, Step
from evenhand.modalities.training._step import (
    READINGS,
    Reading,
    columns_of,
    first_cause,
    means_and_counts,
    squared_columns,
)

from .._linear import core, draw, network

NAMES = {"modality": ["a", "b"], "expert": ["a", "b", "a+b"]}


def test_columns_and_numbers_stand_in_the_same_order():
    columns = columns_of(NAMES)
    assert columns[:4] == ["bound", "log_likelihood/a", "log_likelihood/b", "rate/a"]
    numbers = {field: torch.tensor(float(i)) for i, field in enumerate(Step._fields)}
    numbers |= {"log_likelihood": torch.tensor([10.0, 11.0]), "rate": torch.tensor([20.0, 21.0, 22.0])}
    numbers |= {"n_likelihood": torch.tensor([3.0, 4.0]), "n_rate": torch.tensor([5.0, 6.0, 7.0])}
    numbers |= {"share": torch.tensor([0.1, 0.2, 0.7]), "log_likelihood_from": torch.arange(6.0).view(3, 2)}
    numbers |= {"n_likelihood_from": torch.arange(10.0, 16.0).view(3, 2)}
    numbers["n_log_q"] = torch.tensor(18.0)
    squares = torch.tensor([40.0, 48.0, 0.0])
    means, counts = means_and_counts(Step(**numbers), torch.tensor(30.0), squares, n_rows=9)
    mean, count = (dict(zip(columns, x.tolist(), strict=True)) for x in (means, counts))
    assert (mean["log_likelihood/b"], count["log_likelihood/b"]) == (11, 4)
    assert (mean["rate/a+b"], count["rate/a+b"]) == (22, 7)
    assert (mean["log_likelihood_from/a+b/a"], count["log_likelihood_from/a+b/a"]) == (4, 14)
    assert (mean["share/b"], count["share/b"]) == (pytest.approx(0.2), 6)
    assert (mean["gradient"], count["gradient"], count["bound"]) == (30, 9, 9)
    assert (mean["gradient_norm/b"], count["gradient_norm/b"]) == (8, 6)  # a mean of squares, over rows
    assert count["log_q"] == 18
    assert squared_columns(NAMES) == {"gradient_norm/a", "gradient_norm/b", "gradient_norm/a+b"}


def test_a_reading_may_have_two_axes():
    columns = Reading("log_likelihood_of", ("expert", "modality")).columns(NAMES)
    assert columns[:3] == ["log_likelihood_of/a/a", "log_likelihood_of/a/b", "log_likelihood_of/b/a"]
    assert len(columns) == 6


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["bound", "log_likelihood/a", "rate/b", "loss"], ("the posterior of 'b'", "b")),
        (["bound", "log_likelihood/a", "log_q"], ("the log-likelihood of 'a'", "a")),
        (["bound", "log_q", "loss"], ("the density of the experts", "")),
        (["bound", "loss", "gradient"], ("the objective", "")),
        (["gradient"], ("the gradient of a finite objective", "")),
        (["gradient", "gradient_norm/a"], ("the gradient of a finite objective", "")),
        (["gradient_norm/a"], ("the gradient at the posterior of 'a'", "a")),
    ],
)
def test_causes_come_before_their_consequences(columns, expected):
    assert first_cause(columns) == expected


def test_every_reading_is_of_a_step():
    for reading in READINGS:
        assert reading.name in (*Step._fields, "gradient", "gradient_norm")
        assert reading.count in (*Step._fields, "")


def test_the_same_model_with_other_methods_is_a_copy():
    model = core(network("mixture"), objective="siwae", gradient="plain", kl_weight=0.5)
    other = model.with_methods({goal: Sum() for goal in GOALS})
    assert (other.options, other.dimensions) == (model.options, model.dimensions)
    assert list(other.blocks) == list(GOALS)
    assert not model.blocks
    noise, values = model.noise(4), draw(4)
    torch.testing.assert_close(other(values, noise=noise).loss, model(values, noise=noise).loss)
    other(values, noise=noise).loss.backward()
    assert all(p.grad is None for p in model.network.parameters())


def test_options_are_checked_again_when_some_are_replaced():
    with pytest.raises(
        ValueError, match="objective should be one of 'elbo', 'iwae', 'siwae', 'mmjsd', 'contrastive'"
    ):
        replace(Options(), objective="elbow")
