"""Experiments on panels: what is split, hidden and measured, and that an interrupted one goes on."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from evenhand.lab import TableReport, compared, from_dict, load_panel, panel_comparison, reached, run, write_page
from evenhand.lab import _panels as module
from evenhand.lab._config import Data, PanelData, PanelExperiment
from evenhand.lab._panels import PanelSplit
from evenhand.lab.results import families_at_rate
from evenhand.tables import LongitudinalVAE


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """30 things seen 4 times, with a few holes; rows in no order."""
    rng = np.random.default_rng(0)
    who, step = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    level = rng.normal(size=30)[who]
    frame = pd.DataFrame(
        {
            "who": who,
            "year": 2000 + step,
            "a": level + step,
            "b": np.where(level > 0, "x", "y"),
            "c": rng.poisson(2, 120),
        }
    )
    frame.loc[::11, "a"] = np.nan
    path = tmp_path_factory.mktemp("panel") / "panel.csv"
    frame.sample(frac=1, random_state=0).to_csv(path, index=False)
    return path


def tiny(path, *overrides):
    document = {
        "experiment": "panel",
        "data": {"path": str(path), "id": "who", "time": "year"},
        "model": {"n_latent": 2, "n_hidden": 4},
        "training": {"epochs": 2, "batch_size": 8},
        "runs": {"methods": ["sum", "imtlg"], "seeds": [0, 1], "kl_weights": [1.0, 0.1]},
    }
    return from_dict(document, overrides)


@pytest.fixture(scope="module")
def once(path, tmp_path_factory):
    """Runs the experiment once, in a test: others have another precision."""
    root = tmp_path_factory.mktemp("runs")
    return cache(lambda: run(tiny(path), root, device="cpu", command="evenhand run panel.toml"))


@pytest.fixture
def done(once):
    return once()


@pytest.fixture
def split(path):
    config = tiny(path)
    return PanelSplit(load_panel(config.data), config, 0)


def test_a_panel_is_read_without_id_and_time(path):
    source = load_panel(PanelData(path=str(path), id="who", time="year"))
    assert list(source.schema.names) == ["a", "b", "c"]
    assert source.schema.ignored["who"] == "It says whose a row is."
    assert source.size == len(source.histories) == 30
    assert source.words == "120 rows in 30 histories, 3 columns to learn"
    assert all(source.frame["who"].iloc[rows].nunique() == 1 for rows in source.histories)


def test_histories_are_never_cut(split, path):
    whose = {part: set(split.frame(part)["who"]) for part in ("train", "validation", "test")}
    assert sum(map(len, whose.values())) == len(set.union(*whose.values())) == 30
    assert [len(some) for some in whose.values()] == [21, 3, 6]
    config = tiny(path)
    other = PanelSplit(load_panel(config.data), config, 1)
    assert set(other.frame("test")["who"]) != whose["test"]
    assert np.array_equal(other.hidden, split.hidden)  # hidden are the same cells, whoever tests on them


def test_what_is_hidden_is_gone_and_was_there(split, path):
    whole, holes = split.frame("test"), split.frame("test", holes=True)
    assert holes[["who", "year"]].equals(whole[["who", "year"]])
    gone = whole[["a", "b", "c"]].notna() & holes[["a", "b", "c"]].isna()
    assert np.array_equal(gone.to_numpy(), split.hidden[split.rows["test"]])
    share = split.hidden.mean()
    assert 0.2 < share < 0.36  # a fifth of the cells and a tenth of the visits
    fewer = tiny(path, "evaluation.hidden=0.05", "evaluation.hidden_visits=0.0")
    assert PanelSplit(load_panel(fewer.data), fewer, 0).hidden.mean() < 0.1


def test_errors_are_those_of_the_cells(split, path):
    frame, whole = split.frame("test"), pd.read_csv(path)
    assert np.nan_to_num(split.errors("test", frame)).max() == 0
    moved = frame.assign(a=frame["a"] + 1.0, b="x")
    found = split.errors("test", moved)
    assert found[0] == pytest.approx(1 / (whole["a"].max() - whole["a"].min()))
    assert found[1] == pytest.approx((frame["b"] == "y").mean())
    hidden = split.hidden[split.rows["test"], 1]
    assert split.errors("test", moved, hidden=True)[1] == pytest.approx((frame["b"][hidden] == "y").mean())


def test_the_report_is_that_of_models_trained_alone(done, path):
    report = done.report()
    assert report["experiment"] == "panel"
    assert report["command"] == "evenhand run panel.toml"
    assert [(r["method"], r["kl_weight"]) for r in report["runs"]] == [("sum", 1.0), ("sum", 0.1), ("imtlg", 1.0)]
    config = tiny(path)
    source = load_panel(config.data)
    split = PanelSplit(source, config, 1)
    model = LongitudinalVAE(
        id="who", time="year", method="imtlg", kl_weight=1.0, n_latent=2, n_hidden=4, max_epochs=2, batch_size=8,
        schema=source.schema, random_state=1, verbose=False,
    ).fit(split.frame("train"))  # fmt: skip
    whole, holes = split.frame("test"), split.frame("test", holes=True)
    run_ = report["runs"][2]
    assert run_["error"][1] == pytest.approx(np.nanmean(split.errors("test", model.reconstruct(whole))), rel=1e-4)
    guessed = split.errors("test", model.transform(holes), hidden=True)
    assert run_["hidden_columns"][1] == pytest.approx(guessed.tolist(), rel=1e-4)
    assert run_["rate"][1] == pytest.approx(model.rates(whole).mean(), rel=1e-3)
    both = np.array([run_["validation_error"], run_["validation_hidden"]])
    assert run_["validation"] == pytest.approx(both.mean(0).tolist(), rel=1e-3)


def test_trivial_errors_are_those_of_mean_and_mode(done, split):
    train, test = split.frame("train"), split.frame("test")
    mode = {"x": 0.0, "y": 1.0}[train["b"].mode()[0]]
    guess = np.tile([train["a"].mean(), mode, train["c"].mean()], (len(test), 1))
    expected = split.errors("test", guess)
    assert done.report()["trivial"]["columns"] == pytest.approx(expected.tolist(), rel=1e-4)


def test_tables_words_and_the_page_are_made_of_it(done, tmp_path):
    report = done.report()
    read_ = TableReport(report)
    assert (read_.is_panel, read_.setting, read_.plain["kl_weight"]) == (True, "LongitudinalVAE", 1.0)
    found = compared(read_)
    assert {one["purpose"] for one in found["verdict"]} == {"To fill holes", "To have codes of rows"}
    assert any("--id who --time year" in one["next"] for one in found["verdict"])
    assert any(one["next"].startswith("LongitudinalVAE(id='who', time='year'") for one in found["verdict"])
    assert found["guesses_directly"]
    assert "LongitudinalVAE" in reached(report).to_text()
    page = write_page([done.path], tmp_path / "page.html").read_text()
    assert "LongitudinalVAE on <bdi>panel.csv</bdi>" in page
    assert "log p of a row" not in page


def test_an_interrupted_run_goes_on_and_ends_with_the_same_numbers(done, path, tmp_path, monkeypatch):
    trained, count = module._run, []

    def stop_at_the_third(*args):
        count.append(1)
        if len(count) == 3:
            raise KeyboardInterrupt
        return trained(*args)

    monkeypatch.setattr(module, "_run", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        run(tiny(path), tmp_path, device="cpu")
    count.clear()
    monkeypatch.setattr(module, "_run", lambda *args: count.append(1) or trained(*args))
    ticks = []
    again = run(tiny(path), tmp_path, device="cpu", tick=lambda *told: ticks.append(told))
    assert len(count) == 6 - 2
    assert ticks[0][1] == "resumed"
    assert sum(told[0] for told in ticks) == pytest.approx(2)  # epochs
    assert json.dumps(again.report()["runs"]) == json.dumps(done.report()["runs"])


@pytest.mark.parametrize(
    "override", ["model.n_hidden=5", "training.lr=0.02", "training.hide=0.1", "training.hide_visits=0.0"]
)
def test_a_setting_changes_numbers(done, path, tmp_path, override):
    few = ("runs.seeds=[0]", "runs.kl_weights=[1.0]")
    other = run(tiny(path, override, *few), tmp_path, device="cpu").report()
    measures = ("columns", "hidden_columns", "rate", "hidden_through_z")
    assert any(other["runs"][0][name][0] != done.report()["runs"][0][name][0] for name in measures)


def test_runs_are_held_at_a_rate_alone(path, tmp_path):
    config = tiny(path, 'runs.kl_weights=["rate:0.5"]', "runs.seeds=[0]", "training.epochs=40")
    report = run(config, tmp_path, device="cpu").report()
    assert [(r["method"], r["kl_weight"]) for r in report["runs"]] == [("sum", "rate:0.5"), ("imtlg", "rate:0.5")]
    assert all(0.25 < r["rate"][0] < 1 for r in report["runs"])  # of other histories than those it was held on
    table = families_at_rate([report])
    assert [row[2] for row in table.rows] == ["IMTL-G"]
    assert "IMTL-G" in reached(report).to_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.id": "nobody"}, r"data.id should name a column of the table \('who'.*Found 'nobody'"),
        ({"data.time": "never"}, r"data.time should name a column of the table .* Found 'never'"),
        ({"data.id": "b"}, "data should have at least 20 histories .* Found 2. Is 'b' the column"),
        ({"data.time": "who"}, "data.time should be another column than data.id. Found 'who'"),
        ({"data.id": '""'}, "data.id should name a column. Found none"),
        ({"runs.unrestored": "true"}, "runs.unrestored should be false"),
        ({"runs.column_weights": '["nominal:4"]'}, "runs.column_weights should be empty"),
        ({"training.hide": "0.9"}, "training.hide should be"),
    ],
)
def test_mistakes_are_named(path, changes, message):
    with pytest.raises(ValueError, match=message):
        load_panel(tiny(path, *(f"{key}={value}" for key, value in changes.items())).data)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("who", "", r"data\['who'\] should have no missing cell. Found one in row 97"),
        ("t", "", r"data\['t'\] should have no missing cell. Found one in row 97"),
        ("t", 3, r"data\['t'\] should differ within a history. Found two visits of .* in rows 9[5-9] and 9[5-9]"),
    ],
)
def test_rows_without_a_place_are_named_as_in_the_file(tmp_path, column, value, message):
    who, t = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    frame = pd.DataFrame({"who": who, "t": t, "a": np.random.default_rng(0).normal(size=120)}).astype(object)
    frame.loc[97, column] = value
    frame.to_csv(tmp_path / "panel.csv", index=False)
    with pytest.raises(ValueError, match=message):
        load_panel(PanelData(path=str(tmp_path / "panel.csv"), id="who", time="t"))


def test_a_comparison_is_about_as_long_as_is_wanted():
    config = panel_comparison(Data(path="panel.csv"), 300, id="who", time="year", steps=200, n_seeds=2)
    assert isinstance(config, PanelExperiment)
    assert (config.name, config.data.id, config.runs.seeds) == ("panel-longitudinal", "who", (0, 1))
    assert config.training.epochs == round(200 / 7)  # batches of 32 of 210 histories
