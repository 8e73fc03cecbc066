"""Random tables: columns of all sorts, names, holes, sizes, libraries and encodings."""

import csv
import datetime
import io
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

WORDS = (
    "a",
    "B",
    "b",
    "yes",
    "No",
    "NO",
    "é",
    "日本",
    "x y",
    "",
    " ",
    "NA",
    "null",
    "?",
    "-",
    "a,b",
    'say "so"',
    "1",
    "02",
)
WORDS += (
    "line\nbreak",
    "\u202eright",
    "\x1b[31m",
    "true",
    "nan",
    "inf",
    "1,234",
    "1e5",
    "{0}",
    "%",
    "$5",
    "2020-01-01",
)
NAMES = (
    "a",
    "b",
    "x0",
    "x1",
    "id",
    "größe",
    "日本",
    "a b",
    "",
    " ",
    "{x}",
    "1",
    "2019",
    "nan",
    'q"',
    "a=b",
    "line\nbreak",
)
EPOCH = datetime.datetime(2020, 2, 28)


def _floats(rng, n):
    values = rng.normal(size=n) * 10.0 ** rng.integers(-12, 12) + rng.choice([0, 0, 1e6])
    return (values.round(int(rng.integers(0, 5))) if rng.random() < 0.5 else values).tolist()


def _iso(rng, n):
    spec = str(rng.choice(["days", "minutes", "seconds", "microseconds"]))
    days = [EPOCH + datetime.timedelta(seconds=int(s)) for s in rng.integers(0, 10**8, n)]
    zone = str(rng.choice(["", "Z"])) if spec != "days" else ""
    return [d.date().isoformat() if spec == "days" else d.isoformat(timespec=spec) + zone for d in days]


def _with_words(rng, n, values):
    words = rng.choice(["unknown", "n.a.", "none", "x"], n)
    share = rng.choice([0.01, 0.03, 0.3])
    return [
        str(word) if stray else value for value, word, stray in zip(values, words, rng.random(n) < share, strict=True)
    ]


SORTS = {
    "floats": _floats,
    "positive": lambda rng, n: np.exp(rng.normal(size=n) * rng.choice([0.1, 1, 8])).tolist(),
    "counts": lambda rng, n: rng.poisson(rng.choice([0.1, 3, 300]), n).tolist(),
    "integers": lambda rng, n: rng.integers(-(10 ** int(rng.integers(1, 15))), 10**6, n).tolist(),
    "numbers of rows": lambda rng, n: list(range(n)),
    "two numbers": lambda rng, n: rng.choice([-1.5, 7.0], n).tolist(),
    "booleans": lambda rng, n: (rng.random(n) < 0.5).tolist(),
    "words": lambda rng, n: [WORDS[i] for i in rng.choice(rng.integers(0, len(WORDS), rng.integers(1, 8)), n)],
    "labels": lambda rng, n: rng.choice(["u", "v", "w"], n).tolist(),
    "capitals": lambda rng, n: rng.choice(["yes", "no", "Yes", "NO"], n).tolist(),
    "ids": lambda rng, n: [f"id{i}" for i in rng.permutation(n)],
    "sentences": lambda rng, n: ["long text " * int(k) for k in rng.integers(1, 40, n)],
    "constant": lambda rng, n: [rng.choice([0.0, 1.5])] * n,
    "empty": lambda rng, n: [None] * n,
    "dates": lambda rng, n: [EPOCH + datetime.timedelta(days=int(d)) for d in rng.integers(0, 2000, n)],
    "times": lambda rng, n: [EPOCH + datetime.timedelta(seconds=float(s)) for s in rng.uniform(-1e9, 1e9, n)],
    "durations": lambda rng, n: [datetime.timedelta(hours=float(h)) for h in rng.exponential(9, n)],
    "dates as text": _iso,
    "numbers as text": lambda rng, n: [f"{x:.2f}" for x in rng.normal(size=n)],
    "whole numbers as text": lambda rng, n: [str(x) for x in rng.integers(0, rng.choice([3, 10**6]), n)],
    "thousands": lambda rng, n: [f"{x:,}" for x in rng.integers(0, 10**8, n)],
    "words among numbers": lambda rng, n: _with_words(rng, n, _floats(rng, n)),
    "words among dates": lambda rng, n: _with_words(rng, n, _iso(rng, n)),
    "words among texts": lambda rng, n: _with_words(rng, n, [f"{x:.3f}" for x in rng.normal(size=n)]),
    "extremes": lambda rng, n: rng.choice([0.0, 1.5, -2.5, 1e300, -1e29, 1e-300], n).tolist(),
    "infinite": lambda rng, n: rng.choice([0.5, 1.5, np.inf], n).tolist(),
    "large": lambda rng, n: [int(x) for x in rng.integers(2**52, 2**62, n)],
    "lists": lambda rng, n: [[1]] * n,
}
LIBRARIES = ("pandas", "objects", "categories", "polars", "pyarrow", "numpy", "csv")


@dataclass(frozen=True)
class Table:
    """What a test was given: the recipe of a table."""

    library: str
    n: int
    columns: tuple
    holes: float
    seed: int
    delimiter: str = ","
    encoding: str = "utf-8"
    header: bool = True

    def cells(self):
        """By name, lists with None in holes."""
        made = {}
        for j, (name, sort) in enumerate(self.columns):
            rng = np.random.default_rng([self.seed, j])
            hidden = rng.random(self.n) < self.holes
            values = SORTS[sort](rng, self.n)
            made[name] = [None if gone else value for value, gone in zip(values, hidden, strict=True)]
        return made

    def frame(self):
        """The table in its library; may fail where the library itself refuses the cells."""
        cells = self.cells()
        if self.library == "numpy":
            array = np.empty((self.n, len(cells)), dtype=object)
            for j, values in enumerate(cells.values()):
                array[:, j] = values
            return array
        if self.library == "polars":
            return pl.DataFrame(cells, strict=False)
        if self.library == "pyarrow":
            return pa.table(cells)
        frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in cells.items()})
        frame.index = pd.Index(np.arange(self.n)[::-1] * 3, name="row")
        if self.library == "objects":
            return frame
        frame = frame.infer_objects()
        if self.library == "categories":
            texts = [name for name in frame if all(isinstance(v, str | None) for v in cells[name])]
            return frame.astype(dict.fromkeys(texts, "category"))
        return frame

    def content(self):
        """The bytes of a text file."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter=self.delimiter, lineterminator="\n")
        if self.header:
            writer.writerow(name for name, _ in self.columns)
        writer.writerows(
            ["" if cell is None else str(cell) for cell in row] for row in zip(*self.cells().values(), strict=True)
        )
        return buffer.getvalue().encode(self.encoding, errors="replace")


@st.composite
def tables(draw, libraries=LIBRARIES):
    """Recipes of tables; most columns can be learnt."""
    names = draw(st.lists(st.sampled_from(NAMES) | st.text(max_size=6), min_size=1, max_size=6, unique=True))
    good = ["floats", "positive", "counts", "labels", "booleans", "dates", "dates as text", "words among texts"]
    sorts = st.sampled_from(good) | st.sampled_from(sorted(SORTS))
    return Table(
        library=draw(st.sampled_from(libraries)),
        n=draw(st.sampled_from([2, 3, 20, 25, 60, 120, 300])),
        columns=tuple((name, draw(sorts)) for name in names),
        holes=draw(st.sampled_from([0.0, 0.1, 0.5, 0.95])),
        seed=draw(st.integers(0, 2**32 - 1)),
        delimiter=draw(st.sampled_from(",;\t|")),
        encoding=draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])),
        header=draw(st.sampled_from([True, True, True, False])),
    )
