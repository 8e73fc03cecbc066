"""Tables as strangers have them, in Python: columns by name, dates as text, digits, and words that help."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from evenhand.common import ArgumentError
from evenhand.tables import Column
from evenhand.tables.estimator import TabularVAE

from ._tables import fitted, same, table, tiny

RNG = np.random.default_rng(0)
N = 60


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_are_found_by_name_in_any_order(library):
    X = table(library)
    names = list(X.column_names if library == "pyarrow" else X.columns)[::-1]
    turned = X[names] if library == "pandas" else X.select(names)
    filled = fitted(library).transform(turned)
    assert list(filled.column_names if library == "pyarrow" else filled.columns) == names
    straight = fitted(library).transform(X)
    assert same(filled, straight[names] if library == "pandas" else straight.select(names))


def remarks():
    frame = pd.DataFrame({"x": RNG.normal(size=N), "y": RNG.choice(["u", "v", "w"], N), "remark": "fine"})
    return frame.mask(RNG.random(frame.shape) < 0.2)


def test_a_column_that_is_ignored_may_be_absent_and_its_holes_are_named():
    frame = remarks()
    estimator = tiny(unsupported="ignore").fit(frame)
    n = int(frame["remark"].isna().sum())
    words = rf"{n} missing cells are left, in columns that are ignored: 'remark' \({n}\). schema_.ignored says why"
    with pytest.warns(UserWarning, match=words):
        filled = estimator.transform(frame)
    with pytest.warns(UserWarning, match=words):
        estimator.sample_posterior(frame, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fewer = estimator.transform(frame.drop(columns="remark"))
        estimator.encode(frame)  # which fills nothing
    pd.testing.assert_frame_equal(fewer, filled.drop(columns="remark"))


def test_frames_and_arrays_are_not_confused():
    with pytest.raises(ArgumentError, match="X should be a frame, as in fit. Found an array. Columns of frames are"):
        fitted().transform(np.zeros((3, 9)))
    with pytest.raises(ArgumentError, match="X should be an array, as in fit. Found a frame"):
        fitted("floats").transform(pd.DataFrame(table("floats")))


def test_columns_of_arrays_are_explained():
    X = np.column_stack([RNG.normal(size=N), np.full(N, 3.0)])
    with pytest.raises(
        ArgumentError, match=r"(?s)^X should .*column 'x1' is constant.*called x0, x1, \.\.\. by their"
    ):
        tiny().fit(X)


def test_kinds_are_named_where_users_name_them():
    frame = remarks().assign(code=[f"c{i}" for i in range(N)])
    with pytest.raises(ArgumentError, match="(?s)^X should .*'code' has 60 categories.*in schema of TabularVAE"):
        tiny().fit(frame)
    with pytest.raises(ArgumentError, match="^schema should name columns of the frame"):
        tiny(schema={"height": "real"}).fit(frame)
    with pytest.raises(
        ArgumentError, match=r"^X should have a column to model. Found 1, all of them ignored: 'remark' \("
    ):
        tiny(unsupported="ignore").fit(frame[["remark"]])
    with pytest.raises(
        ArgumentError, match="^X should have no columns that the schema does not know. Found 'more'. Drop"
    ):
        fitted().transform(table().assign(more=1))


def dated(form="%Y-%m-%d"):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D")
    frame = pd.DataFrame({"since": days.strftime(form), "x": RNG.normal(size=N)})
    frame.loc[::9, "since"] = None
    return frame


@pytest.mark.parametrize("make", [pd.DataFrame, lambda frame: pl.from_pandas(frame)], ids=["pandas", "polars"])
def test_dates_as_text_are_dates(make, tmp_path):
    frame = make(dated())
    estimator = tiny().fit(frame)
    assert estimator.schema_["since"].unit == "days"
    filled = estimator.transform(frame)
    assert all(datetime.date.fromisoformat(text) for text in filled["since"])
    assert filled["since"].dtype == frame["since"].dtype
    new = estimator.sample(3)
    assert all(datetime.date.fromisoformat(text) for text in new["since"])
    estimator.save(tmp_path / "model")
    assert same(TabularVAE.load(tmp_path / "model").transform(frame), filled)


@pytest.mark.parametrize(
    "day", ["2020-01-31", datetime.date(2020, 1, 31), pd.Timestamp("2020-01-31"), np.datetime64("2020-01-31")]
)
@pytest.mark.parametrize("text", [True, False])
def test_dates_can_be_given(day, text):
    frame = dated() if text else dated().assign(since=lambda f: pd.to_datetime(f["since"]))
    rows = tiny().fit(frame).sample(3, given={"since": day})
    assert rows["since"].tolist() == (["2020-01-31"] * 3 if text else [pd.Timestamp("2020-01-31")] * 3)


def test_what_cannot_be_given_is_said_in_words_of_the_user():
    estimator = tiny(unsupported="ignore").fit(dated().assign(remark="fine"))
    with pytest.raises(
        ArgumentError, match=r"^given\['since'\] should fit its column. Found otherwise: it should hold dates"
    ):
        estimator.sample(2, given={"since": "soon"})
    with pytest.raises(
        ArgumentError, match="^given should name columns of the table. Found 'remark'. 'remark' is ignored: Is"
    ):
        estimator.sample(2, given={"remark": "fine"})


def test_one_word_among_numbers():
    frame = pd.DataFrame({"x": [*(f"{x:.2f}" for x in RNG.normal(size=N - 1)), "unknown"], "y": RNG.normal(size=N)})
    told = "column 'x': 59 of 60 cells are numbers; 'unknown' is not: treated as missing."
    with pytest.warns(UserWarning, match=told):
        estimator = tiny().fit(frame)
    with pytest.warns(UserWarning, match=told):
        filled = estimator.transform(frame)
    assert filled["x"].tolist()[:-1] == frame["x"].tolist()[:-1]
    assert len(filled["x"].iloc[-1].partition(".")[2]) == 2


def test_fills_have_the_digits_of_their_column():
    columns = {"three": RNG.normal(size=N).round(3), "all": RNG.normal(size=N), "whole": RNG.poisson(5, N) * 1.0}
    frame = pd.DataFrame(columns).mask(RNG.random((N, 3)) < 0.2)
    frame["single"] = frame["three"].astype("float32")
    estimator = tiny().fit(frame)
    for made in (estimator.transform(frame), estimator.sample(50), estimator.transform(frame[:3])):
        np.testing.assert_array_equal(made["three"], made["three"].round(3))
        np.testing.assert_array_equal(made["single"], made["single"].round(3))
        np.testing.assert_array_equal(made["whole"], made["whole"].round())
    assert (estimator.sample(50)["all"] != estimator.sample(50)["all"].round(6)).any()


def test_a_row_gets_the_same_alone():
    """The digits are those of the table that was fitted, not those of the rows at hand."""
    frame = pd.DataFrame({"a": RNG.integers(-90, 90, N) * 1.0, "b": RNG.normal(size=N).round(1)})
    frame.iloc[::4, 0] = np.nan
    estimator = tiny().fit(frame)
    pd.testing.assert_frame_equal(estimator.transform(frame)[:1], estimator.transform(frame[:1]))


def test_numbers_that_cannot_be_learnt_are_named_before_training():
    frame = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no overflow on the way
        with pytest.raises(ArgumentError, match=r"^X should hold numbers up to 1e\+30. Found 1e\+300 in column 'b'"):
            tiny().fit(frame.assign(b=frame["b"].where(frame.index != 3, -1e300)))
        estimator = tiny().fit(frame)
        with pytest.raises(ArgumentError, match=r"Found 1e\+300 in column 'a'"):
            estimator.transform(frame.assign(a=1e300))
        for scale in (1e29, 1e-29):
            assert np.isfinite(tiny().fit(frame * scale).transform(frame.mask(frame > 1) * scale)).all(axis=None)


def test_a_column_without_a_name_keeps_it():
    frame = pl.DataFrame({"a": RNG.normal(size=N), "": RNG.normal(size=N)})
    assert tiny().fit(frame).sample(2).columns == ["a", ""]


# Zeros, columns called by numbers, and other moods of torch


@pytest.mark.parametrize("offset", [0.001, 1.0])
def test_zeros_that_are_raised_to_other_numbers_are_drawn(offset):
    """Where the offset is above the smallest number, zeros and small numbers are one to the model."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": np.where(rng.random(90) < 0.4, 0, np.exp(rng.normal(size=90))), "b": rng.normal(size=90)}
    )
    model = tiny(model="twoway", schema={"a": Column("a", "positive", zero_offset=offset)}).fit(frame)
    assert (model.sample(300)["a"] == 0).mean() > 0.2


def test_columns_called_by_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9, (60, 3)), columns=[0, 1, 2])
    model = tiny(schema={2: "real"}, model="vae").fit(frame.mask(rng.random((60, 3)) < 0.2))
    assert str(model.schema_["2"].kind) == "real"
    few = frame[:4].astype(float).mask(np.array([[False, True, True]] * 4))
    assert [list(wish) for wish in model.acquire(few, 2)] == [["1"]] * 4


@pytest.mark.parametrize("mood", [torch.no_grad, torch.inference_mode])
def test_fit_where_nothing_is_recorded(mood):
    with mood():
        model = tiny().fit(table())
    assert same(model.transform(table()), tiny().fit(table()).transform(table()))


def test_nothing_is_certain():
    """log p of no cell is 0."""
    model, frame = fitted(), table()
    scores = model.score_samples(frame.reset_index(drop=True).reindex([0, 1, 2, -1, -2, -3]))
    assert (scores[3:] == 0).all()
    assert (scores[:3] != 0).all()


def test_marginals_are_matched_or_not():
    with pytest.raises(ValueError, match="match_marginals should be True or False. Found 'bogus'"):
        fitted().sample(3, match_marginals="bogus")


@pytest.mark.parametrize("family", ["twoway", "vae"])
def test_zeros_as_published_do_not_depend_on_their_place(family):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": np.where(rng.random(90) < 0.4, 0, np.exp(rng.normal(size=90))), "b": rng.normal(size=90)}
    )
    frame["c"] = frame["a"] + frame["b"]
    frame.loc[::6, "c"] = np.nan
    model = tiny(model=family, schema={"a": Column("a", "positive", zero_offset="published")}).fit(frame)
    order = rng.permutation(90)
    back = np.argsort(order)
    scores = model.score_samples(frame.iloc[order])[back]
    filled = model.transform(frame.iloc[order])["c"].to_numpy()[back]
    np.testing.assert_allclose(filled, model.transform(frame)["c"], rtol=1e-4)
    np.testing.assert_allclose(scores, model.score_samples(frame), atol=1e-3)
