"""Random numbers belong to the seed; rows as models see them."""

import pytest
import torch

from evenhand.tables.kinds import Batch, TableLikelihood
from evenhand.tables.stack import Rows
from evenhand.tables.stack._noise import Noise

from .._inputs import SCHEMA, batch

N_INPUTS, N_COLUMNS = 5, 3
FIELDS = ("rows", "normal", "keep", "visible", "uniform")


def noise(seeds, n=20, offset=0, **options):
    distinct = list(dict.fromkeys(seeds))
    rows = torch.stack([offset + 1000 * seed + torch.arange(n) for seed in distinct])
    settings = {"batch_size": 6, "shape": (2, 3), "n_uniform": 7, "dropout": 0.1, "hide": 0.2, **options}
    return Noise(seeds, rows, n_inputs=N_INPUTS, n_columns=N_COLUMNS, **settings)


def draws(source, steps):
    for _ in range(steps):
        source.prepare()
        yield source.look()
        source.advance()


def test_shapes():
    draw = next(draws(noise([1, 2]), 1))
    shapes = [tuple(getattr(draw, field).shape) for field in FIELDS]
    assert shapes == [(2, 6), (2, 2, 6, 3), (2, 6, 5), (2, 6, 3), (2, 7)]
    bare = next(draws(noise([1, 2], dropout=0.0, hide=0.0, n_uniform=0), 1))
    assert bare.keep is None
    assert bare.visible is None
    assert bare.uniform is None


def test_one_seed_one_noise_whoever_shares_the_stack():
    many, alone = noise([4, 9, 4, 2]), {seed: noise([seed]) for seed in (4, 9, 2)}
    singles = {seed: draws(source, 150) for seed, source in alone.items()}
    for draw in draws(many, 150):  # more than two chunks, many epochs
        own = {seed: next(single) for seed, single in singles.items()}
        for field in FIELDS:
            found = getattr(draw, field)
            for r, seed in enumerate((4, 9, 4, 2)):
                assert torch.equal(found[r], getattr(own[seed], field)[0])
            assert not torch.equal(found[0], found[1])


def test_an_epoch_repeats_no_row_and_rows_belong_to_the_seed():
    n, size = 20, 6
    source = noise([1, 5], n)
    assert source.steps_per_epoch == 3
    orders = []
    for _ in range(10):
        epoch = torch.cat([draw.rows for draw in draws(source, 3)], -1)
        for r, seed in enumerate((1, 5)):
            assert len(epoch[r].unique()) == 3 * size
            assert ((epoch[r] >= 1000 * seed) & (epoch[r] < 1000 * seed + n)).all()
        orders.append(epoch)
    assert not torch.equal(orders[0], orders[1])
    for r in range(2):  # rows left out of one epoch come in another
        assert len(torch.cat(orders, -1)[r].unique()) == n


def test_a_batch_is_not_larger_than_the_table():
    source = noise([1], 4, batch_size=100)
    assert source.batch_size == 4
    assert source.steps_per_epoch == 1
    for draw in draws(source, 3):
        assert sorted(draw.rows[0].tolist()) == [1000, 1001, 1002, 1003]


def test_steps_are_drawn_anew():
    """Nothing repeats within a chunk, nor from chunk to chunk."""
    seen = [draw.normal[0].flatten().clone() for draw in draws(noise([3]), 140)]
    assert len(torch.stack(seen).unique(dim=0)) == 140
    values = torch.cat(seen)
    assert abs(values.mean()) < 5 / len(values) ** 0.5
    assert values.std().item() == pytest.approx(1, abs=0.05)


def test_dropout_drops_and_keeps_the_mean():
    keep = torch.stack([draw.keep for draw in draws(noise([3], dropout=0.25), 128)])
    assert set(keep.unique().tolist()) == {0.0, 1 / 0.75}
    error = (0.25 * 0.75 / keep.numel()) ** 0.5
    assert ((keep == 0).double().mean().item()) == pytest.approx(0.25, abs=5 * error)
    assert keep.mean().item() == pytest.approx(1, abs=5 * error / 0.75)


def test_hiding_varies_from_row_to_row():
    source = Noise(
        [3], torch.arange(500).unsqueeze(0), batch_size=500, shape=(1, 1), n_inputs=1, n_columns=40, hide=0.3
    )
    visible = next(draws(source, 1)).visible[0]
    assert set(visible.unique().tolist()) == {0.0, 1.0}
    hidden = 1 - visible.mean(-1)
    assert hidden.mean().item() == pytest.approx(0.3, abs=0.04)
    assert hidden.std().item() == pytest.approx((0.6**2 / 12 + 0.2 / 40) ** 0.5, abs=0.03)  # far above chance's 0.07
    assert hidden.max() < 0.9


def test_kept_replicas_go_on_with_their_numbers():
    whole, cut = noise([4, 9, 4, 2]), noise([4, 9, 4, 2])
    for step, (draw, other) in enumerate(zip(draws(whole, 100), draws(cut, 100), strict=True)):
        for field in FIELDS:
            found = getattr(other, field)
            assert torch.equal(found, getattr(draw, field)[[3, 0]] if step > 10 else getattr(draw, field))
        if step == 10:
            cut.keep([3, 0])


# Rows


def encoded(**options):
    data, fitted = batch(12)
    heads = TableLikelihood(SCHEMA, [fitted])
    return data, heads, Rows.encode(data, heads, **options)


def test_rows_hold_inputs_targets_and_mask():
    data, heads, rows = encoded()
    inputs, targets, mask = rows.split(rows.record)
    assert len(rows) == 12
    assert inputs.shape[1] == rows.n_inputs
    assert torch.equal(targets, heads.targets(data.values.double()))
    assert torch.equal(mask, data.mask[:, heads.order].double())


def test_what_is_invisible_is_not_seen():
    _, heads, rows = encoded(see_mask=True)
    inputs, _, mask = rows.split(rows.record)
    seen = rows.seen(inputs, mask)
    for d in range(heads.n):
        own = seen[:, rows.owners == d]
        assert (own[mask[:, d] == 0] == 0).all()
        assert torch.equal(own[mask[:, d] == 1], inputs[:, rows.owners == d][mask[:, d] == 1])
    assert torch.equal(seen[:, -heads.n :], mask)  # which cells are observed, and nothing else


def test_seeing_the_mask_adds_inputs():
    _, heads, plain = encoded()
    _, _, more = encoded(see_mask=True)
    assert more.n_inputs == plain.n_inputs + heads.n


def test_rows_one_below_the_other():
    data, heads, rows = encoded()
    other = Rows.encode(Batch(data.values.flip(0), data.mask.flip(0)), heads)
    both = Rows.join([rows, other])
    assert torch.equal(both.record, torch.cat([rows.record, other.record]))
    assert both.n_inputs == rows.n_inputs
    assert torch.equal(both.to("cpu").record, both.record)
