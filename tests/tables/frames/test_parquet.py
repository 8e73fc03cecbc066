"""Long Parquet files: some of their rows, and their holes filled part by part."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenhand.tables import Schema, fill_parquet, sample_parquet
from evenhand.tables.frames import _parquet, fill, read


@pytest.fixture(autouse=True)
def short_parts(monkeypatch):
    monkeypatch.setattr(_parquet, "PART", 7)


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    gone = rng.random((n, 5)) < 0.2
    columns = {
        "row": np.arange(n),
        "size": rng.integers(0, 9, n),
        "weight": rng.normal(size=n),
        "colour": rng.choice(["red", "green"], n),
        "shape": rng.choice(["round", "square"], n),
    }
    made = {name: pa.array(x, mask=gone[:, i] & (name != "row")) for i, (name, x) in enumerate(columns.items())}
    made["weight"] = pa.array(np.where(gone[:, 2], np.nan, columns["weight"]))  # a hole that is no null
    made["shape"] = made["shape"].dictionary_encode()
    return pa.table(made)


@pytest.fixture
def long(tmp_path):
    path = tmp_path / "long.parquet"
    pq.write_table(table(), path, row_group_size=11)
    return path


def ones(part):
    """Fill every hole with 1, or the second category."""
    schema = Schema.infer(table(), {"size": "real", "weight": "real"}, unsupported="ignore")
    raw = read(part, schema)
    return fill(part, schema, np.ones_like(raw.values), ~raw.observed)


def test_some_rows_are_drawn_without_order_or_number_changing(long):
    found = sample_parquet(long, 15, seed=1)
    rows = found["row"].to_pylist()
    assert rows == sorted(set(rows))
    assert len(rows) == 15
    for name in ("size", "colour", "shape"):
        assert found[name].to_pylist() == table()[name].take(rows).to_pylist()
    assert sample_parquet(long, 15, seed=2)["row"].to_pylist() != rows
    assert sample_parquet(long, 15, seed=1)["row"].to_pylist() == rows


def test_of_a_short_file_all_rows_are_taken(long):
    assert sample_parquet(long, 1000)["row"].to_pylist() == list(range(40))


def test_every_row_is_drawn_as_often_as_any_other(long):
    counts = np.zeros(40)
    for seed in range(200):
        counts[sample_parquet(long, 10, seed)["row"].to_pylist()] += 1
    assert counts.sum() == 2000
    assert abs(counts - 50).max() < 4.5 * np.sqrt(50 * 0.75)


def test_holes_are_filled_and_nothing_else_changes(long, tmp_path):
    before = table()
    number = fill_parquet(long, tmp_path / "out.parquet", ones)
    after = pq.read_table(tmp_path / "out.parquet")
    assert after.schema.equals(before.schema)
    gaps = 0
    for name in before.column_names:
        old, new = before[name].to_pylist(), after[name].to_pylist()
        hole = [x is None or x != x for x in old]
        gaps += sum(hole)
        assert all(x == y for x, y, gone in zip(old, new, hole, strict=True) if not gone)
        assert all(y is not None and y == y for y in new)
    assert number == gaps > 0


def test_a_category_that_was_never_seen_stays(long, tmp_path):
    def to_red(part):
        return part.set_column(3, "colour", pa.array(["red"] * len(part)))

    fill_parquet(long, tmp_path / "out.parquet", to_red)
    after = pq.read_table(tmp_path / "out.parquet")["colour"].to_pylist()
    assert all(y == (x or "red") for x, y in zip(table()["colour"].to_pylist(), after, strict=True))


def test_a_file_can_be_filled_in_place_and_a_failure_leaves_it(long):
    def fails(part):
        raise RuntimeError("no")

    content = long.read_bytes()
    with pytest.raises(RuntimeError):
        fill_parquet(long, long, fails)
    assert long.read_bytes() == content
    assert fill_parquet(long, long, ones) > 0
    assert fill_parquet(long, long, ones) == 0


def test_other_files_are_refused(tmp_path, long):
    (tmp_path / "no.parquet").write_text("a,b")
    with pytest.raises(ValueError, match="should be a Parquet file"):
        sample_parquet(tmp_path / "no.parquet", 3)
    with pytest.raises(FileNotFoundError, match="Found none at"):
        sample_parquet(tmp_path / "none.parquet", 3)
    with pytest.raises(ValueError, match=r"path should end in .parquet"):
        sample_parquet(tmp_path / "no.csv", 3)
    with pytest.raises(ValueError, match=r"target should end in .parquet"):
        fill_parquet(long, tmp_path / "out.csv", ones)
    with pytest.raises(ValueError, match="n should"):
        sample_parquet(long, 0)


def test_integers_that_a_model_knows_as_floats(tmp_path):
    before = pa.table({"a": pa.array([1, None, 3], pa.int64()), "b": pa.array([None, None, None])})
    pq.write_table(before, tmp_path / "t.parquet")

    def fill_all(part):
        n = part.num_rows
        return pa.table({"a": pa.array([1.0, 171.843, 3.0][:n]), "b": pa.array(["x", "y", "x"][:n])})

    assert fill_parquet(tmp_path / "t.parquet", tmp_path / "u.parquet", fill_all) == 4
    after = pq.read_table(tmp_path / "u.parquet")
    assert after["a"].to_pylist() == [1, 172, 3]
    assert after["a"].type == pa.int64()
    assert after["b"].to_pylist() == ["x", "y", "x"]


def test_a_file_without_rows(tmp_path):
    pq.write_table(table()[:0], tmp_path / "t.parquet")
    assert fill_parquet(tmp_path / "t.parquet", tmp_path / "u.parquet", ones) == 0
    assert pq.read_table(tmp_path / "u.parquet").equals(table()[:0])
