"""The harness of the benchmarks: what it picks, how it scores, what it remembers."""

from pathlib import Path

import numpy as np
import pytest

from evenhand.tables import Schema

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    """Its files import one another."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def schema_of(*kinds):
    rng = np.random.default_rng(0)
    columns = {
        f"x{d}": rng.normal(size=30) if k == "real" else np.array(["a", "b", "c"] * 10) for d, k in enumerate(kinds)
    }
    import pandas as pd

    return Schema.infer(pd.DataFrame(columns))


def test_exact_draws_are_covered_nineteen_times_in_twenty_one():
    from _imputation_scores import draw_scores

    rng = np.random.default_rng(0)
    truth, draws = rng.normal(size=(4000, 2)), rng.normal(size=(20, 4000, 2))
    truth[:, 1], draws[..., 1] = truth[:, 1] > 1, draws[..., 1] > 1  # mostly zeros
    schema = schema_of("real", "real")
    found = draw_scores(truth, np.ones(truth.shape, bool), draws, schema, np.ones(2))
    assert list(found["coverage by column"].values()) == pytest.approx([19 / 21, 19 / 21], abs=0.015)
    assert found["coverage"] > 0.94  # ties count as held
    narrow = draw_scores(truth, np.ones(truth.shape, bool), 0.5 * draws, schema, np.ones(2))
    assert narrow["coverage by column"]["x0"] < 0.75


def test_the_energy_score_is_that_of_its_definition_and_prefers_the_truth():
    from _imputation_scores import draw_scores

    rng, schema = np.random.default_rng(0), schema_of("real", "class")
    truth = np.stack([rng.normal(size=300), rng.integers(0, 3, 300).astype(float)], -1)
    removed = rng.random(truth.shape) < 0.7
    draws = np.stack([rng.normal(size=(20, 300)), rng.integers(0, 3, (20, 300)).astype(float)], -1)
    scales = np.array([2.0, 1.0])

    def distance(a, b, mask):
        return np.sqrt((mask * np.array([(a[0] - b[0]) / 2, a[1] != b[1]]) ** 2).sum())

    expected = []
    for x, mask, some in zip(truth, removed, draws.swapaxes(0, 1), strict=True):
        if mask.any():
            among = [distance(a, b, mask) for i, a in enumerate(some) for j, b in enumerate(some) if i != j]
            expected.append(np.mean([distance(a, x, mask) for a in some]) - np.mean(among) / 2)
    found = draw_scores(truth, removed, draws, schema, scales)["energy"]
    assert found == pytest.approx(np.mean(expected), abs=1e-4)
    shifted = draw_scores(truth, removed, draws + np.array([1.0, 0.0]), schema, scales)["energy"]
    assert shifted > found + 0.01


def test_columns_are_compared_with_mean_and_mode():
    from _filled import Filled
    from _holes import Holes
    from _imputation_scores import scores
    from _imputers import mean_mode

    rng = np.random.default_rng(0)
    truth = np.stack([rng.normal(size=200), rng.normal(size=200)], -1)
    removed = rng.random(truth.shape) < 0.2
    order = np.arange(200)
    holes = Holes(None, schema_of("real", "real"), truth, removed, order[:140], order[140:], 0)
    trivial = mean_mode(holes)
    found = scores(holes, trivial)
    assert found["worse"] == []
    assert all(column["error"] == column["mean or mode"] for column in found["columns"])
    guess = trivial.guess.copy()
    gaps = np.isnan(holes.test)
    guess[gaps[:, 0], 0] = truth[140:][gaps[:, 0], 0]
    guess[gaps[:, 1], 1] += 1
    found = scores(holes, Filled(guess))
    assert found["columns"][0]["error"] == 0
    assert found["worse"] == ["x1"]
    with pytest.raises(AssertionError, match="observed cells"):
        scores(holes, Filled(guess + 1))


def test_results_are_kept_and_so_are_errors(tmp_path):
    from _cache import Cache

    cache, tables = Cache(tmp_path / "cache"), ["p/one", "two"]

    def fails():
        raise RuntimeError("too few rows")

    def spins():
        while True:
            pass

    assert cache.run("p/one", "a b", lambda: {"error": 0.5}, 60)["error"] == 0.5
    assert cache.run("two", "a b", fails, 60)["error message"] == "RuntimeError: too few rows"
    assert cache.run("two", "c", spins, 1)["error message"] == "not done in 1 s"
    assert Cache(tmp_path / "cache").read("p/one", "a b") == {"table": "p/one", "side": "a b", "error": 0.5}
    cache.collect(tmp_path / "report.json", "python x", ["c", "a b"], tables)
    from _imputation_tables import read_report

    results, sides, names = read_report(tmp_path / "report.json")
    assert (results, sides, names) == (cache.everything(), ["c", "a b"], tables)
    assert list(results["two"]) == ["c", "a b"]


def test_a_peer_elsewhere_that_exceeds_its_time_is_said_to(tmp_path, monkeypatch):
    import sys

    from _cache import Cache
    from _elsewhere import elsewhere

    script = tmp_path / "spins.py"
    script.write_text("while True: pass")
    monkeypatch.setenv("ELSEWHERE", sys.executable)
    found = Cache(tmp_path).run("one", "a", lambda: {"error": elsewhere("ELSEWHERE", str(script), np.zeros(1))}, 1)
    assert found["error message"] == "TimeoutError: It was not done in 1 s."


def test_collecting_keeps_what_the_file_has_and_the_cache_has_not(tmp_path):
    from _cache import Cache
    from _imputation_tables import read_report

    report, before, now = tmp_path / "report.json", Cache(tmp_path / "before"), Cache(tmp_path / "now")
    for table, side in (("one", "a"), ("one", "b"), ("two", "a"), ("two", "dropped")):
        before.write(table, side, {"error": 0.5})
    before.collect(report, "python x", ["a", "b", "dropped"], ["one", "two"])
    now.write("one", "b", {"error": 0.25})
    now.collect(report, "python x", ["a", "b"], ["one", "two"])
    results = read_report(report)[0]
    found = {table: {side: result["error"] for side, result in sides.items()} for table, sides in results.items()}
    assert found == {"one": {"a": 0.5, "b": 0.25}, "two": {"a": 0.5}}


def test_whole_numbers_are_also_compared_with_a_whole_mean():
    from _filled import Filled
    from _holes import Holes
    from _imputation_scores import scores
    from _imputers import mean_mode

    rng = np.random.default_rng(0)
    truth = np.stack([rng.integers(0, 2, 2_000) * 1.0, rng.integers(0, 2, 2_000) * 0.5], -1)
    removed, order = rng.random(truth.shape) < 0.2, np.arange(2_000)
    holes = Holes(None, schema_of("real", "real"), truth, removed, order[:1_400], order[1_400:], 0)
    guess = mean_mode(holes).guess
    guess[:, 0] = np.rint(guess[:, 0])
    guess[:, 1] = 0.5 * np.rint(2 * guess[:, 1])
    found = scores(holes, Filled(guess))
    assert found["worse"] == ["x0", "x1"]  # rounding costs
    assert found["worse, whole"] == ["x1"]  # which is not a column of whole numbers
    assert set(found["worse, surely"]) <= {"x0", "x1"}
    exact = scores(holes, Filled(np.where(np.isnan(holes.test), truth[1_400:] + 0.3, holes.test)))
    assert exact["error"] == pytest.approx(np.mean([0.3, 0.3 / 0.5]), abs=1e-4)
    assert exact["error, whole"] == pytest.approx(0.3, abs=1e-4)  # rounding mends the first column


def test_few_cells_do_not_prove_a_column_worse():
    from _imputation_scores import _surely_worse

    rng, schema = np.random.default_rng(0), schema_of("real", "binary")
    truth = np.stack([rng.normal(size=400), rng.integers(0, 2, 400)], -1)
    trivial = np.zeros_like(truth)
    guess = np.stack([np.full(400, 0.3), 1 - truth[:, 1]], -1)  # a little off; always wrong
    few, many = np.zeros(truth.shape, bool), np.ones(truth.shape, bool)
    few[:5] = True
    assert _surely_worse(schema, truth, many, guess, trivial) == ["x0", "x1"]
    assert "x0" not in _surely_worse(schema, truth, few, guess, trivial)


def test_the_best_peer_is_none_of_ours_and_failures_are_told():
    from _imputation_tables import best_peer, printed

    def result(error):
        return {"error": error, "worse": [], "seconds": {"fit and guess": 3.0}, "coverage, ties split": 0.9}

    sides = ["trees", "miceforest", "tabularvae"]
    results = {
        "one": {"trees": result(0.3), "tabularvae": result(0.2), "miceforest": {"error message": "ImportError: no"}},
        "two": {"trees": result(0.1), "tabularvae": result(0.2)},
    }
    assert best_peer(results, "one") == ("trees", 0.3)
    text = printed(results, sides, ["one", "two"])
    assert "| one | 0.3000 | failed | **0.2000** | trees 0.3000 |" in text
    assert "- one, miceforest: ImportError: no" in text
    assert "- miceforest: not run on two" in text
    assert "tabularvae: at or below the best peer on 1 of 2 tables" in text


def test_trees_tell_independent_columns_but_not_real_rows():
    from _generation_scores import detection

    rng, schema = np.random.default_rng(0), schema_of("real", "real")
    x = rng.normal(size=(3000, 1))
    rows = np.concatenate([x, x + 0.1 * rng.normal(size=x.shape)], -1)
    assert detection(rows[:1000], rows[1000:2000], schema) > 0.85
    mixed = np.stack([rows[:1000, 0], rng.permutation(rows[:1000, 1])], -1)
    assert detection(rows[1000:2000], mixed, schema) < 0.2


def test_a_copy_gives_its_members_away():
    from _generation_scores import membership
    from _rows import Rows

    rng = np.random.default_rng(0)
    rows = Rows(None, schema_of("real", "real"), rng.normal(size=(300, 2)), rng.normal(size=(300, 2)), None, 0)
    assert membership(rows, rows.train) == 1
    assert membership(rows, rng.normal(size=(300, 2))) == pytest.approx(0.5, abs=0.06)


def test_acquisition_asks_for_every_cell_once_and_counts_both_ends():
    import pandas as pd
    from _acquisition import Task, by_order, curve, random_orders

    truth = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"], "y": [1.0, 2.0, 4.0]})
    task = Task(truth, truth, Schema.infer(truth.loc[[0, 1, 2] * 20]), "y")

    class Known:
        """Guesses the target once "a" is known, and the mean before."""

        def transform(self, rows):
            return rows.assign(y=truth.y.where(rows.a.notna(), truth.y.mean()))

    first, last = (curve(task, Known(), by_order([order] * 3)) for order in (["a", "b"], ["b", "a"]))
    assert first == pytest.approx([1, 0, 0])
    assert last == pytest.approx([1, 1, 0])
    assert all(sorted(order) == ["a", "b"] for order in random_orders(task, 0))


def test_acquisition_is_summed_up_without_its_ends():
    from _acquisition_tables import against, inner_mean

    assert inner_mean([9.0, 1.0, 3.0, 9.0]) == 2
    assert against([1.0, 1.1, 0.9], [2.0, 2.1, 1.9]) == "**-1.000 ± 0.000**"
    assert not against([1.0, 3.0], [2.0, 2.0]).startswith("**")


def test_a_made_up_table_has_relations_that_rows_of_all_seeds_share():
    from _made_up import kinds, made_up

    first, gone = made_up(4000, 6, 2)
    again, other = made_up(4000, 6, 2)[0], made_up(4000, 6, 2, seed=1)[0]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_allclose(np.corrcoef(first, rowvar=False), np.corrcoef(other, rowvar=False), atol=0.15)
    assert abs(np.corrcoef(first, rowvar=False) - np.eye(8)).max() > 0.4
    assert 0.09 < gone.mean() < 0.11
    schema = Schema.infer(np.where(gone, np.nan, first), kinds(6, 2))
    assert [str(column.kind) for column in schema] == ["real", "positive", "count"] * 2 + ["categorical"] * 2
    assert set(np.unique(first[:, 6:])) <= set(range(5))
