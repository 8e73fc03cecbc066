"""What scikit-learn expects of an estimator."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.tables.estimator import TabularVAE

from ._tables import LIBRARIES, TINY, dependent, fitted, same, table, tiny


@parametrize_with_checks([TabularVAE(**{**TINY, "max_epochs": 1}, random_state=0)])
def test_all_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@parametrize_with_checks([TabularVAE(**{**TINY, "max_epochs": 1, "n_latent": None}, model="hivae", random_state=0)])
def test_all_checks_pass_for_hivae(estimator, check):
    check(estimator)


def test_parameters_can_be_read_set_and_cloned():
    estimator = tiny(method=["sum", "imtlg"], schema={"a": "real"})
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert set(copy.get_params()) == set(TabularVAE().get_params())
    assert copy.set_params(n_hidden=3).n_hidden == 3
    assert estimator.n_hidden == TINY["n_hidden"]
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        copy.set_params(depth=3)


def test_printing_names_what_is_not_default():
    assert "n_hidden=8" in repr(tiny())
    assert repr(TabularVAE()) == "TabularVAE()"


def test_a_pipeline_fills_before_it_classifies():
    X = dependent(120, missing=0.2)[["a", "b"]]
    y = (dependent(120)["a"] > 0).to_numpy()
    pipeline = make_pipeline(StandardScaler(), tiny(max_epochs=40, lr=0.02), LogisticRegression()).fit(X, y)
    assert pipeline.score(X, y) > 0.8


def test_a_column_transformer_fills_some_columns():
    frame = table("pandas")
    parts = ColumnTransformer(
        [("numbers", tiny(), ["real", "positive"]), ("labels", tiny(), ["colour", "flag"])],
        verbose_feature_names_out=False,
    )
    filled = parts.set_output(transform="pandas").fit_transform(frame)
    assert list(filled.columns) == ["real", "positive", "colour", "flag"]
    assert filled.index.equals(frame.index)
    assert not filled.isna().any(axis=None)
    assert filled["colour"].dtype == frame["colour"].dtype


def test_a_grid_search_chooses_by_the_mean_log_likelihood():
    X = dependent(90)[["a", "b"]]
    search = GridSearchCV(tiny(), {"max_epochs": [1, 60], "lr": [0.02]}, cv=2, error_score="raise").fit(X)
    assert search.best_params_["max_epochs"] == 60
    assert search.score(X) == pytest.approx(search.best_estimator_.score_samples(X).mean())


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "floats"])
@pytest.mark.parametrize(("wanted", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_the_output_can_be_any_frame(library, wanted, kind):
    X, estimator = table(library), tiny(max_epochs=1).set_output(transform=wanted)
    filled = estimator.fit_transform(X)
    assert isinstance(filled, kind)
    assert list(filled.columns) == list(estimator.get_feature_names_out())
    assert filled.shape == X.shape
    default = estimator.set_output(transform="default").transform(X)
    assert type(default) is type(X)


def test_names_of_what_comes_out():
    frame = table("pandas")
    assert fitted().get_feature_names_out().tolist() == list(frame.columns)
    assert fitted().get_feature_names_out(frame.columns).tolist() == list(frame.columns)
    assert fitted("floats").get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    assert fitted("floats").get_feature_names_out(list("abcd")).tolist() == list("abcd")
    assert fitted("polars").get_feature_names_out().tolist() == table("polars").columns
    assert fitted("polars").n_features_in_ == len(table("polars").columns)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        fitted().get_feature_names_out(frame.columns[::-1])


def test_a_second_fit_forgets_the_first():
    estimator = tiny(max_epochs=1).fit(table("pandas")).fit(table("floats"))
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 4
    assert same(estimator.transform(table("floats")), tiny(max_epochs=1).fit_transform(table("floats")))


@pytest.mark.parametrize("library", LIBRARIES)
def test_pickles_work_like_the_original(library):
    estimator, X = fitted(library), table(library)
    copy = pickle.loads(pickle.dumps(estimator))
    assert same(copy.transform(X), estimator.transform(X))
    assert same(copy.sample(7), estimator.sample(7))
    np.testing.assert_array_equal(copy.score_samples(X), estimator.score_samples(X))
    assert str(copy.report()) == str(estimator.report())
