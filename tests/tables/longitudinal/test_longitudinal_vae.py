"""The estimator: holes, the next visit, new histories, and what it refuses."""

import copy
import dataclasses
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone

from evenhand.impartial import Sum
from evenhand.tables import LongitudinalVAE, Schema
from evenhand.tables.longitudinal._fitted import _beginnings
from evenhand.tables.longitudinal._guess import imagined
from evenhand.tables.longitudinal._training import kept

MODELLED = ["level", "size", "visits", "sort"]


def model(**changes):
    return LongitudinalVAE(**{"id": "who", "time": "year", "max_epochs": 1, "random_state": 0} | changes)


def test_holes_are_filled_and_observed_cells_stay(fitted, holes):
    filled = fitted.transform(holes)
    assert not filled.isna().any().any()
    assert (filled.dtypes == holes.dtypes).all()
    seen = holes.notna()
    assert filled.where(seen).equals(holes.where(seen))


def test_guesses_are_better_than_the_mean_and_the_mode(fitted, holes, panel):
    filled = fitted.transform(holes)
    cell = holes["level"].isna()
    error = (filled["level"] - panel["level"])[cell].pow(2).mean() ** 0.5
    assert error < 0.5 * panel["level"].std()
    cell = holes["sort"].isna()
    common = holes["sort"].mode()[0]
    assert (filled["sort"] != panel["sort"])[cell].mean() < 0.7 * (panel["sort"][cell] != common).mean()


def test_the_network_alone_beats_the_mean_and_the_mode(fitted, holes, panel):
    from evenhand.tables.longitudinal._panel import read_panel

    read = read_panel(holes, "who", "year", fitted.schema_, fitted._clock_alone(holes))
    said = fitted._fitted.say(read.table, read.times, read.visits)[:, fitted.schema_.names.index("level")]
    cell = holes["level"].isna().to_numpy()
    assert np.sqrt(np.mean((said - panel["level"])[cell] ** 2)) < 0.7 * panel["level"].std()
    assert set(fitted.shares_) == set(MODELLED)


def test_rows_may_come_in_any_order_and_alone(fitted, holes):
    filled = fitted.transform(holes)
    shuffled = holes.sample(frac=1, random_state=0)
    again = fitted.transform(shuffled).loc[holes.index]
    pd.testing.assert_frame_equal(again, filled, rtol=1e-4)
    alone = holes[holes["who"] == "p3"]
    pd.testing.assert_frame_equal(fitted.transform(alone), filled.loc[alone.index], rtol=1e-4)


def test_the_next_visit(fitted, holes):
    found = fitted.forecast(holes)
    assert found["who"].tolist() == [f"p{i}" for i in range(40)]
    assert set(found["year"]) == {2005}
    assert not found.isna().any().any()
    assert set(fitted.forecast(holes, gap=3)["year"]) == {2007}


def test_the_next_visit_is_that_of_a_row_without_cells(fitted, holes):
    more = pd.DataFrame({"who": ["p0"], "year": [2005]})
    longer = pd.concat([holes[holes["who"] == "p0"], more], ignore_index=True).astype(holes.dtypes.to_dict())
    asked = fitted.transform(longer).iloc[-1]
    told = fitted.forecast(holes[holes["who"] == "p0"]).iloc[0]
    assert asked["sort"] == told["sort"]
    assert asked["level"] == pytest.approx(told["level"], rel=1e-4)


def test_new_histories(fitted, holes):
    found = fitted.sample(3, random_state=1)
    assert list(found.columns) == list(holes.columns)
    assert found["who"].tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert found["year"].tolist() == [2000, 2001, 2002, 2003, 2004] * 3
    assert set(found["sort"]) <= {"a", "b", "c"}
    assert (found["size"] > 0).all()
    pd.testing.assert_frame_equal(found, fitted.sample(3, random_state=1))
    assert not found.equals(fitted.sample(3, random_state=2))


def test_reconstructions_go_through_the_latent_variables(fitted, holes):
    found = fitted.reconstruct(holes)
    assert not found[MODELLED].isna().any().any()
    assert not np.allclose(found["level"], fitted.transform(holes)["level"])


def test_polars_gives_what_pandas_gives(holes):
    frame = pl.from_pandas(holes)
    ours, theirs = model().fit(frame), model().fit(holes)
    filled = ours.transform(frame)
    assert filled.schema == frame.schema
    assert np.allclose(filled["level"], theirs.transform(holes)["level"])
    assert ours.forecast(frame)["year"].to_list() == [2005] * 40
    assert ours.sample(2).columns == frame.columns


def test_pyarrow_tables_are_taken(holes):
    table = pl.from_pandas(holes).to_arrow()
    ours = model().fit(table)
    filled = ours.transform(table)
    assert filled.schema.names == table.schema.names
    assert all(column.null_count == 0 for column in filled.columns)
    assert set(ours.forecast(table)["year"].to_pylist()) == {2005}
    assert ours.sample(2).num_rows == 10


def test_times_may_be_dates(holes):
    frame = holes.assign(year=pd.to_datetime(holes["year"].astype(str) + "-07-01"))
    found = model().fit(frame).forecast(frame)
    assert set(found["year"].dt.strftime("%Y-%m-%d")) == {"2005-07-01"}


def test_a_seed_gives_the_same_model_and_methods_differ(holes):
    one, two = (model().fit(holes).reconstruct(holes)["level"] for _ in range(2))
    assert one.equals(two)
    other = model(method="imtlg").fit(holes).reconstruct(holes)["level"]
    assert not np.allclose(one, other)


def test_validations_are_told_and_the_best_is_kept(fitted):
    assert fitted.error_ == min(row["error"] for row in fitted.history_)
    assert fitted.rate_ > 0
    assert fitted.history_[0]["error"] > fitted.error_


def test_time_is_kept(holes):
    found = model(max_epochs=100_000, max_seconds=1.0).fit(holes)
    assert found.history_[-1]["steps"] < 100_000


def test_two_histories_and_no_time_are_enough(holes):
    few = holes[holes["who"].isin(["p1", "p2"])]
    found = model(unsupported="ignore", max_seconds=1e-9).fit(few)
    assert not found.transform(few)[["size", "visits"]].isna().any().any()
    assert len(found.history_) == 1


def test_scikit_learn_can_copy_it():
    assert clone(model(hide=0.2)).get_params() == model(hide=0.2).get_params()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "patient"}, "id should name a column of X .*'who'.* Found 'patient'"),
        ({"time": "who"}, "time should be another column than id. Found 'who'"),
        ({"hide": 0}, "hide should be a number > 0"),
        ({"max_seconds": -1}, "max_seconds should be a number > 0"),
        ({"method": "best"}, "method should be"),
        ({"kl_weight": "rate:0"}, "kl_weight should be a number >= 0, or a rate to hold .* Found 'rate:0'"),
        ({"schema": 3}, "schema should be a Schema, a mapping or None. Found 3"),
    ],
)
def test_arguments_that_mean_nothing(holes, changes, message):
    with pytest.raises(ValueError, match=message):
        model(**changes).fit(holes)


def test_rows_without_id_or_time_and_visits_at_one_time(holes):
    unknown = holes.copy()
    unknown.loc[3, "who"] = None
    with pytest.raises(ValueError, match=r"X\['who'\] should have no missing cell. Found one in row 3"):
        model().fit(unknown)
    twice = holes.assign(year=holes["year"].replace(2001, 2000))
    with pytest.raises(ValueError, match="differ within a history. Found two visits of 'p0' in rows 0 and 1"):
        model().fit(twice)
    with pytest.raises(ValueError, match="X should be a pandas or polars DataFrame"):
        model().fit(holes.to_numpy())
    with pytest.raises(ValueError, match="X should have at least 2 histories. Found 1"):
        model(unsupported="ignore").fit(holes[holes["who"] == "p0"])
    with pytest.raises(ValueError, match="X should have columns that a model can describe"):
        model().fit(holes.assign(same=1.0))


def test_the_last_visits_of_a_short_history_are_no_padding(fitted, holes):
    """Histories of different lengths side by side."""
    some = holes.drop(index=[1, 2, 3, 4])  # p0 keeps one visit
    filled = fitted.transform(some)
    alone = fitted.transform(some[some["who"] == "p0"])
    pd.testing.assert_frame_equal(filled[filled["who"] == "p0"], alone, rtol=1e-4)


def test_draws_differ_within_a_history(fitted):
    clock = torch.zeros(50, 4, 2, dtype=fitted._fitted.network.start.dtype)
    found = imagined(fitted._fitted.network, clock, torch.Generator().manual_seed(0))
    assert found.shape == (50, 4, 4)
    assert found[:, 0, 0].std() > 0


def test_a_saved_model_does_what_it_did(fitted, holes, tmp_path):
    path = tmp_path / "model.safetensors"
    fitted.save(path)
    again = LongitudinalVAE.load(path)
    pd.testing.assert_frame_equal(again.transform(holes), fitted.transform(holes))
    pd.testing.assert_frame_equal(again.forecast(holes), fitted.forecast(holes))
    pd.testing.assert_frame_equal(again.sample(3), fitted.sample(3))
    assert again.shares_ == fitted.shares_
    assert (again.error_, again.rate_) == (fitted.error_, fitted.rate_)
    assert again.get_params() == fitted.get_params()


def test_files_that_are_something_else(fitted, tmp_path):
    from evenhand.common import write_tensors

    other = tmp_path / "other.safetensors"
    write_tensors(other, {"x": torch.zeros(1)}, {"class": "TabularVAE", "format": 1})
    with pytest.raises(ValueError, match="holds a TabularVAE. Load it with TabularVAE.load"):
        LongitudinalVAE.load(other)
    write_tensors(other, {"x": torch.zeros(1)}, {"of": "somebody else"})
    with pytest.raises(ValueError, match="should be a file that save.. of LongitudinalVAE wrote"):
        LongitudinalVAE.load(other)
    broken = tmp_path / "broken.safetensors"
    write_tensors(broken, {"x": torch.zeros(1)}, {"class": "LongitudinalVAE", "format": 1})
    with pytest.raises(ValueError, match="Its parts do not fit"):
        LongitudinalVAE.load(broken)
    changed = clone(fitted).set_params(method=Sum())
    changed._fitted = fitted._fitted
    with pytest.raises(ValueError, match="method should be a name to be saved"):
        changed.save(tmp_path / "x.safetensors")


def test_a_rate_is_held_by_any_method(holes):
    for method in ("sum", "imtlg"):
        options = {"max_epochs": 60, "batch_size": 8, "n_hidden": 16, "patience": 40, "random_state": 0}
        model = LongitudinalVAE(id="who", time="year", method=method, kl_weight="rate:1.5", **options).fit(holes)
        assert model.rate_ == pytest.approx(1.5, rel=0.03)
        assert {"kl_weight", "off"} <= set(model.history_[-1])
        weights = [row["kl_weight"] for row in model.history_]
        assert len(set(weights)) > 10  # it moves


def test_a_rate_that_cannot_be_reached_is_told(holes):
    model = LongitudinalVAE(id="who", time="year", kl_weight="rate:500", max_epochs=2, n_hidden=4, random_state=0)
    with pytest.warns(UserWarning, match="The rate of visits should be 500 nats per row. Found .* take no more"):
        model.fit(holes)


def test_a_saved_model_that_held_a_rate_is_the_one_nearest_to_it(holes, tmp_path):
    options = {"max_epochs": 30, "batch_size": 8, "n_hidden": 8, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether the rate is reached is not the question
        model = LongitudinalVAE(id="who", time="year", kl_weight="rate:1", **options).fit(holes)
    nearest = min(row["off"] for row in model.history_)
    assert model.rate_ in [row["rate"] for row in model.history_ if row["off"] == nearest]
    model.save(tmp_path / "model.safetensors")
    again = LongitudinalVAE.load(tmp_path / "model.safetensors")
    assert (again.kl_weight, again.rate_) == ("rate:1", model.rate_)


def test_rates_of_rows_are_those_of_the_training(fitted, holes):
    found = fitted.rates(holes)
    assert found.shape == (len(holes),)
    assert (found >= 0).all()
    one = holes[holes["who"] == "p3"]
    assert fitted.rates(one) == pytest.approx(found[(holes["who"] == "p3").to_numpy()], rel=1e-4)


def test_a_gap_that_is_lost_in_whole_years_is_refused(fitted, holes):
    with pytest.raises(
        ValueError, match=r"gap should lead to a later time that 'year' can hold. Found 0.4. Times in"
    ):
        fitted.forecast(holes, gap=0.4)


def test_a_time_that_does_not_move_is_named(panel):
    with pytest.raises(ValueError, match="time should be a column of numbers or dates that differ. Found 'year'"):
        LongitudinalVAE(id="who", time="year", unsupported="ignore").fit(panel[panel["year"] == 2000])


# Times that are whole, other names, and other moods of torch


@pytest.mark.parametrize("gap", [None, 1.5, 2])
def test_a_forecast_is_for_the_time_that_is_written(gap):
    """And its gap is the same for all, also where times are whole and the usual gap is not."""
    rng = np.random.default_rng(0)
    frame = pd.concat(
        pd.DataFrame({"who": i, "year": [0, 1, 3] if i % 2 else [1, 2, 4], "a": rng.normal(size=3)})
        for i in range(10)
    )
    one = model().fit(frame)
    assert one._fitted.clock.gap == 1.5
    found = one.forecast(frame, gap)
    assert set(found["year"].to_numpy() - frame.groupby("who")["year"].max().to_numpy()) == {2}
    pd.testing.assert_frame_equal(found, one.forecast(frame, 2))
    with pytest.raises(ValueError, match="gap should lead to a later time"):
        one.forecast(frame, 1e20)


def test_a_column_without_a_value_is_refused(panel):
    schema = model().fit(panel).schema_
    with pytest.raises(ValueError, match="X should have values in all columns of the schema. Found none in level"):
        model(schema=schema).fit(panel.assign(level=np.nan))


def test_a_loaded_model_is_refitted_to_other_categories(panel, tmp_path):
    model().fit(panel).save(tmp_path / "model.safetensors")
    loaded = LongitudinalVAE.load(tmp_path / "model.safetensors")
    assert loaded.schema is None
    other = panel.assign(sort=panel["sort"].replace({panel["sort"].iloc[0]: "new"}))
    assert "new" in set(loaded.fit(other).transform(other)["sort"])
    kinds = {"visits": "real"}
    model(schema=kinds).fit(panel).save(tmp_path / "model.safetensors")
    assert LongitudinalVAE.load(tmp_path / "model.safetensors").schema == kinds


def test_columns_called_by_numbers(panel):
    numbered = panel.rename(columns={"level": 0})
    one = model().fit(numbered)
    assert set(one.sample(2).columns) == set(numbered.columns)


@pytest.mark.parametrize("mood", [torch.no_grad, torch.inference_mode])
def test_fit_where_nothing_is_recorded(panel, mood):
    with mood():
        one = model().fit(panel)
    pd.testing.assert_frame_equal(one.forecast(panel), model().fit(panel).forecast(panel))


def test_verbose_is_yes_or_no(panel):
    with pytest.raises(ValueError, match="verbose should be True or False. Found 'bogus'"):
        model(verbose="bogus").fit(panel)


# Times with decimals, schemas without id and time, and what is kept


def decimals():
    rng = np.random.default_rng(0)
    return pd.concat(
        pd.DataFrame(
            {"who": i, "year": (np.array([0.0, 0.1, 0.3]) + 0.1 * (i % 3)).round(1), "a": rng.normal(size=3)}
        )
        for i in range(12)
    ).reset_index(drop=True)


@pytest.mark.parametrize(("gap", "expected"), [(None, 0.2), (0.3, 0.3), (0.25, 0.3), (0.15, 0.2)])
def test_a_gap_has_the_decimals_of_the_times(gap, expected):
    frame = decimals()
    one = model().fit(frame)
    assert one._fitted.clock.gap == pytest.approx(0.15)
    found = one.forecast(frame, gap)["year"].to_numpy() - frame.groupby("who")["year"].max().to_numpy()
    np.testing.assert_allclose(found, expected)


def test_a_gap_that_is_lost_in_the_decimals_is_refused():
    frame = decimals()
    with pytest.raises(ValueError, match=r"gap should lead to a later time that 'year' can hold.* have 1 decimals"):
        model().fit(frame).forecast(frame, 0.01)


def test_the_usual_gap_is_at_least_a_step(panel):
    """Times are whole, and most visits follow each other within a time that is not."""
    frame = panel.assign(year=panel["year"].astype(float))
    one = model().fit(frame)
    one._fitted.clock = dataclasses.replace(one._fitted.clock, gap=0.2)
    found = one.forecast(panel)
    assert set(found["year"].to_numpy() - panel.groupby("who", sort=False)["year"].max().to_numpy()) == {1}


def test_a_schema_may_leave_out_id_and_time(panel):
    alone = Schema.infer(panel.drop(columns=["who", "year"]), unsupported="ignore")
    one = model(schema=alone).fit(panel)
    assert one.schema_.names == alone.names
    assert one.schema_.ignored.keys() >= {"who", "year"}
    assert one.transform(panel).equals(panel)


def test_integers_that_holes_have_made_floats_are_filled_with_whole_numbers(panel):
    frame = panel.assign(visits=panel["visits"] * 1000)
    holed = frame.astype({"visits": float})
    holed.loc[3, "visits"] = np.nan
    assert model().fit(frame).transform(holed).loc[3, "visits"] % 1 == 0


@pytest.mark.parametrize(
    ("errors", "offs", "expected"),
    [
        ([0.3, 0.2, 0.25], None, 1),
        ([0.3, 0.3 - 1e-9, 0.31], None, 0),  # next to nothing is no gain
        ([np.nan, np.nan, np.nan], None, 2),
        ([0.3, 0.2, 0.1], [0.0, 0.0, 0.5], 1),
        ([0.3, 0.2, 0.25], [0.5, 0.4, 0.0], 2),
    ],
)
def test_what_is_kept(errors, offs, expected):
    history = [{"error": e} | ({} if offs is None else {"off": offs[i]}) for i, e in enumerate(errors)]
    assert kept(history) == expected


def test_error_and_rate_are_those_of_the_network_that_is_kept():
    """Three histories of two visits, in which nothing is hidden: the last network is kept."""
    frame = pd.DataFrame({"who": [0, 0, 1, 1, 2, 2], "year": [0, 1] * 3, "a": [0.1, 0.4, 0.2, 0.6, 0.3, 0.9]})
    one = model(max_epochs=40).fit(frame)
    assert one.rate_ == one.history_[kept(one.history_)]["rate"]
    if np.isnan(one.error_):
        assert one.rate_ == one.history_[-1]["rate"]


# Forecasts are weighed by forecasts


def test_histories_end_at_their_last_visits():
    begun, last = _beginnings([np.arange(3), np.array([7]), np.arange(10, 22)])
    assert [rows.tolist() for rows in begun[:2]] == [[0, 1], [0, 1, 2]]
    assert [len(rows) for rows in begun[2:]] == list(range(5, 13))  # the last eight of twelve
    assert last[:, 0].tolist()[:5] == [False, True, False, False, True]
    assert last.sum() == len(begun)
    assert _beginnings([np.array([7])])[0] == []


def test_forecasts_go_as_far_from_the_last_cell_as_is_best_for_forecasts(fitted, holes):
    assert fitted.forecast_shares_.keys() == fitted.shares_.keys()
    other = copy.deepcopy(fitted)
    filled = other.transform(holes)
    for share in (0.0, 1.0):
        other._fitted.shares_ahead = np.full(len(MODELLED), share)
        pd.testing.assert_frame_equal(other.transform(holes), filled)  # which they do not touch
        found = other.forecast(holes)
        last = holes.groupby("who", sort=False)["level"].last().to_numpy()
        assert np.allclose(found["level"], last) == (share == 0)


def test_a_trend_is_forecast(panel):
    """`size` grows by a fifth every year: the last cell is always too small."""
    frame = panel[["who", "year", "level", "size"]]
    one = LongitudinalVAE(id="who", time="year", max_epochs=60, batch_size=8, n_hidden=24, random_state=0)
    one.fit(frame[frame["who"] != "p0"])
    assert one.forecast_shares_["size"] > 0
