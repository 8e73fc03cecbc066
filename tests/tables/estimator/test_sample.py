"""New rows."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from ._tables import (
    COLOURS,
    LIBRARIES,
    SIZES,
    cells,
    dependent,
    fitted,
    holes,
    same,
    table,
    tiny,
    types,
    well_trained,
)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "options", [{}, {"model": "hivae", "n_latent": None}, {"model": "vaem"}], ids=["twoway", "hivae", "vaem"]
)
def test_rows_have_the_form_of_the_table(library, options):
    frame, estimator = table(library), fitted(library, **options)
    new = estimator.sample(30)
    assert type(new) is type(frame)
    assert types(new) == types(frame)
    assert len(cells(new)) == 30
    assert not holes(new).any()
    kinds = [{type(cell) for cell in column if cell is not None} for column in zip(*cells(new), strict=True)]
    seen = [{type(cell) for cell in column if cell is not None} for column in zip(*cells(frame), strict=True)]
    if library == "objects":
        assert kinds == seen


def test_numbers_are_within_the_range_seen_and_whole_where_they_were():
    frame, new = table(), fitted().sample(300)
    for name in ("real", "positive", "count", "day", "whole"):
        assert new[name].min() >= frame[name].min()
        assert new[name].max() <= frame[name].max()
    assert (new["count"] == new["count"].round()).all()
    assert (new["day"] == new["day"].dt.normalize()).all()
    assert not new.duplicated().any()


def test_every_category_can_be_generated():
    new = fitted().sample(2000)
    assert set(new["colour"]) == set(COLOURS)
    assert set(new["size"]) == set(SIZES)
    assert set(new["flag"]) == {True, False}


def test_rare_categories_are_generated_about_as_often_as_they_are():
    labels = np.array(["common"] * 190 + ["rare"] * 8 + ["third"] * 2)
    frame = pd.DataFrame({"label": labels, "x": np.random.default_rng(0).normal(size=200)})
    new = tiny(max_epochs=80, lr=0.02).fit(frame).sample(4000)
    shares = new["label"].value_counts(normalize=True)
    assert 0.01 < shares["rare"] < 0.1
    assert 0 < shares["third"] < 0.05


def test_marginals_and_dependence_are_those_of_the_data():
    frame, new = dependent(), well_trained().sample(2000)
    assert new["a"].mean() == pytest.approx(frame["a"].mean(), abs=0.2)
    assert new["a"].std() == pytest.approx(frame["a"].std(), rel=0.2)
    assert new["a"].corr(new["b"]) < -0.85
    assert ((new["a"] > 0) == (new["sign"] == "above")).mean() > 0.85


def test_the_prior_is_another_source():
    estimator = well_trained()
    sources = [estimator.sample(500, latent=latent) for latent in ("prior", "mixture", "none")]
    prior, mixture, none = sources
    assert not prior.equals(mixture)
    assert not mixture.equals(none)
    assert same(none, estimator.sample(500))
    assert same(prior, estimator.sample(500, latent="prior"))
    with pytest.raises(ValueError, match="latent should be one of 'auto', 'none', 'mixture', 'prior'. Found"):
        estimator.sample(latent="posterior")
    vae = fitted(model="vae")
    assert same(vae.sample(9), vae.sample(9, latent="mixture"))
    with pytest.raises(ValueError, match="latent should be 'mixture' or 'prior' with model='vae'. Found 'none'"):
        vae.sample(latent="none")


def test_the_same_rows_every_time_unless_told_otherwise():
    estimator = fitted()
    assert same(estimator.sample(9), estimator.sample(9))
    assert same(estimator.sample(9, random_state=3), estimator.sample(9, random_state=3))
    assert not estimator.sample(9).equals(estimator.sample(9, random_state=3))
    state = np.random.RandomState(0)
    assert not estimator.sample(9, random_state=state).equals(estimator.sample(9, random_state=state))


@pytest.mark.parametrize("n", [0, -3, 2.5, True, "many", None])
def test_wrong_numbers_of_rows_are_refused(n):
    with pytest.raises(ValueError, match="n should be an integer >= 1"):
        fitted().sample(n)


def test_given_values_are_kept():
    given = {"real": 0.25, "colour": "red", "size": ["huge", "small", "large"], "count": (1, 2, 3), "flag": True}
    new = fitted().sample(3, given=given)
    assert types(new) == types(table())
    assert new["real"].tolist() == [0.25] * 3
    assert new["colour"].tolist() == ["red"] * 3
    assert new["size"].tolist() == ["huge", "small", "large"]
    assert new["count"].tolist() == [1, 2, 3]
    assert new["flag"].tolist() == [True] * 3
    assert new["positive"].nunique() > 1


@pytest.mark.parametrize("day", [dt.datetime(2020, 3, 1), pd.Timestamp("2020-03-01"), np.datetime64("2020-03-01")])
def test_given_days_are_kept(day):
    assert fitted().sample(2, given={"day": day})["day"].tolist() == [pd.Timestamp("2020-03-01")] * 2


@pytest.mark.parametrize(
    "wanted", [np.array([1.0, 2.0]), pd.Series([1.0, 2.0], index=[5, 7]), [np.float32(1), np.int64(2)]], ids=type
)
def test_given_sequences_may_be_of_any_sort(wanted):
    assert fitted().sample(2, given={"real": wanted})["real"].tolist() == [1.0, 2.0]


def test_missing_cells_of_given_sequences_are_drawn():
    new = fitted().sample(3, given={"real": [0.5, None, np.nan], "colour": ["red", None, "blue"]})
    assert not holes(new).any()
    assert new["real"].iloc[0] == 0.5
    assert new["colour"].tolist()[::2] == ["red", "blue"]


def test_columns_without_a_name_are_given_by_theirs():
    frame = pd.DataFrame(table("floats"))
    new = tiny(max_epochs=1).fit(frame).sample(2, given={0: 0.5})
    assert new[0].tolist() == [0.5, 0.5]


def test_conditioning_moves_what_depends():
    estimator = well_trained()
    high, low = (estimator.sample(200, given={"sign": sign}) for sign in ("above", "below"))
    assert high["a"].mean() > 0.3
    assert low["a"].mean() < -0.3
    assert high["b"].mean() < low["b"].mean() - 0.6
    far = estimator.sample(200, given={"a": 1.5})
    assert far["b"].mean() < -0.9
    assert (far["sign"] == "above").mean() > 0.9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"height": 1}, "given should name columns of the table. Found 'height'"),
        ({"colour": "pink"}, "given\\['colour'\\] should fit.*Found 'pink'"),
        ({"colour": ["red", "pink"]}, "given\\['colour'\\].*Found 'pink'"),
        ({"real": "much"}, "given\\['real'\\].*should hold numbers"),
        ({"real": [1, 2, 3]}, "given\\['real'\\] should have one value, or 2. Found 3"),
        ({"positive": [1.0, -1.5]}, "given\\['positive'\\] should be positive, like its column. Found -1.5"),
        ({"positive": 0}, "given\\['positive'\\] should be positive, like its column. Found 0"),
        ({"count": 1.5}, "given\\['count'\\].*cannot be a count, it holds 1.5"),
        ({"real": np.inf}, "given\\['real'\\].*infinite"),
        ({"day": 3}, "given\\['day'\\].*should hold dates"),
        ({"real": [[1], [2]]}, "given\\['real'\\]"),
    ],
    ids=str,
)
def test_wrong_conditions_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        fitted().sample(2, given=given)


def test_numbers_take_the_marginal_distribution_of_the_data_if_wanted():
    """Three quarters of a column are exactly 40: no density draws that, but pieces of the range do."""
    rng = np.random.default_rng(0)
    hours = np.where(rng.random(300) < 0.75, 40.0, rng.uniform(0.5, 80.0, size=300))
    frame = pd.DataFrame({"hours": hours, "x": rng.normal(size=300)})
    estimator = tiny(max_epochs=10, schema={"hours": "real"}).fit(frame)
    drawn = estimator.sample(1000)
    assert 0.65 < (drawn["hours"] == 40).mean() < 0.85
    assert set(drawn["hours"]) <= set(hours)
    assert estimator.sample(3, given={"hours": 33.25})["hours"].tolist() == [33.25] * 3
    estimator = tiny(max_epochs=10, schema={"hours": "real"}, model="vae").fit(frame)
    matched, plain = estimator.sample(1000), estimator.sample(1000, match_marginals=False)
    assert 0.65 < (matched["hours"] == 40).mean() < 0.85
    assert (plain["hours"] == 40).mean() < 0.05
    assert set(matched["hours"]) <= set(hours)
    assert estimator.sample(3, given={"hours": 33.25})["hours"].tolist() == [33.25] * 3


def test_given_should_be_a_dictionary():
    with pytest.raises(
        ValueError, match=r"given should be a dictionary of columns. Found DataFrame. .*dict\(frame\)"
    ):
        fitted("pandas").sample(2, given=pd.DataFrame({"a": [1.0, 2.0]}))
