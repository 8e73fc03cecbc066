"""Every argument changes something, and what is wrong is named."""

import numpy as np
import pandas as pd
import pytest

from evenhand.impartial import IMTLG, PCGrad
from evenhand.tables.estimator import TabularVAE
from evenhand.tables.schema import Column, Schema

from ._tables import fitted, same, table, tiny

LONG = {"max_epochs": 12, "lr": 0.01, "batch_size": 40}
CHANGES = [
    ({"model": "vae"}, {"model": "hivae"}),
    ({"objective": "elbo", "n_samples": 3}, {"objective": "iwae", "n_samples": 3}),
    ({"objective": "iwae", "n_samples": 3}, {"objective": "dreg", "n_samples": 3}),
    ({"method": "sum"}, {"method": "imtlg"}),
    ({"method": "imtlg"}, {"method": "imtlg>>pcgrad"}),
    ({"kl_weight": 1.0}, {"kl_weight": 0.0}),
    ({"kl_warm_up": 0}, {"kl_warm_up": 12}),
    ({"schema": None}, {"schema": {"count": "real"}}),
    ({"n_latent": 2}, {"n_latent": 3}),
    ({"n_latent": 2}, {"n_latent": None}),
    ({"n_hidden": 8}, {"n_hidden": 9}),
    ({"n_layers": 1}, {"n_layers": 2}),
    ({"n_samples": 1}, {"n_samples": 4}),
    ({"hide": 0.1}, {"hide": 0.5}),
    ({"hide": "auto"}, {"hide": 0.3}),
    ({"hide": 0.0, "model": "vae"}, {"hide": 0.5, "model": "vae"}),
    ({"max_epochs": 2}, {"max_epochs": 3}),
    ({"batch_size": 40}, {"batch_size": 20}),
    ({"lr": 0.01}, {"lr": 0.001}),
    ({"validation_fraction": 0.2}, {"validation_fraction": 0.4}),
    ({"random_state": 0}, {"random_state": 1}),
]


@pytest.mark.parametrize(("one", "other"), CHANGES, ids=str)
def test_every_argument_of_training_changes_the_model(one, other):
    frame = table(n=120)
    scores = [tiny(**{**LONG, **change}).fit(frame).score_samples(frame, n_samples=5) for change in (one, other)]
    assert not np.allclose(*scores)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"aggregate": "mean"}, {"aggregate": "median"}),
        ({"aggregate": "median"}, {"aggregate": "mode"}),
        ({"aggregate": "mean", "model": "vae"}, {"aggregate": "median", "model": "vae"}),
        ({"aggregate": "mean", "model": "vae"}, {"aggregate": "mode", "model": "vae"}),
        ({"resample": False, "model": "vae"}, {"resample": True, "model": "vae"}),
        ({"n_draws": 2, "model": "vae"}, {"n_draws": 30, "model": "vae"}),
    ],
    ids=["median", "mode", "median of vae", "mode of vae", "resample", "n_draws"],
)
def test_every_argument_of_imputation_changes_it_and_nothing_else(one, other):
    frame = table(n=120)
    a, b = (tiny(**{**LONG, "resample": False, **change}).fit(frame) for change in (one, other))
    assert not a.transform(frame).equals(b.transform(frame))
    assert same(a.sample(5), b.sample(5))
    np.testing.assert_array_equal(a.score_samples(frame), b.score_samples(frame))


def test_whether_to_resample_is_decided_by_hidden_cells():
    assert isinstance(fitted().resample_, bool)
    assert fitted(resample=True).resample_ is True
    assert fitted(resample=False).resample_ is False


def test_patience_decides_when_training_ends():
    X = np.random.default_rng(0).normal(size=(60, 3))
    few, many = (tiny(max_epochs=200, lr=0.05, patience=patience).fit(X).n_steps_ for patience in (1, 40))
    assert few < many


def test_sizes_of_the_network_are_those_asked_for():
    network = tiny(n_latent=3, n_hidden=20, n_layers=2).fit(table()).network_
    assert network.n_latent == 3
    assert [layer.weight.shape[1] for layer in network.trunk[::2]] == [20, 20]
    assert network.joint.posterior.weight.shape == (1, 6, 10)
    network = tiny(n_latent=3, n_hidden=5, n_layers=2, model="vae").fit(table()).network_
    assert network.n_latent == 3
    assert network.posterior.weight.shape == (1, 6, 5)
    assert sum("encoder" in name and "weight" in name for name, _ in network.named_parameters()) == 2
    assert tiny(n_latent=None).fit(table()).network_.n_latent == len(table().columns)
    assert tiny(n_latent=4, model="hivae").fit(table()).network_.n_latent == 4


def test_epochs_and_batches_make_steps():
    frame = table(n=120)  # of which 12 are held out
    assert tiny(max_epochs=3, batch_size=36).fit(frame).n_steps_ == 9
    assert tiny(max_epochs=3, batch_size=1000).fit(frame).n_steps_ == 3
    assert tiny(max_epochs=3, batch_size=36, validation_fraction=0.4).fit(frame).n_steps_ == 6


def test_kl_weights_change_the_rate():
    X = table("floats")
    rates = [
        tiny(max_epochs=60, lr=0.02, kl_weight=weight, patience=60).fit(X).selection_[0]["rate"]
        for weight in (3, 0.01)
    ]
    assert rates[0] < rates[1]


def test_hiding_follows_the_holes():
    vae = {"model": "vae"}
    assert tiny(**vae).fit(table("floats", holes=0.0)).hide_ == pytest.approx(0.2)
    X = table("floats", holes=0.3)
    assert tiny(**vae).fit(X).hide_ == pytest.approx(np.isnan(X).mean())
    assert tiny(**vae, hide=0.0).fit(X).hide_ == 0.0
    assert tiny(**vae).fit(table("floats", n=300, holes=0.7)).hide_ == 0.5
    assert tiny().fit(X).hide_ == 0.4  # rows are also drawn from next to nothing
    with pytest.raises(ValueError, match="hide should be above 0 with model='twoway'"):
        tiny(hide=0.0).fit(X)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"count": "real"}, "real"),
        ({"count": {"kind": "positive", "zero_offset": 0.5}}, "positive"),
        ({"count": Column("count", "ordinal", tuple(range(20)))}, "ordinal"),
        (Schema.infer(table(), {"count": "categorical"}), "categorical"),
    ],
    ids=["name", "fields", "column", "schema"],
)
def test_kinds_can_be_overridden(schema, kind):
    frame = table()
    estimator = tiny(schema=schema, max_epochs=1).fit(frame)
    assert estimator.schema_["count"].kind == kind
    assert not estimator.transform(frame).isna().any(axis=None)
    assert np.isfinite(estimator.score(frame))
    assert estimator.sample(5)["count"].isin(range(20)).all() or kind in ("real", "positive")


def test_devices_are_named():
    assert same(tiny(device="cpu").fit_transform(table()), fitted().transform(table()))
    with pytest.raises(ValueError, match="device should be .* Found 'toaster'"):
        tiny(device="toaster").fit(table())


@pytest.mark.parametrize(("verbose", "shown"), [(True, True), (False, False), ("auto", False)])
def test_a_bar_is_shown_on_standard_error_if_wanted(capsys, verbose, shown):
    tiny(verbose=verbose).fit(table())
    out, err = capsys.readouterr()
    assert out == ""
    assert ("candidate(s), error" in err) == shown


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    tiny(verbose="auto").fit(table())
    assert "candidate(s), error" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("model", ["gan", None, 1]),
        ("objective", ["mse", None]),
        ("method", ["best", "imtlg>>", "", [], ["sum", "best"], None, 3, ["auto"]]),
        ("kl_weight", ["small", -1, float("nan"), float("inf"), [], [1.0, -1.0], None, ["auto"]]),
        ("kl_warm_up", [-1, 1.5, "2", None]),
        ("schema", [3, "real", ["real"]]),
        ("unsupported", ["drop", None]),
        ("n_latent", [0, -1, 2.0, "2", True]),
        ("n_hidden", [0, 1.5, True]),
        ("n_layers", [0, "3"]),
        ("n_samples", [0, 1.0, None]),
        ("hide", [-0.1, 0.6, "some", None, float("nan")]),
        ("max_epochs", [0, -1, 1.5, "3", True]),
        ("patience", [0, 1.5, None]),
        ("batch_size", [0, "all", None]),
        ("lr", [0, 1, -1, "fast", None, float("nan")]),
        ("validation_fraction", [0, 1, 1.5, "few", None]),
        ("aggregate", ["sum", None]),
        ("trees", ["many", None, 1]),
        ("rounded", ["up", None, 1]),
        ("missing", ["sometimes", None, True]),
        ("max_seconds", [0, -1, "long", float("nan"), True]),
        ("resample", ["yes", None, 2]),
        ("n_draws", [0, 1.5, None]),
        ("device", ["toaster", 3.5]),
        ("verbose", ["loud", None, 2]),
    ],
)
def test_wrong_arguments_are_named(name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"{name} should") as caught:
            tiny(**{name: value}).fit(table())
        assert repr(value) in str(caught.value) or isinstance(value, list)


def test_arguments_that_do_not_go_together_are_named():
    with pytest.raises(
        ValueError, match="objective should be one of 'elbo', 'iwae' with model='hivae'. Found 'dreg'"
    ):
        tiny(model="hivae", objective="dreg").fit(table())
    with pytest.raises(ValueError, match="kl_warm_up should be at most the 2 epochs"):
        tiny(kl_warm_up=3, max_epochs=2).fit(table())
    with pytest.raises(ValueError, match="schema should name columns of the frame .* Found 'height'"):
        tiny(schema={"height": "real"}).fit(table())
    with pytest.raises(ValueError, match="cannot be used to seed"):
        tiny(random_state="luck").fit(table())


def test_hivae_is_trained_with_the_importance_weighted_bound_too():
    first, second = (
        tiny(model="hivae", objective=name, n_samples=3, n_latent=None).fit(table()) for name in ("elbo", "iwae")
    )
    assert first.selection_[0]["error"] != second.selection_[0]["error"]


def test_nothing_is_checked_or_changed_by_the_constructor():
    schema = {"a": "real"}
    estimator = TabularVAE(model="nonsense", schema=schema)
    assert estimator.model == "nonsense"
    assert estimator.schema is schema


@pytest.mark.parametrize("number", [np.float32(0.5), np.int64(1), np.array([0.5, 1.0]), (0.5, 1)], ids=str)
def test_numbers_of_numpy_are_numbers(number):
    estimator = tiny(kl_weight=number, n_hidden=np.int32(8), lr=np.float32(0.01), hide=np.float64(0.2)).fit(table())
    assert isinstance(estimator.kl_weight_, float)


@pytest.mark.parametrize("method", [PCGrad(), IMTLG() >> PCGrad(), ("sum", IMTLG())], ids=repr)
def test_methods_may_be_objects_or_lists(method):
    frame = pd.DataFrame(table("floats"))
    assert np.isfinite(tiny(method=method).fit(frame).score(frame))
