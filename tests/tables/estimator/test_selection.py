"""How candidates are trained and chosen, and what is reported."""

import numpy as np
import pandas as pd
import pytest
import torch

from evenhand.impartial import IMTLG, PAPER_METHODS, THOROUGH_METHODS, Sum
from evenhand.tables.estimator import Report
from evenhand.tables.estimator._candidates import KL_WEIGHTS, candidates
from evenhand.tables.estimator._fitting import Fitting
from evenhand.tables.estimator._held_out import HeldOut
from evenhand.tables.estimator._search import CHECKS
from evenhand.tables.stack import Stack

from ._tables import dependent, fitted, table, tiny, well_trained

SEVERAL = ["sum", "imtlg", "gradnorm>>pcgrad"]


@pytest.fixture(scope="module")
def chosen():
    """A choice among six candidates, so that some are dropped on the way."""
    return tiny(method=SEVERAL, kl_weight=[1.0, 0.1], max_epochs=40, patience=40).fit(table())


def test_every_candidate_is_recorded_and_one_is_chosen(chosen):
    tried = [(s["method"], s["kl_weight"]) for s in chosen.selection_]
    assert tried == [(method, weight) for method in SEVERAL for weight in (1.0, 0.1)]
    for record in chosen.selection_:
        assert np.isfinite(record["error"])
        assert record["rate"] >= 0
        assert record["steps"] > 0
    (winner,) = [s for s in chosen.selection_ if s["chosen"]]
    assert (winner["method"], winner["kl_weight"]) == (chosen.method_, chosen.kl_weight_)
    assert winner["error"] == min(s["error"] for s in chosen.selection_)


def test_the_worst_are_dropped_and_plain_training_survives(chosen):
    steps = {s["steps"] for s in chosen.selection_}
    assert min(steps) < max(steps) == chosen.n_steps_
    assert any(s["steps"] == max(steps) for s in chosen.selection_ if s["method"] == "sum")
    replicas = [row["replicas"] for row in chosen.history_]
    assert replicas == sorted(replicas, reverse=True)
    assert replicas[0] == 6 > replicas[-1]


def test_plain_training_survives_even_where_it_is_worst(monkeypatch):
    from evenhand.tables.estimator import _search

    original = _search.Search._check

    def rigged(search):
        plain = [r for r, i in enumerate(search._alive) if i in search.always]
        score = search.score

        def worse():
            scores = score().clone()
            scores[plain] += 10.0
            return scores

        search.score = worse
        try:
            return original(search)
        finally:
            search.score = score

    monkeypatch.setattr(_search.Search, "_check", rigged)
    estimator = tiny(method=SEVERAL, kl_weight=[1.0, 0.1], max_epochs=40).fit(table())
    plain = [s for s in estimator.selection_ if s["method"] == "sum"]
    assert max(s["steps"] for s in plain) == estimator.n_steps_
    assert estimator.method_ != "sum"


def test_history_has_a_row_for_every_validation(chosen):
    steps = [row["step"] for row in chosen.history_]
    assert steps == sorted(set(steps))
    assert steps[-1] == chosen.n_steps_ == 40
    assert all(np.isfinite(row["error"]) for row in chosen.history_)


def scored_weights(monkeypatch):
    """What every validation saw: the scores and the weights of all replicas."""
    seen, score = [], HeldOut.score

    def remember(self, model, rows, worst=None):
        scores = score(self, model, rows, worst)
        seen.append((scores.clone(), {k: v.clone() for k, v in model.state_dict().items()}))
        return scores

    monkeypatch.setattr(HeldOut, "score", remember)
    return seen


def assert_has_the_best_weights(estimator, seen):
    scores, weights = min(seen, key=lambda pair: float(pair[0].min()))
    best = int(scores.argmin())
    for name, tensor in estimator.network_.state_dict().items():
        assert torch.equal(tensor[0], weights[name][best]), name


def test_the_best_weights_are_kept_not_the_last(monkeypatch):
    seen = scored_weights(monkeypatch)
    estimator = tiny(max_epochs=40, lr=0.05, model="vae").fit(table())
    (winner,) = estimator.selection_
    assert winner["error"] == min(row["error"] for row in estimator.history_)
    assert_has_the_best_weights(estimator, seen)
    assert float(seen[-1][0].min()) > winner["error"]  # the last weights were not the best


def test_where_guesses_are_learnt_the_joint_model_decides(monkeypatch):
    """Columns that tell nothing of each other cannot be guessed; the bound still gets better with training."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(5.0, 3.0, size=(300, 2)), columns=["a", "b"])
    seen = scored_weights(monkeypatch)
    estimator = tiny(max_epochs=60, lr=0.02, patience=60).fit(frame)
    own = estimator.network_.state_dict()
    kept = [i for i, (_, w) in enumerate(seen) if all(torch.equal(own[k], w[k]) for k in own)]
    assert kept
    assert kept[0] > 5  # the first weights guess as well


def test_the_report_tells_the_error_of_what_transform_gives():
    estimator = tiny(max_epochs=20, lr=0.02).fit(table())
    for column in estimator.columns_:
        assert column["error"] <= column["trivial_error"] * (1 + 1e-9)  # guesses shrink towards the mean or mode


def test_auto_tries_few_candidates():
    assert [(name, weight) for name, _, weight in candidates("auto", "auto", direct=True)] == [("sum", 1.0)]
    assert len(candidates("auto", "auto")) == 2 * len(KL_WEIGHTS)
    estimator = tiny(method="auto", kl_weight="auto", max_epochs=40, patience=40, model="vae").fit(dependent(60))
    assert {s["method"] for s in estimator.selection_} == {"sum", "pcgrad"}
    plain = max((s for s in estimator.selection_ if s["method"] == "sum"), key=lambda s: s["steps"])
    assert plain["chosen"] or plain["steps"] == estimator.n_steps_


def test_a_thorough_search_tries_all_candidates():
    tried = candidates("thorough", "auto", direct=True)
    assert tried == candidates("thorough", "auto") or len(tried) == len(candidates("thorough", "auto"))
    assert len(tried) == len(THOROUGH_METHODS) * len(KL_WEIGHTS)
    assert len(PAPER_METHODS) == 15
    assert set(PAPER_METHODS) < set(THOROUGH_METHODS)
    estimator = tiny(method="thorough", kl_weight="auto", max_epochs=2).fit(dependent(60))
    assert len(estimator.selection_) == len(tried)
    best = min(s["error"] for s in estimator.selection_ if s["method"] == "sum")
    assert next(s for s in estimator.selection_ if s["chosen"])["error"] <= best


def test_methods_may_be_objects():
    estimator = tiny(method=[Sum(), IMTLG()]).fit(table())
    assert [s["method"] for s in estimator.selection_] == ["Sum()", "IMTLG()"]
    assert tiny(method=IMTLG()).fit(table()).method_ == "IMTLG()"


def test_a_report_has_all_columns(chosen):
    report = chosen.report()
    assert isinstance(report, Report)
    assert [c["column"] for c in report.columns] == list(table().columns)
    for column in report.columns:
        assert 0 <= column["error"] < 1
        assert 0 < column["trivial_error"] < 1
        assert np.isfinite(column["log_likelihood"])
    assert sum(c["gradient_share"] for c in report.columns) == pytest.approx(1)
    text = str(report)
    assert all(f"\n{name} " in text for name in table().columns)
    assert repr(chosen.method_) in text
    assert "nats" in text
    assert pd.DataFrame(report.columns).shape[0] == len(table().columns)


def test_noise_is_named_as_neglected_and_what_was_learnt_is_not():
    frame = dependent(300).assign(noise=np.random.default_rng(1).normal(size=300))
    options = {"n_hidden": 16, "n_layers": 2, "kl_weight": 0.3, "max_epochs": 60, "lr": 1e-2, "batch_size": 64}
    report = tiny(**options).fit(frame).report()
    assert report.unpredictable == ["noise"]
    assert report.neglected == []
    assert any("'noise' is predicted no better than by its mean" in s for s in report.sentences())
    assert not any("No column is neglected" in s for s in report.sentences())
    errors = {c["column"]: c["error"] / c["trivial_error"] for c in report.columns}
    assert errors["noise"] > 0.98 > 0.7 > errors["a"]


def test_a_report_says_when_nothing_is_neglected():
    report = well_trained().report()
    assert report.neglected == []
    assert "No column is neglected: all are predicted better than by their mean or mode." in report.sentences()


def test_a_report_compares_the_choice_with_plain_training():
    selection = [
        {"method": "sum", "kl_weight": 1.0, "chosen": False, "error": 0.3},
        {"method": "imtlg", "kl_weight": 1.0, "chosen": True, "error": 0.2},
    ]
    columns = fitted().report().columns
    text = str(Report(columns, selection, "imtlg", 1.0, 2.0))
    assert "Plain training reaches an error of 0.3000 on hidden cells, the chosen one 0.2000." in text
    assert "Plain training" not in str(Report(columns, selection, "sum", 1.0, 2.0))


def test_neglected_is_what_ridge_regression_can_guess():
    column = {"column": "x", "kind": "real", "error": 1.0, "trivial_error": 1.0, "gradient_share": 0.0}
    report = Report([{**column, "ridge_error": 0.5}], [], "sum", 1.0, 2.0)
    assert (report.neglected, report.unpredictable) == (["x"], [])
    assert any("'x' is neglected" in s and "0.500" in s and "max_epochs" in s for s in report.sentences())
    assert "means and modes have 1.000, ridge regression on the other columns 0.500" in str(report)
    report = Report([{**column, "ridge_error": 1.0}], [], "sum", 1.0, 2.0)
    assert (report.neglected, report.unpredictable) == ([], ["x"])
    assert "ridge regression does no better: the other columns do not tell it" in str(report)
    trees = {"network_error": 1.0, "ridge_error": 1.0}
    report = Report([{**column, **trees, "error": 0.5, "tree_error": 0.5}], [], "sum", 1.0, 2.0)
    assert (report.neglected, report.unpredictable) == (["x"], [])  # guessed by trees, neglected by the network
    assert "(error 1.000 against 1.000), while boosted trees are at 0.500" in str(report)
    report = Report([{**column, **trees, "tree_error": 1.0}], [], "sum", 1.0, 2.0)
    assert (report.neglected, report.unpredictable) == ([], ["x"])
    assert "neither ridge regression nor trees do better" in str(report)
    assert "Trees" not in str(report)
    report = Report([{**column, "trees": 0.6}, {**column, "column": "y", "trees": 0.4}], [], "sum", 1.0, 2.0)
    assert "Trees have most of the say in guesses of 'x': they know more of it than the network" in str(report)
    assert Report([column], [], "sum", 1.0, 2.0).neglected == ["x"]  # files of 0.1.0 know no ridge regression


def test_time_may_be_limited():
    frame = dependent(2_000)
    short = tiny(max_epochs=100_000, max_seconds=1.0, patience=10**6).fit(frame)
    assert short.n_steps_ < 100_000 * 7 / CHECKS, "time is looked at before the first of 40 validations, too"
    assert np.isfinite(short.score(frame[:10]))
    with pytest.raises(ValueError, match="max_seconds should be a number of seconds above 0, or None. Found 0"):
        tiny(max_seconds=0).fit(frame)


@pytest.mark.parametrize(("seconds", "number"), [(0.01, 1), (None, 4)])
def test_ways_of_guessing_are_tried_while_there_is_time(monkeypatch, seconds, number):
    asked = []
    opinion = Fitting._opinion
    monkeypatch.setattr(Fitting, "_opinion", lambda self, model, way: asked.append(way) or opinion(self, model, way))
    model = tiny(model="twoway", max_seconds=seconds).fit(dependent(60, missing=0.1))
    assert len(asked) == number
    assert model.direct_ in {way.direct for way in asked}


@pytest.mark.parametrize(("hide", "model"), [("auto", "twoway"), (0.5, "twoway"), ("auto", "vae"), (0.0, "vae")])
def test_hidden_cells_are_hidden_in_validation(hide, model):
    """Independent columns cannot be guessed: an encoder that saw the cells would be far better than the mean."""
    X = np.random.default_rng(0).normal(size=(600, 4))
    estimator = tiny(
        max_epochs=60, lr=0.01, kl_weight=0.1, n_latent=4, n_hidden=16, hide=hide, model=model, batch_size=64
    ).fit(X)
    trivial = np.mean([c["trivial_error"] for c in estimator.columns_])
    assert estimator.selection_[0]["error"] > 0.93 * trivial


def test_training_ends_early_when_nothing_improves():
    X = np.random.default_rng(0).normal(size=(60, 3))
    estimator = tiny(max_epochs=400, patience=2, lr=0.05).fit(X)
    assert estimator.n_steps_ < 400
    assert len(estimator.history_) < 40
    last = [row["error"] for row in estimator.history_]
    assert min(last[-2:]) >= min(last[:-2])


def interrupt_after(monkeypatch, calls):
    train, done = Stack.train, []

    def interrupted(stack, steps):
        done.append(steps)
        if len(done) > calls:
            train(stack, 1)
            raise KeyboardInterrupt
        train(stack, steps)

    monkeypatch.setattr(Stack, "train", interrupted)


@pytest.mark.parametrize("calls", [0, 1, 7])
def test_an_interruption_keeps_the_best_model_so_far(monkeypatch, calls):
    interrupt_after(monkeypatch, calls)
    seen = scored_weights(monkeypatch)
    estimator = tiny(method=SEVERAL, max_epochs=40, model="vae")
    with pytest.warns(UserWarning, match="Interrupted: the best model so far is kept.") as caught:
        estimator.fit(table())
    assert caught[0].filename == __file__
    assert estimator.n_steps_ == calls + 1
    assert not estimator.transform(table()).isna().any(axis=None)
    assert len(estimator.sample(3)) == 3
    assert np.isfinite(estimator.score(table()))
    assert sum(s["chosen"] for s in estimator.selection_) == 1
    assert_has_the_best_weights(estimator, seen)


def test_a_training_that_diverges_is_an_error_and_leaves_no_model(monkeypatch):
    def broken(stack, steps):
        for parameter in stack.model.parameters():
            parameter.data.fill_(float("nan"))

    estimator = tiny().fit(table())
    before = estimator.sample(3)
    monkeypatch.setattr(Stack, "train", broken)
    with pytest.raises(FloatingPointError, match="Training diverged.*lower lr"):
        estimator.fit(table())
    assert estimator.sample(3).equals(before)
    with pytest.raises(FloatingPointError):
        (fresh := tiny()).fit(table())
    assert not hasattr(fresh, "schema_")


def test_one_column_is_enough():
    X = np.random.default_rng(0).normal(5, 2, size=(300, 1))
    estimator = tiny(max_epochs=30, lr=0.02).fit(X)
    assert estimator.n_steps_ >= 10
    assert estimator.sample(500).mean() == pytest.approx(5, abs=0.7)
    assert np.isfinite(estimator.score(X))
    assert not np.isnan(estimator.transform(np.array([[np.nan], [1.0]]))).any()
    assert estimator.report().columns[0]["column"] == "x0"
