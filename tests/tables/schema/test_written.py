"""Numbers and dates that stand in frames as text, and what stands among them."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.tables.frames import build, fill, forms_of, read
from evenhand.tables.schema import Column, Schema

MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
NUMBERS = [f"{x:.3f}" for x in np.random.default_rng(0).normal(size=99)]
DAYS = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(40)]


@pytest.mark.parametrize("library", MAKERS)
def test_dates_as_text_are_dates(library):
    frame = MAKERS[library]({"day": [*DAYS[:-1], None], "y": [0.5, 1.5] * 20})
    schema = Schema.infer(frame)
    assert (schema["day"].kind, schema["day"].unit) == ("real", "days")
    assert schema["day"].reason == "Dates written as text, taken in days."
    table = read(frame, schema)
    assert table.values[0, 0] == (pd.Timestamp(DAYS[0]) - pd.Timestamp(0)).days
    forms = forms_of(frame, schema)
    filled = fill(frame, schema, np.full((40, 2), 19_800.4), ~table.observed, forms)
    assert list(filled["day"])[:-1] == list(frame["day"])[:-1]
    assert str(filled["day"][39]) == "2024-03-18"
    assert str(build(schema, np.full((1, 2), 0.0), frame[:0], forms)["day"][0]) == "1970-01-01"


@pytest.mark.parametrize(
    ("texts", "filled"),
    [
        (["2024-01-31 12:30", "2024-02-01 08:00"], "2024-01-31 13:12"),
        (["2024-01-31T12:30:00", "2024-02-01T08:00:10"], "2024-01-31T13:12:00"),
        (["2024-01-31T12:30:00Z", "2024-02-01T08:00:00Z"], "2024-01-31T13:12:00Z"),
        (["2024-01-31 12:30+02:00", "2024-02-01 08:00+01:00"], "2024-01-31 13:12+00:00"),
    ],
)
def test_times_are_written_as_they_stand(texts, filled):
    frame = pd.DataFrame({"t": [*texts, None]})
    schema = Schema.infer(frame)
    table = read(frame, schema)
    day = (pd.Timestamp("2024-01-31 13:12") - pd.Timestamp(0)) / pd.Timedelta(days=1)
    made = fill(frame, schema, np.full((3, 1), day), ~table.observed)
    assert made["t"].tolist() == [*texts, filled]


@pytest.mark.parametrize("texts", [["2024-01-31 12:30", "2024-01-31 12:30Z"], ["2024-02-30", "2024-02-31"]])
def test_what_is_no_date_stays_text(texts):
    assert Schema.infer(pd.DataFrame({"t": texts}))["t"].kind == "binary"


@pytest.mark.parametrize("library", MAKERS)
def test_one_word_among_numbers_is_missing(library):
    frame = MAKERS[library]({"x": [*NUMBERS, "unknown"]})
    schema = Schema.infer(frame)
    told = "99 of 100 cells are numbers; 'unknown' is not: treated as missing."
    assert schema["x"].kind == "real"
    assert schema["x"].reason.endswith(told)
    with pytest.warns(UserWarning, match=f"column 'x': {told}"):
        table = read(frame, schema)
    assert table.observed.sum() == 99
    filled = fill(frame, schema, np.full((100, 1), 1.23456), ~table.observed)
    assert str(filled["x"][99]) == "1.235"
    assert list(filled["x"])[:-1] == list(frame["x"])[:-1]


def test_numbers_and_words_as_objects():
    values = [*map(float, NUMBERS), "unknown"]
    for frame in (pd.DataFrame({"x0": pd.Series(values, dtype=object)}), np.array(values, dtype=object)[:, None]):
        schema = Schema.infer(frame)
        assert schema["x0"].kind == "real"
        with pytest.warns(UserWarning, match="'unknown' is not"):
            table = read(frame, schema)
        filled = fill(frame, schema, np.full((100, 1), 0.5), ~table.observed)
        assert (filled["x0"][99] if isinstance(filled, pd.DataFrame) else filled[99, 0]) == 0.5
    half = pd.DataFrame({"x": pd.Series([1.5, "a"] * 10, dtype=object)})
    with pytest.raises(ValueError, match="declare it real: words such as 'a' then count as missing"):
        Schema.infer(half)
    assert Schema.infer(half.assign(x=[1.5, 2.5, "a", "a"] * 5), {"x": "real"})["x"].kind == "real"


def test_labels_that_are_numbers_stay_labels():
    stores = pd.DataFrame({"store": [str(100 + i % 45) for i in range(200)]})
    column = Schema.infer(stores)["store"]
    assert column.kind == "categorical"
    assert column.reason.endswith("All of them numbers written as text: declared real, they are read as numbers.")
    assert Schema.infer(stores, {"store": "count"})["store"].kind == "count"
    zips = pd.DataFrame({"zip": [f"0{1000 + i}" for i in range(100)] + ["none"]})
    assert "zip" in Schema.infer(zips.assign(y=range(101, 303, 2)), unsupported="ignore").ignored


def test_fractions_as_text_are_numbers():
    frame = pd.DataFrame({"x": NUMBERS})
    assert Schema.infer(frame)["x"].kind == "real"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(frame, Schema.infer(frame)).values[:, 0].tolist() == [float(x) for x in NUMBERS]


def test_two_texts_in_capitals_or_not():
    frame = pd.DataFrame({"x": ["yes", "no", "Yes", "NO", None, "yes"]})
    schema = Schema.infer(frame)
    assert schema["x"].categories == ("NO", "yes")  # as most cells write them, then by the alphabet
    table = read(frame, schema)
    assert table.values[:, 0].tolist() == [1, 0, 1, 0, 0, 1]
    assert fill(frame, schema, np.ones((6, 1)), ~table.observed)["x"].tolist() == [
        "yes",
        "no",
        "Yes",
        "NO",
        "yes",
        "yes",
    ]
    assert read(frame, Schema((Column("x", "binary", ("no", "yes")),))).observed.sum() == 5


def test_categories_that_are_written_alike():
    column = Column("x", "categorical", ("1", "2", "a"))  # text, because a word stood among the numbers
    assert read(pd.DataFrame({"x": [2, 1, 1]}), Schema((column,))).values[:, 0].tolist() == [1, 0, 0]
    column = Column("x", "categorical", (1, 2, 3))
    assert read(pd.DataFrame({"x": ["2", "3", "1"]}), Schema((column,))).values[:, 0].tolist() == [1, 2, 0]


def test_a_model_of_dates_fills_text_and_the_other_way_round():
    days = pd.DataFrame({"day": pd.to_datetime([*DAYS[:-1], None])})
    texts = pd.DataFrame({"day": [*DAYS[:-1], None]})
    values = np.full((40, 1), 19_800.0)
    for trained, new, last in ((days, texts, "2024-03-18"), (texts, days, pd.Timestamp("2024-03-18"))):
        schema = Schema.infer(trained)
        table = read(new, schema)
        filled = fill(new, schema, values, ~table.observed, forms_of(trained, schema))
        assert filled["day"].iloc[-1] == last
        assert filled["day"].dtype == new["day"].dtype


@pytest.mark.parametrize("value", [datetime.timedelta(hours=5), datetime.date(2020, 1, 31), 1.5])
def test_objects_without_a_cell_are_no_text(value):
    frame = pd.DataFrame({"x": pd.Series([value, value * 2 if value == 1.5 else value], dtype=object)})
    schema = Schema((Column("x", "real", unit="" if value == 1.5 else "days"),))
    made = build(schema, read(frame, schema).values, frame[:0], forms_of(frame, schema))
    assert made["x"].tolist() == frame["x"].tolist()
