"""One table experiment: what is trained, what its report says, and that every setting matters."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from evenhand.lab import _splits
from evenhand.lab._config import Runs
from evenhand.lab._measured import hidden_cells
from evenhand.lab._new_rows import generate_rows
from evenhand.lab._run import run
from evenhand.lab._splits import Splits, load
from evenhand.lab._tabular import Choice, choices
from evenhand.lab.results import TableReport, read_reports
from evenhand.tables.inference import column_errors, quality, reconstruct
from evenhand.tables.schema import Schema

from ._lab import COLUMNS, KINDS, ROWS, make_frame, tiny, write_csv

CHOSEN_BY = {"validation_error", "validation_hidden", "validation_log_likelihood"}
MEASURES = {"validation", "error", "rate", "elbo", "log_likelihood", "hidden"} | CHOSEN_BY
BY_COLUMN = {"columns", "hidden_columns"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Runs experiments on a small table, each but once."""
    root = tmp_path_factory.mktemp("runs")
    path = write_csv(root / "people.csv")

    @cache
    def report(*overrides):
        folder = run(tiny(path, *overrides), root, device="cpu")
        return folder, folder.report()

    return report


def numbers(report):
    """All numbers of the runs, in one row."""
    found = [
        np.ravel(np.array(r[name], dtype=float)) for r in report["runs"] for name in sorted(MEASURES | BY_COLUMN)
    ]
    return np.concatenate(found)


# ---------------------------------------------------------------- what is trained


def test_choices_are_plain_training_first_then_every_method():
    assert choices(Runs(("imtlg", "sum", "pcgrad"), (0,), (0.1, 1.0))) == [
        Choice("sum", 1.0),
        Choice("sum", 0.1),
        Choice("imtlg"),
        Choice("pcgrad"),
    ]
    assert choices(Runs(("sum", "imtlg", "mgda"), (0,), unrestored=True)) == [
        Choice("sum"),
        Choice("imtlg"),
        Choice("mgda"),
        Choice("imtlg", 1.0, False),
        Choice("mgda", 1.0, False),
    ]
    assert choices(Runs(("sum",), (0, 1, 2), unrestored=True)) == [Choice("sum")]
    held = [Choice("sum", "rate:2.5"), Choice("imtlg", "rate:2.5")]
    assert choices(Runs(("sum", "imtlg"), (0,), (1.0, "rate:2.5"))) == [Choice("sum"), Choice("imtlg"), *held]
    assert choices(Runs(("sum", "imtlg"), (0,), ("rate:2.5",))) == held


# ---------------------------------------------------------------- the report

RICH = ("runs.kl_weights=[1.0, 0.1]", "runs.unrestored=true", "evaluation.generate=15")


def test_the_report_has_all_that_was_agreed_on(reports):
    folder, report = reports(*RICH)
    text = (folder.path / "report.json").read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    assert {
        "format", "experiment", "name", "config", "command", "data", "schema", "seeds", "runs", "trivial",
        "conflicts", "generated", "seconds", "versions", "hardware", "finished",
    } == set(report)  # fmt: skip
    assert (report["format"], report["experiment"], report["name"]) == (1, "table", "people-vae-elbo")
    assert report["config"]["training"]["epochs"] == 4
    assert len(report["config"]["data"]["sha256"]) == 64
    assert report["seeds"] == [0, 1]
    about = report["data"]
    assert (about["rows"], about["train_rows"], about["test_rows"]) == (ROWS, 84, 24)
    assert (about["columns"], about["kinds"]) == (COLUMNS, KINDS)
    assert 0 < about["missing"] < 0.2
    assert set(about) == {
        "name", "rows", "train_rows", "test_rows", "missing", "columns", "kinds", "note", "ignored", "reasons",
        "conversions",
    }  # fmt: skip
    assert list(Schema.from_toml(report["schema"]).names) == COLUMNS
    assert np.shape(report["trivial"]["columns"]) == (5,)
    assert {"evenhand", "torch", "numpy", "python"} == set(report["versions"])
    assert report["seconds"]["training"] >= 0
    assert report["hardware"]


def test_every_run_has_all_measures_of_all_seeds(reports):
    _, report = reports(*RICH)
    made = [(r["method"], r["kl_weight"], r["restored"]) for r in report["runs"]]
    assert made == [("sum", 1.0, True), ("sum", 0.1, True), ("imtlg", 1.0, True), ("imtlg", 1.0, False)]
    for entry in report["runs"]:
        assert set(entry) >= MEASURES | BY_COLUMN
        for name in MEASURES:
            assert np.shape(entry[name]) == (2,)
            assert np.isfinite(entry[name]).all()
        for name in BY_COLUMN:
            assert np.shape(entry[name]) == (2, 5)
        np.testing.assert_allclose(entry["error"], np.mean(entry["columns"], 1), rtol=1e-4)
        np.testing.assert_allclose(entry["hidden"], np.mean(entry["hidden_columns"], 1), rtol=1e-4)
        assert np.max(entry["hidden_columns"]) <= 1
        assert np.min(entry["rate"]) > 0
        assert (np.array(entry["log_likelihood"]) < 0).all()
    flat = numbers(report).reshape(4, -1)
    assert len({tuple(row) for row in flat}) == 4  # no two choices are the same
    assert TableReport(report).plain == report["runs"][0]
    assert read_reports(reports(*RICH)[0].path) == [report]


def test_errors_are_those_of_the_saved_model(reports):
    """The weights on disk are those that were measured: of every run, the best checkpoint."""
    folder, report = reports(*RICH)
    splits = Splits(load(folder.config.data), folder.config, "cpu")
    replicas = [seed for _ in report["runs"] for seed in report["seeds"]]
    network = splits.network(replicas)
    network.load_state_dict(load_file(folder.path / "model.safetensors"))
    guess = reconstruct(network, splits.rows, splits.index(2, replicas))
    for r, seed in enumerate(replicas):
        truth = splits.truth[splits.parts[report["seeds"].index(seed)][2]]
        expected = column_errors(truth, guess[r], torch.isfinite(truth), splits.schema)
        found = report["runs"][r // 2]["columns"][r % 2]
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    on_validation = reconstruct(network, splits.rows, splits.index(1, replicas))
    expected = splits.errors(on_validation, 1, replicas).mean(-1)
    np.testing.assert_allclose(np.ravel([r["validation"] for r in report["runs"]]), expected, rtol=1e-4)


def test_the_checkpoint_with_the_lowest_validation_error_is_kept(reports):
    folder, report = reports("training.checks=8", "training.epochs=8", "training.lr=0.05")
    history = json.loads((folder.path / "history.json").read_text())
    checks = np.array([check["validation"] for check in history["checks"]])
    assert checks.shape == (8, 4)
    np.testing.assert_allclose(np.ravel([r["validation"] for r in report["runs"]]), checks.min(0), rtol=1e-4)
    assert (checks.argmin(0) < 7).any()  # not just the last one
    assert [check["epoch"] for check in history["checks"]] == list(range(1, 9))
    assert [check["step"] for check in history["checks"]] == [2 * n for n in range(1, 9)]
    assert history["seeds"] == [0, 1]
    assert history["choices"] == [["sum", 1.0, True], ["imtlg", 1.0, True]]


def test_more_checks_than_epochs_are_one_for_each(reports):
    folder, _ = reports("training.checks=9", "training.epochs=3")
    history = json.loads((folder.path / "history.json").read_text())
    assert [check["epoch"] for check in history["checks"]] == [1, 2, 3]


def test_trivial_errors_are_those_of_mean_and_mode(reports):
    folder, report = reports()
    source = load(folder.config.data)
    splits = Splits(source, folder.config, "cpu")
    train, test = (source.table.rows(splits.parts[0][part]) for part in (0, 2))
    height = train.values[train.observed[:, 0], 0].mean()
    seen, known = test.values[test.observed[:, 0], 0], train.values[train.observed[:, 4], 4]
    nrmse = np.sqrt(np.mean((seen - height) ** 2)) / np.ptp(seen)
    wrong = np.mean(test.values[test.observed[:, 4], 4] != np.bincount(known.astype(int)).argmax())
    assert report["trivial"]["columns"][0] == pytest.approx(nrmse, rel=1e-4)
    assert report["trivial"]["columns"][4] == pytest.approx(wrong, rel=1e-4)


def test_a_better_checkpoint_than_a_random_one_is_reached(reports):
    """It learns: after some epochs, errors are well below those of the start."""
    short, long = (reports(f"training.epochs={n}")[1] for n in (1, 40))
    for before, after in zip(short["runs"], long["runs"], strict=True):
        assert np.mean(after["validation"]) < 0.8 * np.mean(before["validation"])


# ---------------------------------------------------------------- conflicts


def test_shares_of_the_gradient_sum_to_one(reports):
    folder, report = reports(*RICH)
    conflicts = report["conflicts"]
    assert conflicts["steps"] == [4, 8]
    history = json.loads((folder.path / "history.json").read_text())
    chosen = report["runs"].index(TableReport(report).best())
    for label, choice in (("plain", 0), ("impartial", chosen)):
        shares, cosines = np.array(conflicts[label]["shares"]), np.array(conflicts[label]["cosines"])
        assert shares.shape == (2, 5)
        assert (shares > 0).all()
        np.testing.assert_allclose(shares.sum(1), 1, atol=1e-4)
        assert shares.tolist() == [check["shares"][choice] for check in history["checks"]]
        np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-4)
        np.testing.assert_allclose(cosines, cosines.T, atol=1e-6)
        assert (np.abs(cosines) <= 1).all()
    assert conflicts["plain"] != conflicts["impartial"]


def test_plain_training_alone_has_nothing_beside_it(reports):
    _, report = reports('runs.methods=["sum"]', "evaluation.generate=10")
    assert set(report["conflicts"]) == {"steps", "plain"}
    assert report["generated"]["labels"] == ["plain"]
    assert len(report["runs"]) == 1


# ---------------------------------------------------------------- generated rows


@pytest.mark.parametrize("model", ["vae", "hivae"])
def test_generated_rows_are_kept_and_judged(reports, model):
    folder, report = reports(*RICH, f"model.name={model}")
    chosen = report["runs"].index(TableReport(report).best())
    assert report["generated"] == {"labels": ["plain", "impartial"], "runs": [0, chosen], "seed": 0}
    with np.load(folder.path / "samples.npz") as samples:
        found = {name: samples[name] for name in samples.files}
    assert set(found) == {"real", "plain", "impartial"}
    splits = Splits(load(folder.config.data), folder.config, "cpu")
    test = splits.truth[splits.parts[0][2]].numpy()
    np.testing.assert_array_equal(found["real"], test[:15])
    saved = load_file(folder.path / "model.safetensors")
    for label, choice in (("plain", 0), ("impartial", chosen)):
        rows = found[label]
        assert rows.shape == (15, 5)
        network = splits.network([0])
        mine = {k: w[2 * choice : 2 * choice + 1] if len(w) == 8 else w for k, w in saved.items()}  # first of 2 seeds
        network.load_state_dict(mine)
        np.testing.assert_array_equal(rows, generate_rows(splits, network, 0, 15))
        assert np.isfinite(rows).all()
        assert (rows[:, 1] > 0).all()
        assert set(rows[:, 3]) <= {0, 1}
        assert set(rows[:, 4]) <= {0, 1, 2}
        score, rest = report["runs"][choice]["quality"][0], report["runs"][choice]["quality"][1:]
        assert score == pytest.approx(quality(test, rows, splits.schema).score, rel=1e-4)
        assert rest == [None]
    assert (found["plain"] != found["impartial"]).any()
    assert all("quality" not in r for i, r in enumerate(report["runs"]) if i not in (0, chosen))


def test_no_more_rows_are_generated_than_are_tested_on_and_none_unless_wanted(reports):
    folder, report = reports("evaluation.generate=1000")
    with np.load(folder.path / "samples.npz") as samples:
        assert len(samples["plain"]) == len(samples["real"]) == 24
    folder, report = reports()
    assert "generated" not in report
    assert not (folder.path / "samples.npz").exists()


# ---------------------------------------------------------------- every setting matters

MATTERS = [
    "training.lr=0.02",
    "training.decay=true",
    "training.dropout=0.4",
    "training.hide=0.3",
    "training.see_mask=true",
    "training.batch_size=20",
    "training.epochs=5",
    "training.checks=1",
    "objective.analytic_kl=true",
    "objective.n_samples=2",
    "objective.name=iwae",
    "objective.name=dreg",
    "model.name=hivae",
    "model.n_hidden=7",
    "model.latent_share=0.9",
    "model.parameters=moments",
    "model.from_marginals=true",
    "model.within_range=true",
    "data.encoding=one-hot",
    "data.positive=centred",
    "data.rows=110",
    "runs.seeds=[0, 2]",
    "runs.seeds=[1, 0]",
    "runs.methods=['sum', 'pcgrad']",
    "evaluation.n_samples=4",
    "evaluation.hidden=0.5",
]
BASE = ("training.epochs=4", "training.lr=0.2")  # so fast that the last of two checks is not always the best


@pytest.mark.parametrize("override", MATTERS)
def test_a_setting_changes_numbers(reports, override):
    _, before = reports(*BASE)
    _, after = reports(
        *BASE, *(("objective.n_samples=2",) if "iwae" in override or "dreg" in override else ()), override
    )
    assert numbers(after).shape == numbers(before).shape
    assert not np.array_equal(numbers(after), numbers(before))


def test_objectives_of_several_samples_differ_among_themselves(reports):
    found = [numbers(reports("objective.n_samples=3", f"objective.name={n}")[1]) for n in ("elbo", "iwae", "dreg")]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert not np.array_equal(found[a], found[b])
    assert all(np.isfinite(row).all() for row in found)


@pytest.mark.parametrize("how", [("objective.name=elbo",), ("objective.name=iwae", "objective.n_samples=3")])
def test_hivae(reports, how):
    _, report = reports("model.name=hivae", *how)
    assert report["name"] == f"people-hivae-{how[0].partition('=')[2]}"
    assert np.isfinite(numbers(report)).all()
    assert report["runs"][0]["columns"] != report["runs"][1]["columns"]


def test_evaluation_changes_only_its_own_measure(reports):
    plain = reports()[1]["runs"]
    other = reports("evaluation.hidden=0.5")[1]["runs"]
    for a, b in zip(plain, other, strict=True):
        assert {name for name in a if a[name] != b[name]} == {"hidden", "hidden_columns", "validation_hidden"}


def test_hidden_cells_are_the_share_that_was_asked_for():
    config = tiny("people.csv", "evaluation.hidden=0.25")
    cells = hidden_cells(config, 400, 5)
    assert float(cells.double().mean()) == pytest.approx(0.25, abs=0.01)
    assert torch.equal(cells, hidden_cells(config, 400, 5))


# ---------------------------------------------------------------- neighbours in the stack


def entry(report, **wanted):
    (found,) = [r for r in report["runs"] if all(r[key] == value for key, value in wanted.items())]
    return found


@pytest.mark.parametrize(
    "setting",
    [
        (),
        ("model.name=hivae",),
        ("objective.name=dreg", "objective.n_samples=2"),
        ("model.from_marginals=true", "data.encoding=one-hot", "training.hide=0.2"),
    ],
)
def test_numbers_do_not_depend_on_who_shares_the_stack(reports, setting):
    few = reports(*setting)[1]
    more = (
        "runs.methods=['sum', 'pcgrad', 'imtlg', 'gradnorm']",
        "runs.kl_weights=[0.3, 1.0]",
        "runs.seeds=[3, 1, 0]",
    )
    many = reports(*setting, *more, "runs.unrestored=true")[1]
    for method in ("sum", "imtlg"):
        a, b = (entry(r, method=method, kl_weight=1.0, restored=True) for r in (few, many))
        for name in MEASURES | BY_COLUMN:
            mine, theirs = np.array(a[name], dtype=float), np.array(b[name], dtype=float)[[2, 1]]
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, err_msg=f"{method} {name}")


# ---------------------------------------------------------------- holes


def test_a_column_that_is_missing_in_all_test_rows(tmp_path):
    frame = make_frame()
    rows = np.random.default_rng(0).permutation(ROWS)[96:]  # the test rows of seed 0
    frame.loc[rows, "income"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    report = run(tiny(tmp_path / "people.csv", "evaluation.generate=20"), tmp_path, device="cpu").report()
    for r in report["runs"]:
        first, second = r["columns"]
        assert [x is None for x in first] == [False, True, False, False, False]
        assert r["hidden_columns"][0][1] is None
        assert None not in second
        assert r["error"][0] == pytest.approx(np.mean([x for x in first if x is not None]), rel=1e-4)
        assert None not in [*r["hidden"], *r["elbo"], *r["log_likelihood"]]
    assert report["trivial"]["columns"][1] is None
    assert TableReport(report).best() == report["runs"][1]


def test_training_that_falls_apart_is_reported(tmp_path):
    path = write_csv(tmp_path / "people.csv")
    config = tiny(path, "training.lr=1e30", "evaluation.generate=5")
    report = run(config, tmp_path, device="cpu").report()
    assert report["runs"][0]["validation"] == [None, None]
    assert report["runs"][0]["error"] == [None, None]


def test_columns_of_one_kind_alone(tmp_path):
    frame = make_frame()
    for names in (["member", "region"], ["visits", "visits2"], ["height", "height2"]):
        pd.DataFrame({n: frame[n.rstrip("2")] for n in names}).to_csv(tmp_path / f"{names[0]}.csv", index=False)
        for model in ("vae", "hivae"):
            config = tiny(tmp_path / f"{names[0]}.csv", f"model.name={model}", "evaluation.generate=5")
            assert np.isfinite(numbers(run(config, tmp_path, device="cpu").report())).all()


# ---------------------------------------------------------------- odd tables and odd runs


@pytest.fixture
def table_path(tmp_path):
    return write_csv(tmp_path / "people.csv")


def test_one_column_has_nothing_to_guess_from(tmp_path):
    table_path = tmp_path / "one.csv"
    values = np.random.default_rng(0).normal(size=(60, 1)).round(3)
    table_path.write_text("x,y\n" + "\n".join(f"{x},same" for (x,) in values))  # y is constant, and ignored
    report = run(tiny(table_path, "training.epochs=1"), tmp_path, device="cpu").report()
    assert report["data"]["columns"] == ["x"]
    assert np.isfinite(report["runs"][0]["error"]).all()
    assert report["runs"][0]["hidden"] == [None, None]


def test_too_many_hidden_cells_are_refused_before_training(table_path, tmp_path):
    ticks = []
    with pytest.raises(ValueError, match="evaluation.hidden should be at most 0.80"):
        run(tiny(table_path, "evaluation.hidden=0.9"), tmp_path, device="cpu", tick=lambda *tick: ticks.append(tick))
    assert ticks == []


def test_a_run_that_never_had_a_finite_error_has_no_numbers(table_path, tmp_path, monkeypatch):
    errors = _splits.Splits.errors

    def broken(self, guess, part, seeds, scored=None):
        found = errors(self, guess, part, seeds, scored)
        if part == 1:
            found[1] = torch.inf  # the second seed of the first choice
        return found

    monkeypatch.setattr(_splits.Splits, "errors", broken)
    entry = run(tiny(table_path, "training.epochs=1"), tmp_path, device="cpu").report()["runs"][0]
    for name in ("validation", "error", "rate", "elbo", "log_likelihood", "hidden"):
        assert entry[name][0] is not None
        assert entry[name][1] is None
    assert entry["columns"][1] == [None] * 5


def test_threads_are_as_before(table_path, tmp_path):
    torch.set_num_threads(2)
    seen = []
    try:
        run(tiny(table_path), tmp_path, device="cpu", tick=lambda *_: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert set(seen) == {1}
