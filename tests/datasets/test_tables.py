import hashlib
import lzma
import sys
from collections import Counter
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from evenhand import datasets
from evenhand.datasets import _fetch
from evenhand.datasets._fetch import File, read_bytes
from evenhand.tables.frames import read
from evenhand.tables.kinds import Preprocessing

# Appendix E.1, Table of data sets: N, D, and how many columns are real, positive, counts, categories.
# A comment where the data differ.
PAPER = {
    "adult": (32561, 12, 0, 3, 2, 7),  # the table says 1 count, which adds up to 11 columns
    "credit": (30000, 24, 6, 7, 1, 10),
    "wine": (6497, 13, 0, 11, 1, 1),
    "diamonds": (53940, 10, 7, 0, 0, 3),
    "bank": (41188, 21, 10, 0, 0, 11),
    "imdb": (58788, 23, 4, 1, 10, 8),  # the table says 28819 rows
    "hi": (22272, 12, 5, 1, 0, 6),
    "rwm5yr": (19609, 16, 0, 2, 3, 11),
    "labour": (15992, 9, 3, 0, 2, 4),
    "elnino": (178080, 12, 12, 0, 0, 0),
    "magic": (19020, 11, 11, 0, 0, 0),
    "miniboone": (130064, 43, 43, 0, 0, 0),  # the table says 130065 rows
}
MISSING = {"adult": 3686, "imdb": 53573 + 53864, "elnino": 151330}


def test_all_of_the_paper_are_there():
    assert tuple(PAPER) == datasets.NAMES
    for name in datasets.NAMES:
        assert getattr(datasets, name).__module__.endswith(f"._{name}")
    with pytest.raises(ValueError, match="name should be one of adult, credit, .*Found 'iris'"):
        datasets.load("iris")


@pytest.mark.parametrize("name", datasets.NAMES)
def test_every_file_tells_its_source_and_checksum(name):
    module = import_module(f"evenhand.datasets._{name}")
    files = [value for value in vars(module).values() if isinstance(value, File)]
    files += getattr(module, "FILES", {}).values()
    assert files
    for file in files:
        assert file.sha256 in module.__doc__
    assert "Licence" in module.__doc__


@pytest.mark.parametrize("name", datasets.NAMES)
def test_sizes_and_kinds_are_the_papers(name, data_folder):
    if not (data_folder / name).is_dir():
        pytest.skip(f"no folder {name}")
    data = datasets.load(name)
    kinds = Counter("nominal" if kind.nominal else str(kind) for kind in data.schema.kinds)
    n, d, *expected = PAPER[name]
    if "A part of the data" in data.note:
        n = 6932
    assert data.frame.shape == (n, d)
    assert [kinds[kind] for kind in ("real", "positive", "count", "nominal")] == expected
    assert data.schema.names == tuple(data.frame.columns)
    assert data.source.startswith("https://")
    table = read(data.frame, data.schema)
    assert (~table.observed).sum() == MISSING.get(name, 0)
    fitted = Preprocessing.fit(table, data.schema)
    batch = fitted.encode(table)
    assert batch.values.isfinite().all()
    codes = [(c, table.values[table.observed[:, j], j]) for j, c in enumerate(data.schema) if c.kind.nominal]
    for column, seen in codes:
        occurring = set(np.unique(seen))  # all of them; in credit, some months have no delay of a month
        assert occurring == set(range(column.size)) or column.name.startswith("PAY_"), column.name


@pytest.mark.parametrize(("name", "first", "header"), [
    ("adult", 1, False), ("credit", 1, False), ("wine", 1, False), ("bank", 0, True), ("diamonds", 0, True),
])  # fmt: skip
def test_rows_and_codes_are_those_of_the_published_tables(name, first, header, data_folder):
    coded = data_folder / name / "data.csv.xz"
    if not coded.exists():
        pytest.skip("no coded table")
    with lzma.open(coded) as stream:
        published = np.genfromtxt(stream, delimiter=",", skip_header=int(header))[:, int(header) :]
    data = datasets.load(name)
    table = read(data.frame, data.schema)
    for j, column in enumerate(data.schema):
        seen = table.observed[:, j]
        if name == "credit" and column.kind.nominal:  # codes are the categories
            assert (published[:, j] == data.frame[column.name]).all(), column.name
        elif column.kind.nominal:
            assert (published[seen, j] == table.values[seen, j] + first).all(), column.name
        else:
            values = np.maximum(table.values, 0.001) if column.name == "citric acid" else table.values
            assert published[seen, j] == pytest.approx(values[seen, j], rel=1e-3), column.name  # five digits


def test_imdb_ratings_are_odd_counts(data_folder):
    if not (data_folder / "imdb").is_dir():
        pytest.skip("no folder imdb")
    ratings = datasets.imdb().frame[[f"r{i}" for i in range(1, 11)]].to_numpy()
    assert set(np.unique(ratings)) == {1, 10, 30, 50, 70, 90, 92, 130, 150, 170, 190, 201}


def test_wines_are_white_first(data_folder):
    if not (data_folder / "wine").is_dir():
        pytest.skip("no folder wine")
    colours = datasets.wine().frame["colour"]
    assert (colours[:4898] == "white").all()
    assert (colours[4898:] == "red").all()


def test_the_whole_of_miniboone_is_read(tmp_path, monkeypatch):
    from evenhand.datasets import _miniboone

    rows = np.arange(200.0).reshape(4, 50)
    content = "  1  3\n" + "\n".join("  ".join(f"{x:.5e}" for x in row) for row in rows)
    (tmp_path / "miniboone").mkdir()
    (tmp_path / "miniboone" / "MiniBooNE_PID.txt").write_text(content)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    file = File("MiniBooNE_PID.txt", hashlib.sha256(content.encode()).hexdigest())
    monkeypatch.setattr(_miniboone, "FILE", file)
    monkeypatch.setitem(datasets.CATALOGUE, "miniboone", replace(datasets.CATALOGUE["miniboone"], rows=4))
    data = datasets.miniboone()
    assert data.frame.shape == (4, 43)
    assert data.frame["m4"].tolist() == [4, 54, 104, 154]
    assert data.frame["m6"].tolist() == [6, 56, 106, 156]
    assert "m5" not in data.schema
    assert "A part of the data" not in data.note


CONTENT = b"a,b\n1,2\n3,4\n"
FILE = File("table.csv", hashlib.sha256(CONTENT).hexdigest(), "https://example.invalid/table.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    return tmp_path / "toy"


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
def test_files_are_found_in_the_folder(folder, suffix):
    import gzip

    pack = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress}[suffix]
    (folder / f"table.csv{suffix}").write_bytes(pack(CONTENT))
    assert read_bytes("toy", FILE) == CONTENT
    assert _fetch.read_csv("toy", FILE).to_numpy().tolist() == [[1, 2], [3, 4]]


def test_checksums_are_verified(folder):
    (folder / "table.csv").write_bytes(CONTENT + b"5,6\n")
    with pytest.raises(
        ValueError, match=r"table.csv should have the sha256 .* Found .*: it is another version or damaged"
    ):
        read_bytes("toy", FILE)


class Pooch:
    """Stands for pooch: a source that answers with some bytes, or not at all."""

    def __init__(self, folder, content):
        self.folder, self.content = folder, content

    def os_cache(self, name):
        return self.folder / name

    def retrieve(self, url, known_hash, fname, path):
        if self.content is None:
            raise ConnectionError("no network")
        path.mkdir(parents=True)
        (path / fname).write_bytes(self.content)
        return str(path / fname)


@pytest.fixture
def source(tmp_path, monkeypatch):
    def answer(content):
        monkeypatch.setenv("EVENHAND_DATA", "")
        monkeypatch.setitem(sys.modules, "pooch", Pooch(tmp_path, content))

    return answer


def test_files_are_fetched_from_their_source(source, tmp_path):
    source(CONTENT)
    assert read_bytes("toy", FILE) == CONTENT
    assert (tmp_path / "evenhand" / "toy" / "table.csv").exists()


def test_fetched_files_are_verified(source):
    source(b"something else")
    with pytest.raises(ValueError, match="should have the sha256"):
        read_bytes("toy", FILE)


def test_files_that_are_written_anew_are_not(source):
    source(b"something else")
    assert read_bytes("toy", File(FILE.name, FILE.sha256, FILE.url, exact=False)) == b"something else"


def test_archives_are_opened(source):
    import io
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inside/table.csv", CONTENT)
    source(packed.getvalue())
    file = File("table.csv", FILE.sha256, "https://example.invalid/all.zip", member="inside/table.csv")
    assert read_bytes("toy", file) == CONTENT


def test_without_a_network_both_ways_are_told(source):
    source(None)
    message = (
        r"table.csv could not be fetched from https://example.invalid/table.csv .*with a network, or put table.csv"
    )
    with pytest.raises(FileNotFoundError, match=rf"{message} .* into the folder \$EVENHAND_DATA/toy"):
        read_bytes("toy", FILE)
    with pytest.raises(FileNotFoundError, match="cannot be fetched automatically. By hand: put table.csv"):
        read_bytes("toy", File("table.csv", FILE.sha256))


@pytest.mark.parametrize("module", ["pandas", "pooch"])
def test_missing_extras_are_named(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"data sets need {module}: pip install 'evenhand\[data\]'"):
        _fetch.need(module)
    monkeypatch.undo()


def test_the_size_of_a_data_set_is_checked():
    import pandas as pd

    from evenhand.datasets._columns import real
    from evenhand.datasets._dataset import dataset

    frame = pd.DataFrame({"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match="hi should have 22272 rows and the columns a. Found 2 rows."):
        dataset("hi", frame, real("a"))
    with pytest.raises(ValueError, match="hi should have 3 rows and the columns a. Found 2 rows."):
        dataset("hi", frame, real("a"), rows=3)
    with pytest.raises(ValueError, match="Found 2 rows and no b."):
        dataset("hi", frame, real("a", "b"), rows=2)
