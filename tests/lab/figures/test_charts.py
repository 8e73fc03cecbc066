"""Charts as SVG text: the pair plot as a file, scales, labels and numbers."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest

from evenhand.lab.figures import pair_plot
from evenhand.lab.figures._svg import LogScale, Scale, apart, log_scale_of, number, scale_of, shorten, text_width
from evenhand.tables.schema import Column, Schema

from .._reports import samples
from ..page.test_page import nasty_report


def test_a_pair_plot_is_a_file_of_its_own():
    report = nasty_report()
    rows = samples(report, 200)
    schema = Schema.from_toml(report["schema"])
    generated = {"plain": rows["plain"], "<i>other</i>": rows["impartial"]}
    text = pair_plot(rows["real"], generated, schema, schema.names[:3])
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    assert "<i>other</i>" in "".join(root.itertext())
    with pytest.raises(ValueError, match="columns should be some of"):
        pair_plot(rows["real"], {}, schema, ["unknown"])
    with pytest.raises(ValueError, match="real should have 8 columns"):
        pair_plot(rows["real"][:, :2], {}, schema, schema.names[:1])


def test_a_pair_plot_of_columns_without_variation():
    schema = Schema((Column("constant", "real"), Column("twice", "real"), Column("kind", "binary", ("a", "b")),
                     Column("empty", "count")))  # fmt: skip
    x = np.random.default_rng(0).normal(size=50)
    real = np.stack([np.ones(50), x, np.zeros(50), np.full(50, math.nan)], 1)
    same = np.stack([x, 2 * x, np.zeros(50), np.zeros(50)], 1)
    ElementTree.fromstring(pair_plot(real, {"plain": same, "impartial": real[:2]}, schema, schema.names))


def test_categories_of_a_pair_plot_have_names_while_there_are_few():
    few, many = ("Austria", "Chile", "Iceland", "Japan"), tuple(f"city {i}" for i in range(9))
    schema = Schema((Column("country", "categorical", few), Column("city", "categorical", many),
                     Column("since", "real", unit="days")))  # fmt: skip
    rows = np.random.default_rng(0).integers(0, 4, (50, 3)).astype(float)
    root = ElementTree.fromstring(pair_plot(rows, {}, schema, schema.names))
    said = [(t.text, t.get("transform") or "") for t in root.iter("{http://www.w3.org/2000/svg}text")]
    turned = {name for name, transform in said if transform.endswith("rotate(-45)")}
    assert turned == set(few)  # too wide to stand side by side
    assert not any(name.startswith("city ") for name, _ in said if name)
    assert "since (days)" in dict(said)
    short = Schema((Column("country", "binary", ("no", "yes")), *schema.columns[1:]))
    plain = pair_plot(rows.clip(0, 1), {}, short, short.names)
    assert "rotate(-45)" not in plain
    assert float(root.get("height")) > float(ElementTree.fromstring(plain).get("height"))


def test_scales_have_round_ends_and_hold_all_values():
    for values in ([0.03, 0.71], [0.2, 0.22], [5.0, 5.0], [0.0, 0.0], [-3.0, 4.0], [], [math.nan, 1.0], [1e-9, 2e-9]):
        scale = scale_of(values, 0, 100)
        assert scale.low < scale.high
        known = [x for x in values if math.isfinite(x)]
        assert all(scale.low - 1e-9 <= x <= scale.high + 1e-9 for x in known)
        assert 2 <= len(scale.ticks()) <= 12
    assert Scale(0, 10, 100, 200)(5) == 150


def test_labels_fit_and_keep_apart():
    for name in ("short", "x" * 300, "漢字" * 50, "🦊" * 40, ""):
        assert text_width(shorten(name, 90)) <= 90 or name == ""
    places = apart([5, 5, 5, 90], 10, 0, 100)
    assert min(b - a for a, b in pairwise(sorted(places))) >= 10
    assert apart([99, 100], 10, 0, 100) == [90, 100]


def test_numbers_for_readers():
    assert number(-0.0004) == "0.000"
    assert number(-1.5, 1) == "−1.5"  # noqa: RUF001
    assert number(1.78e25) == "1.8e25"
    assert number(15590, 0) == "15,590"


def test_logarithmic_scales():
    y = log_scale_of([0.1, 1.0, math.nan, -1.0], 100, 0)
    assert (y(y.low), y(y.high), y(0.0)) == (100, pytest.approx(0), 100)
    assert y(0.1) - y(0.2) == pytest.approx(y(0.4) - y(0.8))  # the same factor, the same way
    assert y.ticks() == [0.1, 0.2, 0.5, 1.0]
    assert LogScale(0.1, 0.16, 0, 1).ticks() == [0.1, 0.15]
    assert len(LogScale(1e-9, 1e9, 0, 1).ticks()) == 19
    assert all(math.isfinite(log_scale_of(values, 0, 1)(0.5)) for values in ([], [0.5], [0.0]))
