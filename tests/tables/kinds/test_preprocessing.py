import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenhand.tables.frames import RawTable
from evenhand.tables.kinds import Preprocessing
from evenhand.tables.schema import Column, Schema

SCHEMA = Schema(
    (
        Column("real", "real"),
        Column("positive", "positive"),
        Column("from one", "count"),
        Column("from zero", "count"),
        Column("binary", "binary", ("f", "m")),
        Column("ordinal", "ordinal", (1, 2, 3)),
    )
)


def table(n=200, seed=0, missing=0.2):
    random = np.random.default_rng(seed)
    values = np.stack(
        [
            random.normal(50, 7, n),
            random.lognormal(3, 2, n),
            1 + random.poisson(4, n),
            random.poisson(4, n),
            random.integers(0, 2, n),
            random.integers(0, 3, n),
        ],
        axis=1,
    )
    return RawTable(values, random.random(values.shape) >= missing)


def test_what_the_paper_says():
    raw = table()
    fitted = Preprocessing.fit(raw, SCHEMA)
    batch = fitted.encode(raw)
    seen = [raw.values[raw.observed[:, d], d] for d in range(6)]
    coded = [batch.values[batch.mask[:, d], d].double().numpy() for d in range(6)]
    assert coded[0] == pytest.approx((seen[0] - seen[0].mean()) / seen[0].std(), abs=1e-6)
    assert coded[1] == pytest.approx(np.log(seen[1]) / np.log(seen[1]).std(), rel=1e-6)
    assert abs(coded[1].mean()) > 0.5  # not centred
    assert (coded[2] == seen[2] - 1).all()
    for d in (3, 4, 5):
        assert (coded[d] == seen[d]).all()


def test_forms():
    fitted = Preprocessing.fit(table(), SCHEMA)
    batch = fitted.encode(table())
    assert batch.values.dtype == torch.float32  # whatever the default
    assert (batch.values[~batch.mask] == 0).all()
    assert (batch.mask.numpy() == table().observed).all()
    for tensor in (fitted.centre, fitted.scale, fitted.shift):
        assert tensor.dtype == torch.float64
        assert tensor.shape == (6,)
    assert fitted.shift.tolist() == [0, 0, 1, 0, 0, 0]
    assert fitted.scale[2:].tolist() == [1, 1, 1, 1]
    assert fitted.centre[1:].tolist() == [0] * 5


@given(st.integers(0, 50), st.sampled_from([0.0, 0.3]))
def test_decoding_undoes_encoding(seed, missing):
    raw, fitted = table(30, seed, missing), Preprocessing.fit(table(), SCHEMA)
    back = fitted.decode(fitted.encode(raw).values)
    assert back.dtype == np.float64
    assert back[raw.observed] == pytest.approx(raw.values[raw.observed], rel=1e-5, abs=1e-5)
    assert (back[:, 2:][raw.observed[:, 2:]] == raw.values[:, 2:][raw.observed[:, 2:]]).all()  # exactly


def test_decoding_is_exact_in_double_precision():
    raw, fitted = table(missing=0.0), Preprocessing.fit(table(), SCHEMA)
    values = (raw.values - fitted.centre.numpy()) / fitted.scale.numpy() - fitted.shift.numpy()
    values[:, 1] = np.log(raw.values[:, 1]) / fitted.scale[1].item()
    assert fitted.decode(values) == pytest.approx(raw.values, rel=1e-13)


def test_decoding_takes_leading_axes_and_gradients():
    fitted = Preprocessing.fit(table(), SCHEMA)
    values = torch.randn(3, 4, 7, 6, requires_grad=True)
    decoded = fitted.decode(values)
    assert decoded.shape == (3, 4, 7, 6)
    assert (decoded[2, 1] == fitted.decode(values[2, 1].detach().numpy())).all()
    assert values.requires_grad
    assert np.isfinite(fitted.decode(np.full((1, 6), 1e6))).all()


def test_only_training_rows_are_measured():
    raw = table()
    train = raw.rows(slice(100))
    fitted = Preprocessing.fit(train, SCHEMA)
    assert fitted.centre[0].item() == train.values[train.observed[:, 0], 0].mean()
    assert fitted.centre[0].item() != raw.values[raw.observed[:, 0], 0].mean()


def test_columns_without_training_cells():
    raw = RawTable(np.ones((3, 6)), np.zeros((3, 6), dtype=bool))
    fitted = Preprocessing.fit(raw, SCHEMA)
    assert fitted.scale.tolist() == [1] * 6
    assert (fitted.encode(raw).values == 0).all()


@pytest.mark.parametrize("positive", ["log", "log1p"])
def test_log_volume_is_the_logarithm_of_the_derivative(positive):
    raw = table(20, missing=0.0)
    fitted = Preprocessing.fit(table(), SCHEMA, positive=positive)
    volume = fitted.log_volume(fitted.encode(raw).values.double())
    assert volume[:, 0].tolist() == pytest.approx([-math.log(fitted.scale[0])] * 20)
    offset = float(positive == "log1p")
    expected = -np.log(raw.values[:, 1] + offset) - math.log(fitted.scale[1])
    assert volume[:, 1].numpy() == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert (volume[:, 2:] == 0).all()


@pytest.mark.parametrize("positive", ["log", "log1p"])
def test_json_gives_back_everything(positive):
    fitted = Preprocessing.fit(table(), SCHEMA, seed=3, positive=positive)
    back = Preprocessing.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert back.schema == SCHEMA
    assert back.seed == 3
    assert (back.encode(table(seed=1)).values == fitted.encode(table(seed=1)).values).all()
    assert (back.decode(np.ones((1, 6))) == fitted.decode(np.ones((1, 6)))).all()


def test_widths_are_checked():
    fitted = Preprocessing.fit(table(), SCHEMA)
    for call in (
        lambda: fitted.decode(np.zeros((3, 5))),
        lambda: fitted.encode(RawTable(np.zeros((3, 5)), np.ones((3, 5), dtype=bool))),
        lambda: Preprocessing.fit(table(), Schema(SCHEMA.columns[:5])),
    ):
        with pytest.raises(ValueError, match="values should have the . columns of the schema. Found"):
            call()


def test_no_rows():
    fitted = Preprocessing.fit(table(), SCHEMA)
    nothing = fitted.encode(table().rows(slice(0)))
    assert nothing.values.shape == (0, 6)
    assert fitted.decode(nothing.values).shape == (0, 6)
