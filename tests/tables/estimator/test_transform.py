"""Imputation: holes are filled, and nothing else happens."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ._tables import (
    LIBRARIES,
    MAKERS,
    cells,
    columns,
    dependent,
    fitted,
    holes,
    same,
    table,
    tiny,
    types,
    untouched,
    well_trained,
)


def rows(frame, chosen):
    """Some rows of a frame."""
    if isinstance(frame, pd.DataFrame):
        return frame.iloc[chosen]
    return frame.take(chosen) if isinstance(frame, pa.Table) else frame[chosen]


@pytest.mark.parametrize("library", LIBRARIES)
def test_only_holes_change(library):
    frame = table(library)
    before, missing = copy.deepcopy(frame), holes(frame)
    filled = fitted(library).transform(frame)
    assert type(filled) is type(frame)
    assert types(filled) == types(frame)
    assert missing.any()
    assert not holes(filled).any()
    assert untouched(frame, filled)
    assert same(frame, before)


def test_index_and_order_of_columns_stay():
    frame = table("pandas").iloc[::-1]
    filled = fitted().transform(frame)
    assert filled.index.equals(frame.index)
    assert filled.columns.equals(frame.columns)


def test_frames_with_an_index_of_equal_entries_are_filled():
    frame = table("pandas")
    frame.index = [0] * len(frame)
    assert same(fitted().transform(frame).reset_index(drop=True), fitted().transform(table()).reset_index(drop=True))


def test_columns_of_polars_are_found_by_name():
    frame = table("polars")
    filled = fitted("polars").transform(frame.select(reversed(frame.columns)))
    assert filled.columns == frame.columns[::-1]
    assert filled.select(frame.columns).equals(fitted("polars").transform(frame))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_without_holes_comes_back_equal(library):
    whole = table(library, holes=0.0, seed=1)
    assert same(fitted(library).transform(whole), whole)


def test_what_comes_back_is_not_the_users_own_array():
    whole = table("floats", holes=0.0)
    filled = fitted("floats").transform(whole)
    filled[:] = 0
    assert same(whole, table("floats", holes=0.0))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "options", [{}, {"model": "hivae", "n_latent": None}, {"model": "vaem"}, {"resample": True}], ids=str
)
def test_rows_do_not_influence_each_other(library, options):
    frame, estimator = table(library), fitted(library, **options)
    filled = estimator.transform(frame)
    for i in np.flatnonzero(holes(frame).any(1))[:6]:
        alone = estimator.transform(rows(frame, [i]))
        expected = rows(filled, [i])
        assert types(alone) == types(expected)
        for a, b in zip(cells(alone)[0], cells(expected)[0], strict=True):
            assert a == (pytest.approx(b, rel=1e-9) if isinstance(b, float) else b)


def test_holes_are_filled_by_what_depends_on_them():
    known = dependent(60, seed=7)
    frame = known.copy()
    frame.loc[::2, "b"] = np.nan
    frame.loc[1::2, "sign"] = None
    filled = well_trained().transform(frame)
    assert np.abs(filled["b"] - known["b"])[::2].mean() < 0.4  # of a deviation of 1
    assert (filled["sign"] == known["sign"])[1::2].mean() > 0.85


def test_numbers_stay_within_the_range_seen():
    frame = table("floats")
    filled = fitted("floats").transform(np.full((1, 4), np.nan))
    assert (filled >= np.nanmin(frame, 0)).all()
    assert (filled <= np.nanmax(frame, 0)).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_row_of_holes_is_filled(library):
    data = {name: [None, *cells] for name, cells in columns(n=5).items()}
    assert not holes(fitted(library).transform(MAKERS[library](data))).any()


def test_numbers_that_are_not_rounded_are_expected_values():
    frame = table(holes=0.4, seed=2)
    model = tiny(rounded=False).fit(table())
    gaps, filled = frame["count"].isna(), model.transform(frame)
    assert (filled["count"][gaps] % 1 != 0).any()
    assert filled["whole"].dtype == "Int64"  # which cannot hold others
    by_default = tiny().fit(table()).transform(frame)["count"][gaps]
    np.testing.assert_array_equal(by_default, np.rint(filled["count"][gaps]))


def test_counts_integers_and_days_are_whole():
    filled = fitted().transform(table())
    assert (filled["count"] == filled["count"].round()).all()
    assert filled["whole"].dtype == "Int64"
    assert (filled["day"] == filled["day"].dt.normalize()).all()


@pytest.mark.parametrize("library", ["polars", "objects"])
def test_a_category_never_seen_counts_as_missing(library):
    data = columns(n=4, holes=0.0)
    gone = MAKERS[library]({**data, "text": [None, *data["text"][1:]]})
    data["text"] = ["never", *data["text"][1:]]
    with pytest.warns(UserWarning, match="has categories that the schema lacks, taken as missing: 'never'"):
        filled = fitted(library).transform(MAKERS[library](data))
    assert same(filled, fitted(library).transform(gone))


def test_a_frame_that_declares_fewer_categories_is_filled():
    frame = table().iloc[:1]
    frame["colour"] = pd.Categorical([None], ["none"])
    assert not holes(fitted().transform(frame)).any()


def more(frame):
    """The frame with columns that cannot be modelled: names, a constant."""
    n = len(holes(frame))
    names = [f"person {i}" for i in range(n)]
    if isinstance(frame, pd.DataFrame):
        return frame.assign(name=names, same=1)
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(name=pl.Series(names), same=1)
    if isinstance(frame, pa.Table):
        return frame.append_column("name", pa.array(names)).append_column("same", pa.array([1] * n))
    if frame.dtype == object:
        return np.column_stack([frame, np.array(names, dtype=object)])
    return np.column_stack([frame, np.ones(n)])


@pytest.mark.parametrize("library", LIBRARIES)
def test_ignored_columns_pass_through(library):
    frame = more(table(library))
    with pytest.raises(ValueError, match="ids or free text|constant"):
        tiny().fit(frame)
    estimator = tiny(unsupported="ignore", max_epochs=1).fit(frame)
    filled = estimator.transform(frame)
    n = len(cells(table(library))[0])
    assert [row[n:] for row in cells(filled)] == [row[n:] for row in cells(frame)]
    assert not holes(filled).any()
    assert types(filled) == types(frame)
    assert len(estimator.report().columns) == n
    assert np.shape(cells(estimator.sample(3))) == (3, n)
    assert len(cells(estimator.reconstruct(frame))) == len(cells(frame))


def test_sample_posterior_gives_different_imputations():
    frame = table()
    found = fitted().sample_posterior(frame, 6)
    assert len(found) == 6
    for filled in found:
        assert types(filled) == types(frame)
        assert not holes(filled).any()
        assert untouched(frame, filled)
    values = np.array([filled["real"][holes(frame)[:, 0]] for filled in found])
    assert (values.std(0) > 0).mean() > 0.9
    again = fitted().sample_posterior(frame, 6)
    assert all(same(a, b) for a, b in zip(found, again, strict=True))
    assert not found[0].equals(fitted().sample_posterior(frame, 6, random_state=1)[0])


def test_draws_scatter_around_the_imputation():
    frame = dependent(40, seed=3)
    frame["b"] = np.nan
    found = np.array([filled["b"] for filled in well_trained().sample_posterior(frame, 40)])
    mean = well_trained().transform(frame)["b"]
    assert np.abs(found.mean(0) - mean).mean() < 0.3
    assert np.corrcoef(found.mean(0), -frame["a"])[0, 1] > 0.9


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_wrong_numbers_of_imputations_are_refused(n):
    with pytest.raises(ValueError, match="n should be an integer >= 1"):
        fitted().sample_posterior(table(), n)


@pytest.mark.parametrize("library", LIBRARIES)
def test_reconstruct_gives_a_table_of_the_same_form(library):
    frame = table(library)
    seen = fitted(library).reconstruct(frame)
    assert type(seen) is type(frame)
    assert types(seen) == types(frame)
    assert not holes(seen).any()
    assert cells(seen) != cells(frame)
    if library == "pandas":
        assert seen.index.equals(frame.index)


def test_reconstruct_finds_what_was_learnt():
    frame = dependent(100, seed=9)
    seen = well_trained().reconstruct(frame)
    assert np.corrcoef(seen["a"], frame["a"])[0, 1] > 0.9
    assert (seen["sign"] == frame["sign"]).mean() > 0.85


def test_encode_gives_the_latent_variables():
    frame = dependent(100, seed=9)
    codes = well_trained().encode(frame)
    assert codes.shape == (100, 2)
    assert np.isfinite(codes).all()
    assert max(abs(np.corrcoef(codes[:, j], frame["a"])[0, 1]) for j in range(2)) > 0.8
    np.testing.assert_allclose(well_trained().encode(frame[:3]), codes[:3], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"model": "vae"}], ids=["twoway", "vae"])
def test_columns_that_cannot_be_guessed_get_their_mean_or_mode(options):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    frame["label"] = np.where(rng.random(300) < 0.8, "often", "seldom")
    estimator = tiny(max_epochs=20, lr=0.02, kl_weight=0.1, **options).fit(frame)
    assert (estimator.shrinkage_ >= 0).all()
    if options:
        assert (estimator.shrinkage_[:3] < 0.6).all()
    filled = estimator.transform(frame.assign(a=np.nan, label=None))
    assert filled["a"].std() < 0.3
    assert filled["a"].mean() == pytest.approx(frame["a"].mean(), abs=0.2)
    assert (filled["label"] == "often").mean() > 0.95


def test_columns_that_can_be_guessed_are():
    assert (well_trained().shrinkage_ > 0.8).all()


def test_texts_of_arrays_are_never_cut():
    texts = np.array([["a", "x"], ["b", "long"], ["a", "longest"]] * 20)
    estimator = tiny(max_epochs=1).fit(texts)
    short = np.array([["a", "x"]])
    assert estimator.reconstruct(short)[0, 1] in ("x", "long", "longest")
    with pytest.warns(UserWarning, match="'q'"):
        assert estimator.transform(np.array([["a", "q"]]))[0, 1] in ("x", "long", "longest")
    assert estimator.transform(short).dtype == short.dtype


def test_rows_do_not_influence_each_other_in_medians():
    frame = dependent(30, seed=3, missing=0.3)
    estimator = copy.deepcopy(well_trained()).set_params(aggregate="median")
    alone = [estimator.transform(frame.iloc[[i]])["a"].iloc[0] for i in range(30)]
    np.testing.assert_allclose(alone, estimator.transform(frame)["a"])


def test_a_column_without_any_cell_is_filled_as_it_was_learnt():
    """Such a column of a file is read as floats."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=120)
    learnt = pd.DataFrame(
        {
            "a": a,
            "c": np.where(a > 0, "x", "y"),
            "d": pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(120), "D"),
        }
    )
    model = tiny().fit(learnt)
    new = pd.DataFrame({"a": [1.0, -1.0], "c": np.nan, "d": np.nan}, index=[5, 9])
    for result in (model.transform(new), model.sample_posterior(new, 1)[0], model.reconstruct(new)):
        assert set(result["c"]) <= {"x", "y"}
        assert result.dtypes.tolist()[1:] == learnt.dtypes.tolist()[1:]
        assert list(result.index) == [5, 9]


def test_masked_arrays_have_holes():
    X = np.random.default_rng(0).normal(size=(60, 3))
    mask = np.random.default_rng(1).random(X.shape) < 0.2
    filled = tiny().fit_transform(np.ma.masked_array(np.where(mask, -999.0, X), mask=mask))
    assert np.array_equal(filled[~mask], X[~mask])
    assert (filled > -100).all()
    words = np.ma.masked_array(np.where(X > 0, "up", "down"), mask=mask)
    assert set(tiny().fit_transform(words).ravel()) == {"up", "down"}
