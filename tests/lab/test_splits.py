"""A table as an experiment has it: who is trained, validated and tested on, and in which units."""

import numpy as np
import pytest
import torch

from evenhand import datasets
from evenhand.lab import _splits
from evenhand.lab._config import Data
from evenhand.lab._splits import Splits, load
from evenhand.tables.families import HIVAE, VAE
from evenhand.tables.inference import column_errors, reconstruct
from evenhand.tables.schema import Schema

from ._lab import COLUMNS, KINDS, ROWS, make_frame, tiny, write_csv


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("table") / "people.csv")


def splits_of(path, *overrides):
    config = tiny(path, *overrides)
    return Splits(load(config.data), config, "cpu")


# ---------------------------------------------------------------- what is loaded


def test_a_file_is_read_and_described(path):
    source = load(Data(path=str(path)))
    about = source.about()
    assert about["name"] == "people.csv"
    assert about["rows"] == ROWS == len(source.table)
    assert about["columns"] == COLUMNS
    assert about["kinds"] == KINDS
    assert about["missing"] == pytest.approx(make_frame().isna().to_numpy().mean())
    assert len(about["reasons"]) == 5
    assert all(about["reasons"])
    assert about["note"] == ""


def test_a_schema_beside_the_file_is_followed(path, tmp_path):
    schema = Schema.infer(make_frame()).update({"visits": "real", "height": {"reason": "As we know."}})
    (tmp_path / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
    about = load(Data(path=str(path), schema=str(tmp_path / "schema.toml"))).about()
    assert about["kinds"] == ["real", "positive", "real", "binary", "categorical"]
    assert about["reasons"][0] == "As we know."


def test_columns_that_cannot_be_learnt_are_named(tmp_path):
    make_frame().assign(code=[f"c{i}" for i in range(ROWS)]).to_csv(tmp_path / "people.csv", index=False)
    about = load(Data(path=str(tmp_path / "people.csv"))).about()
    assert about["columns"] == COLUMNS
    assert list(about["ignored"]) == ["code"]


def test_some_rows_are_taken_at_random_and_always_the_same(path):
    everything, some = load(Data(path=str(path))), load(Data(path=str(path), rows=50))
    assert len(some.table) == 50
    assert some.note == f"50 of {ROWS} rows, taken at random."
    found = [np.flatnonzero((everything.table.values == row).all(1)) for row in some.table.values]
    numbers = [int(one[0]) for one in found]
    assert numbers == sorted(numbers)
    assert numbers != list(range(50))
    np.testing.assert_array_equal(load(Data(path=str(path), rows=50)).table.values, some.table.values)
    assert load(Data(path=str(path), rows=ROWS)).note == ""


def test_public_data_come_with_their_note_and_schema(monkeypatch):
    frame = make_frame()
    schema = Schema.infer(frame).update({"visits": "real"})
    found = type("Found", (), {"frame": frame, "schema": schema, "note": "Old."})
    monkeypatch.setattr(datasets, "load", lambda name: found if name == "hi" else None)
    source = load(Data("hi", rows=40))
    assert (source.name, source.schema) == ("hi", schema)
    assert source.note == f"Old. 40 of {ROWS} rows, taken at random."


def test_too_few_rows_are_refused(tmp_path):
    write_csv(tmp_path / "few.csv", rows=19)
    with pytest.raises(ValueError, match="at least 20 rows to train, choose and test on. Found 19."):
        load(Data(path=str(tmp_path / "few.csv")))
    write_csv(tmp_path / "some.csv", rows=30)
    with pytest.raises(ValueError, match="data.rows should be at most the 30 rows that there are. Found 31."):
        load(Data(path=str(tmp_path / "some.csv"), rows=31))


# ---------------------------------------------------------------- the split


@pytest.mark.parametrize(("rows", "sizes"), [(100, (70, 10, 20)), (30, (21, 3, 6)), (59, (41, 6, 12))])
def test_seventy_ten_and_twenty_of_a_hundred(path, rows, sizes):
    splits = splits_of(path, f"data.rows={rows}", "runs.seeds=[4, 0, 9]")
    assert len(splits.parts) == 3
    for parts in splits.parts:
        assert tuple(map(len, parts)) == sizes
        assert sorted(np.concatenate(parts)) == list(range(rows))  # complete, and none twice


def test_splits_belong_to_the_seed(path):
    both, one = splits_of(path, "runs.seeds=[4, 0]"), splits_of(path, "runs.seeds=[0]")
    for mine, other in zip(both.parts[1], one.parts[0], strict=True):
        np.testing.assert_array_equal(mine, other)
    assert any((a != b).any() for a, b in zip(both.parts[0], both.parts[1], strict=True))


def test_too_small_a_table_still_has_all_parts(tmp_path):
    write_csv(tmp_path / "few.csv", rows=_splits.FEWEST)
    splits = splits_of(tmp_path / "few.csv")
    assert tuple(map(len, splits.parts[0])) == (14, 2, 4)


def test_an_index_finds_the_rows_of_every_replica(path):
    splits = splits_of(path, "runs.seeds=[4, 0]")
    index = splits.index(2, [0, 4, 0])
    assert index.shape == (3, len(splits.parts[0][2]))
    np.testing.assert_array_equal(index[0], splits.n + splits.parts[1][2])
    np.testing.assert_array_equal(index[1], splits.parts[0][2])
    assert torch.equal(index[0], index[2])


def test_units_are_those_of_the_training_rows_of_the_split(path):
    splits = splits_of(path, "runs.seeds=[4, 0]")
    table = load(Data(path=str(path))).table
    for s in (0, 1):
        rows = splits.parts[s][0]
        seen = table.values[rows, 0][table.observed[rows, 0]]
        assert float(splits.preparation.preprocessings[s].centre[0]) == pytest.approx(seen.mean())
        assert float(splits.preparation.preprocessings[s].scale[0]) == pytest.approx(seen.std())
        _, targets, mask = splits.rows.split(splits.rows.record[splits.index(0, [splits.seeds[s]])[0]])
        height = targets[:, 0][mask[:, 0] == 1]
        assert float(height.mean()) == pytest.approx(0, abs=1e-6)
    assert splits.preparation.preprocessings[0].centre[0] != splits.preparation.preprocessings[1].centre[0]


def test_densities_are_in_the_units_of_the_data(path):
    splits = splits_of(path)
    for s in (0, 1):
        found = splits.base[s * splits.n : (s + 1) * splits.n, splits.network([0]).likelihood.order.index(0)]
        torch.testing.assert_close(found, -splits.preparation.preprocessings[s].scale[0].log().expand(ROWS).to(found))


# ---------------------------------------------------------------- errors


def test_errors_compare_with_the_rows_of_the_replica(path):
    splits = splits_of(path, "runs.seeds=[4, 0]")
    replicas = [0, 4, 0]
    truths = [splits.truth[splits.parts[splits.seeds.index(seed)][2]] for seed in replicas]
    guess = torch.stack([truth.nan_to_num(0.0) for truth in truths])
    assert (splits.errors(guess, 2, replicas) == 0).all()
    guess[1] += 1
    found = splits.errors(guess, 2, replicas)
    assert (found[[0, 2]] == 0).all()
    expected = column_errors(truths[1], guess[1:2], torch.isfinite(truths[1]), splits.schema)[0]
    torch.testing.assert_close(found[1], expected)
    assert (found[1] > 0).all()


def test_only_what_is_scored_counts(path):
    splits = splits_of(path, "runs.seeds=[0]")
    truth = splits.truth[splits.parts[0][2]]
    guess = truth.nan_to_num(0.0)[None].clone()
    scored = torch.zeros(truth.shape, dtype=torch.bool)
    scored[:, 1:3] = True
    guess[0, ~torch.isfinite(truth)] = 1e6  # nobody knows better
    guess[0, :, 3] = 7.0
    found = splits.errors(guess, 2, [0], scored)[0]
    assert torch.isnan(found).tolist() == [True, False, False, True, True]
    assert (found[1:3] == 0).all()


# ---------------------------------------------------------------- what models see


def test_hivae_has_its_own_preprocessing_and_inputs(path):
    vae, hivae = splits_of(path), splits_of(path, "model.name=hivae")
    assert isinstance(vae.network([0]), VAE)
    assert isinstance(hivae.network([0]), HIVAE)
    assert vae.preparation.preprocessings[0].offset.tolist() == [0.0] * 5
    assert hivae.preparation.preprocessings[0].offset.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert float(hivae.preparation.preprocessings[0].centre[1]) > 0
    # what is for the VAE alone is no matter for HI-VAE
    same = splits_of(path, "model.name=hivae", "data.encoding=one-hot", "data.positive=centred")
    assert torch.equal(same.rows.record, hivae.rows.record)


@pytest.mark.parametrize(
    ("override", "inputs"),
    [("data.encoding=one-hot", 7), ("data.positive=centred", 5), ("training.see_mask=true", 10)],
)
def test_what_the_encoder_sees(path, override, inputs):
    plain, other = splits_of(path), splits_of(path, override)
    assert plain.rows.n_inputs == 5
    assert other.rows.n_inputs == inputs
    assert plain.rows.record.shape != other.rows.record.shape or not torch.equal(plain.rows.record, other.rows.record)
    other.network([0, 1])  # fits


def test_positive_numbers_are_centred_if_wanted(path):
    plain, centred = splits_of(path), splits_of(path, "data.positive=centred")
    assert float(plain.preparation.preprocessings[0].centre[1]) == 0
    assert float(centred.preparation.preprocessings[0].centre[1]) == pytest.approx(7, abs=1)


def test_guesses_stay_within_the_range_if_wanted(path):
    # weights without sense make wild guesses
    for override, bounded in (("model.within_range=true", True), ("model.within_range=false", False)):
        splits = splits_of(path, override)
        network = splits.network([0])
        with torch.no_grad():
            for p in network.parameters():
                p.mul_(10)
        guess = reconstruct(network, splits.rows, splits.index(2, [0]))[0]
        low, high = (limit[:3] for limit in splits.limits)
        inside = ((guess[:, :3] >= low - 1e-9) & (guess[:, :3] <= high + 1e-9)).all()
        assert bool(inside) == bounded


def test_networks_start_from_the_marginals_of_their_own_split_if_wanted(path):
    plain, started = splits_of(path), splits_of(path, "model.from_marginals=true")
    assert (plain.network([0]).head.bias == 0.01).all()
    network = started.network([1, 0, 1])
    order = network.likelihood.order
    member = next(p for p, head in enumerate(network.likelihood.heads.tolist()) if order[head] == 3)
    bias = network.head.bias.detach()
    for replica, seed in enumerate([1, 0, 1]):
        known = started.truth[started.parts[seed][0], 3]
        share = known[torch.isfinite(known)].mean()
        assert float(bias[replica, member]) == pytest.approx(float(torch.logit(share)), abs=1e-4)
    alone = splits_of(path, "model.from_marginals=true", "runs.seeds=[1]").network([1])
    torch.testing.assert_close(bias[0], alone.head.bias[0].detach())


@pytest.mark.parametrize(("share", "latent"), [(0.5, 3), (0.4, 2), (0.01, 1), (2, 10)])
def test_the_latent_space_is_a_share_of_the_columns(path, share, latent):
    assert splits_of(path, f"model.latent_share={share}").network([0]).n_latent == latent


def test_a_column_without_a_value_is_carried_along(tmp_path):
    frame = make_frame()
    schema = Schema.infer(frame)
    frame["height"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
    splits = splits_of(tmp_path / "people.csv", f"data.schema='{tmp_path}/schema.toml'", "model.within_range=true")
    guess = reconstruct(splits.network([0]), splits.rows, splits.index(2, [0]))
    found = splits.errors(guess, 2, [0])[0]
    assert torch.isnan(found).tolist() == [True, False, False, False, False]


def test_errors_are_measured_by_the_range_of_the_rows_or_of_the_table(path):
    guess = torch.zeros(1, 24, 5, dtype=torch.float64)
    by_rows, by_table = (
        splits_of(path, f"model.within_range={x}").errors(guess, 2, [0])[0] for x in ("false", "true")
    )
    splits = splits_of(path)
    known = splits.truth[:, 0]
    part = known[torch.tensor(splits.parts[0][2])]
    whole, here = ((x[x.isfinite()].max() - x[x.isfinite()].min()) for x in (known, part))
    assert here < whole
    torch.testing.assert_close(by_table[0] * whole, by_rows[0] * here)
    torch.testing.assert_close(by_table[3:], by_rows[3:])  # shares of wrong classes have no range


def test_so_few_rows_are_refused_however_they_are_asked_for(path):
    with pytest.raises(ValueError, match="data should have at least 20 rows to train, choose and test on. Found 5"):
        load(Data(path=str(path), rows=5))


def test_few_rows_are_said_to_be_too_few(tmp_path):
    make_frame()[:25].to_csv(tmp_path / "few.csv", index=False)
    assert load(Data(path=str(tmp_path / "few.csv"))).about()["note"].startswith("Only 25 rows: too few to rely on.")


def test_how_a_file_is_read_can_be_told(tmp_path):
    make_frame().astype(object).fillna("abc").to_csv(tmp_path / "people.csv", index=False, header=False)
    source = load(Data(path=str(tmp_path / "people.csv"), header="no", missing=("abc",)))
    assert len(source.table) == ROWS
    assert source.schema.names[0] == "x1"
    assert any(note.startswith("'abc' was taken as missing") for note in source.conversions)
    with pytest.raises(ValueError, match="data.header and data.missing should stand beside data.path"):
        Data("hi", header="no")


def test_numbers_that_cannot_be_learnt_are_named(tmp_path):
    frame = make_frame().assign(huge=np.arange(ROWS) / 7)
    frame.loc[3, "huge"] = 1e300
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(ValueError, match=r"hold numbers up to 1e\+30. Found 1e\+300 in column 'huge'"):
        load(Data(path=str(tmp_path / "people.csv")))
