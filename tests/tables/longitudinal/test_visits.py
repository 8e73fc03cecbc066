"""What a network sees of visits."""

import numpy as np
import pytest
import torch

from evenhand.tables.longitudinal._histories import Clock, Histories, visits_of
from evenhand.tables.longitudinal._visits import Visits, between, carried, hidden_at_random


def visits(n=3, steps=4, columns=2):
    """Histories of numbers; the inputs are the cells, and ones for whether they are there."""
    generator = torch.Generator().manual_seed(0)
    cells = torch.randn(n, steps, columns, generator=generator)
    rows = torch.arange(n * steps).view(n, steps)
    clock = torch.arange(float(steps)).view(1, -1, 1).expand(n, -1, 2)
    histories = Histories(rows, torch.ones(n, steps, dtype=bool), clock)
    inputs = torch.cat([cells, torch.ones_like(cells)], -1)
    owners = torch.tensor([*range(columns)] * 2)
    return Visits(histories, inputs, cells, torch.ones_like(cells), owners)


def test_rows_of_an_id_stand_in_the_order_of_time():
    found = visits_of(["b", "a", "b", "b"], np.array([3.0, 1.0, 1.0, 2.0]))
    assert [rows.tolist() for rows in found] == [[2, 3, 0], [1]]


def test_histories_are_padded_at_their_end_and_see_gaps():
    times = np.array([0.0, 1.0, 5.0, 2.0])
    rows = [np.array([0, 1, 2]), np.array([3])]
    clock = Clock.fit(times, rows)
    found = Histories.of(rows, times, clock, torch.float64)
    assert found.present.tolist() == [[True, True, True], [True, False, False]]
    assert clock.gap == 2.5
    assert found.clock[0, :, 1].tolist() == pytest.approx([0, 1 / 2.5, 4 / 2.5])
    assert found.take([1]).rows.tolist() == [[3]]


def test_what_is_hidden_is_not_seen():
    given = visits()
    visible = hidden_at_random(given.mask, 0.4, 0.2, torch.Generator().manual_seed(1))
    changed = torch.where(visible[..., given.owners] > 0, given.inputs, 99.0)
    other = Visits(given.histories, changed, given.targets, given.mask, given.owners)
    for one, two in zip(given.seen(visible), other.seen(visible), strict=True):
        assert torch.equal(one, two)
    assert (visible == 0).any()


def test_the_neighbours_of_a_cell_are_seen():
    given = visits(1, 4, 1)
    visible = torch.tensor([1.0, 0, 0, 1]).view(1, 4, 1)
    seen, line = given.seen(visible)
    cells = given.targets[0, :, 0]
    assert seen.shape[-1] == given.n_inputs
    assert line[0, 1, 0].item() == pytest.approx(float(2 / 3 * cells[0] + 1 / 3 * cells[3]), rel=1e-5)
    assert line[0, 0, 0].item() == pytest.approx(float(cells[3]))  # nothing before, and not itself
    assert seen[0, 1, -2:].tolist() == [1.0, 2.0]


def test_nothing_known_gives_zero():
    zero = torch.zeros(3)
    assert between(zero, zero, (zero, zero), (zero, zero)).tolist() == [0, 0, 0]
    assert carried(torch.ones(1, 2, 1), torch.zeros(1, 2, 1, dtype=bool)).sum() == 0


def test_whole_visits_are_hidden():
    mask = torch.ones(200, 5, 3)
    kept = hidden_at_random(mask, 0.0, 0.3, torch.Generator().manual_seed(0))
    assert set(kept.sum(-1).unique().tolist()) == {0.0, 3.0}
    assert kept.mean().item() == pytest.approx(0.7, abs=0.05)
