"""Cells are revealed one after another, each given those before: draws follow the joint distribution."""

import numpy as np
import torch

from evenhand.impartial import Sum
from evenhand.tables.families import Sizes, TwoWay
from evenhand.tables.frames import RawTable
from evenhand.tables.inference import reveal
from evenhand.tables.inference._reveal import ROUNDS, _rounds
from evenhand.tables.kinds import Batch
from evenhand.tables.schema import Column, Schema
from evenhand.tables.stack import Preparation, Run, Stack

JOINT = torch.tensor([[[0.30, 0.02], [0.05, 0.13]], [[0.01, 0.19], [0.25, 0.05]]])  # of three binary columns


def binary_model():
    schema = Schema(tuple(Column(name, "binary", (0, 1)) for name in "abc"))
    rng = np.random.default_rng(0)
    cells = np.stack(np.unravel_index(rng.choice(8, size=500, p=JOINT.flatten().double().numpy()), (2, 2, 2)), 1)
    raw = RawTable(cells.astype(float), np.ones(cells.shape, bool))
    preparation = Preparation.fit(TwoWay, raw, schema, [range(500)], [0])
    rows = preparation.rows(preparation.encode(raw))
    model = preparation.network(rows.n_inputs, [0], sizes=Sizes(2, 8, 1))
    Stack(model, [Run(0, Sum())], rows, torch.arange(500)[None], batch_size=50, hide=0.4)
    return model, preparation


def exact_conditionals(model):
    """Let the direct heads tell the true log-odds of every cell given the visible ones."""

    def look(inputs):
        return inputs  # the cells, then which of them are visible

    def outputs(seen, block=None):
        cells, visible = seen[0].split(3, -1)
        odds = torch.zeros_like(cells)
        for i, (x, known) in enumerate(zip(cells.long().tolist(), visible.bool().tolist(), strict=True)):
            for d in range(3):
                p = [
                    sum(
                        float(JOINT[s])
                        for s in np.ndindex(2, 2, 2)
                        if s[d] == value and all(s[e] == x[e] for e in range(3) if known[e] and e != d)
                    )
                    for value in (0, 1)
                ]
                odds[i, d] = np.log(p[1] / p[0])
        return odds.unsqueeze(0)

    model.look, model.direct.outputs = look, outputs


def test_the_joint_distribution_is_drawn_from_its_conditionals():
    model, preparation = binary_model()
    exact_conditionals(model)
    n = 4000
    nothing = Batch(torch.zeros(n, 3), torch.zeros(n, 3, dtype=torch.bool))
    drawn = reveal(model, preparation, nothing, torch.Generator().manual_seed(0)).long()
    frequencies = torch.zeros(2, 2, 2)
    frequencies.index_put_(tuple(drawn.T), torch.ones(n), accumulate=True)
    torch.testing.assert_close((frequencies / n).double(), JOINT.double(), atol=0.03, rtol=0)


def test_draws_given_a_cell_follow_the_conditional_distribution():
    model, preparation = binary_model()
    exact_conditionals(model)
    known = torch.zeros(3000, 3, dtype=torch.bool)
    known[:, 1] = True
    drawn = reveal(model, preparation, Batch(torch.ones(3000, 3), known), torch.Generator().manual_seed(0)).long()
    assert (drawn[:, 1] == 1).all()
    frequencies = torch.zeros(2, 2)
    frequencies.index_put_((drawn[:, 0], drawn[:, 2]), torch.ones(3000), accumulate=True)
    expected = (JOINT[:, 1] / JOINT[:, 1].sum()).double()
    torch.testing.assert_close((frequencies / 3000).double(), expected, atol=0.03, rtol=0)


def test_known_cells_are_never_revealed_and_hidden_ones_once():
    known = torch.rand(50, 9, generator=torch.Generator().manual_seed(0)) < 0.4
    rounds = _rounds(known, torch.Generator().manual_seed(1))
    assert (rounds[known] == -1).all()
    for row, missing in zip(rounds, (~known).sum(1).tolist(), strict=True):
        assert sorted(row[row >= 0].tolist()) == list(range(missing))


def test_wide_rows_are_revealed_in_a_limited_number_of_rounds():
    rounds = _rounds(torch.zeros(4, 1000, dtype=torch.bool), torch.Generator().manual_seed(0))
    assert rounds.min() == 0
    assert rounds.max() == ROUNDS - 1
    assert torch.bincount(rounds[0]).max() <= 1000 // ROUNDS + 1


def test_no_rows_and_no_holes():
    model, preparation = binary_model()
    generator = torch.Generator().manual_seed(0)
    full = Batch(torch.ones(3, 3), torch.ones(3, 3, dtype=torch.bool))
    assert torch.equal(reveal(model, preparation, full, generator), full.values)
    assert reveal(model, preparation, full.rows(slice(0, 0)), generator).shape == (0, 3)


def test_what_is_added_to_outputs_changes_what_is_drawn():
    model, preparation = binary_model()
    exact_conditionals(model)
    n = 4000
    known = torch.tensor([[True, True, False]]).expand(n, -1)
    batch = Batch(torch.tensor([[1.0, 0.0, 0.0]]).expand(n, -1).clone(), known)
    more = model.direct.as_outputs([torch.zeros(2), torch.zeros(2), torch.tensor([2.0, 0.5])])
    drawn = reveal(model, preparation, batch, torch.Generator().manual_seed(0), more)[:, 2]
    weights = JOINT[1, 0] * torch.tensor([2.0, 0.5]).exp()
    assert abs(float(drawn.mean()) - float(weights[1] / weights.sum())) < 0.02
