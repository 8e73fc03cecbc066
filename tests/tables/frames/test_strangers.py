"""Files as strangers write them: every rule is told, or the option that mends it."""

import numpy as np
import pandas as pd
import pytest

from evenhand.common import ArgumentError
from evenhand.tables.frames import read_file
from evenhand.tables.schema import Schema

RNG = np.random.default_rng(0)
PRICES = [f"{price:.2f}" for price in RNG.lognormal(3, 1, 299)]


def column(tmp_path, cells, delimiter=";", **options):
    """A column of a file, what was told about it, and its place in the schema."""
    lines = [f"x{delimiter}y", *(f"{cell}{delimiter}{'ab'[i % 2]}" for i, cell in enumerate(cells))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    table = read_file(tmp_path / "t.csv", **options)
    schema = Schema.infer(table.frame, unsupported="ignore")
    return table.frame["x"], [note for note in table.conversions if "'x'" in note], schema


def test_one_word_among_numbers_is_missing(tmp_path):
    made, notes, schema = column(tmp_path, [*PRICES, "unknown"])
    assert made.isna().sum() == 1
    assert made[:299].tolist() == [float(price) for price in PRICES]
    assert notes == [
        "Column 'x' was read as numbers: 299 of 300 cells are numbers; 'unknown' is not: treated as missing."
    ]
    assert schema["x"].kind == "positive"


def test_several_words_are_counted(tmp_path):
    made, notes, _ = column(tmp_path, [*PRICES, "none", "off", "off", "sold", "gone"])
    assert made.isna().sum() == 5
    assert notes[0].endswith(
        "299 of 304 cells are numbers; 'off', 'none', 'sold' and 1 more are not: treated as missing."
    ) or notes[0].startswith("Column 'x' was read as numbers: 299 of 304 cells are numbers; 'off', ")


def test_a_few_labels_that_are_numbers_stay_text(tmp_path):
    cells = [str(i % 4) for i in range(97)] + ["X"] * 3  # one of 100, and it would be taken as missing
    made, notes, schema = column(tmp_path, cells)
    assert made.tolist() == cells
    assert notes == []
    assert schema["x"].reason == (
        "5 different texts. 97 of 100 cells are numbers: declared real, others such as 'X' count as missing."
    )
    made, notes, _ = column(tmp_path, [str(i % 4) for i in range(199)] + ["X"])
    assert made.isna().sum() == 1
    assert "199 of 200 cells are numbers; 'X' is not" in notes[0]


def test_a_third_of_words_is_pointed_out_with_what_mends_it(tmp_path):
    cells = [*map(str, RNG.integers(0, 150, 200)), *["abc"] * 100]
    made, _, schema = column(tmp_path, cells)
    assert schema["x"].kind == "categorical"
    assert schema["x"].reason.endswith(
        "200 of 300 cells are numbers: declared real, others such as 'abc' count as missing."
    )
    by_hand = Schema.infer(made.to_frame(), {"x": "real"})
    assert by_hand["x"].reason == (
        "Set to real by hand. 200 of 300 cells are numbers; 'abc' is not: treated as missing."
    )
    made, notes, _ = column(tmp_path, cells, missing=["abc"])
    assert made.dtype == "Int64"
    assert notes == ["'abc' was taken as missing in 100 cells ('x')."]
    ids = [*PRICES[:250], *["abc"] * 50]
    assert "250 of 300 cells are numbers: declared real" in column(tmp_path, ids)[2].ignored["x"]


def test_one_word_among_dates_is_missing(tmp_path):
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(99)]
    made, notes, schema = column(tmp_path, [*days, "soon"])
    assert made.dtype.kind == "M"
    assert notes == ["Column 'x' was read as dates: 99 of 100 cells are dates; 'soon' is not: treated as missing."]
    assert schema["x"].unit == "days"


@pytest.mark.parametrize(
    ("cells", "values", "told"),
    [
        (['"7,886,127"', '"1,234"', "99"], [7886127, 1234, 99], "thousands separated by ',': '7,886,127' is 7886127"),
        (["3.937.467,00", "12,5"], [3937467, 12.5], "thousands separated by '.': '3.937.467,00' is 3937467.0"),
        (["1.234.567", "89"], [1234567, 89], "thousands separated by '.': '1.234.567' is 1234567"),
        (['"1,234.50"', "7"], [1234.5, 7], "thousands separated by ',': '1,234.50' is 1234.5"),
        (["1 234 567,5", "3,5"], [1234567.5, 3.5], "thousands separated by blanks: '1 234 567,5' is 1234567.5"),
        (["1\u202f234\u202f567", "3"], [1234567, 3], "thousands separated by blanks"),
        (["1'234'567.25", "-3"], [1234567.25, -3], 'thousands separated by "\'"'),
        (["$1,234,567", "$5"], [1234567, 5], "thousands separated by ',' without '$': '$1,234,567' is 1234567"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_thousands_that_leave_no_doubt(tmp_path, cells, values, told, delimiter):
    quoted = [f'"{cell}"' if delimiter == "," and '"' not in cell else cell for cell in cells]
    made, notes, _ = column(tmp_path, quoted, delimiter)
    assert made.tolist() == values
    assert notes[0].startswith(f"Column 'x' was read as numbers with {told}")


@pytest.mark.parametrize("cells", [["0.123.456", "1"], ["1,23,456", "2"], ["1,234.567.8", "3"], ["1.2.3", "1.2.4"]])
def test_what_looks_like_thousands_and_is_not(tmp_path, cells):
    assert column(tmp_path, cells)[0].tolist() == cells


WITHOUT_NAMES = {
    "iris": "5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa\n7.0,3.2,Iris-versicolor\n",
    "numbers": "17.99,10.38,842302\n20.57,17.77,842517\n",
    "texts alone": "p,x,s\ne,x,y\np,b,s\n",
    "dates": "2024-01-01,3\n2024-01-02,5\n",
    "pixels": "5,0,0,0\n0,0,0,1\n4,0,0,0\n",
}
WITH_NAMES = {
    "years": "2019,2020,2022\n1,2,3\n4,5,6\n",
    "an index": "0,1,2\n1,2,3\n4,5,6\n",
    "a text and years": "country,2019,2020\nChile,1,2\nPeru,3,4\n",
    "texts": "a,b\nx,y\nx,z\n",
    "an index without a name": ",a\n0,5\n1,7\n",
    "a word above numbers": "5,a\n1,2\n3,4\n",
}


@pytest.mark.parametrize("case", WITHOUT_NAMES)
def test_a_file_without_names_loses_no_row(tmp_path, case):
    (tmp_path / "t.csv").write_text(WITHOUT_NAMES[case])
    table = read_file(tmp_path / "t.csv")
    assert len(table.frame) == WITHOUT_NAMES[case].count("\n")
    assert table.frame.columns.tolist() == [f"x{j + 1}" for j in range(table.frame.shape[1])]
    assert "The first line was taken as data" in table.conversions[0]
    assert "If it holds names, pass header=True, at the shell --header." in table.conversions[0]
    named = read_file(tmp_path / "t.csv", header=True)
    assert len(named.frame) == len(table.frame) - 1
    assert not any("taken as data" in note for note in named.conversions)


@pytest.mark.parametrize("case", WITH_NAMES)
def test_names_stay_names(tmp_path, case):
    (tmp_path / "t.csv").write_text(WITH_NAMES[case])
    table = read_file(tmp_path / "t.csv")
    assert len(table.frame) == 2
    assert not any("taken as data" in note for note in table.conversions)
    forced = read_file(tmp_path / "t.csv", header=False)
    assert len(forced.frame) == 3
    assert forced.frame.columns[0] == "x1"


def test_names_that_are_numbers_are_pointed_out(tmp_path):
    (tmp_path / "t.csv").write_text(WITH_NAMES["years"])
    assert "pass header=False, at the shell --no-header." in read_file(tmp_path / "t.csv").conversions[0]


def test_options_of_text_files_are_refused_for_others(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    for options in ({"header": True}, {"missing": ["x"]}):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))} should be for text files only"):
            read_file(tmp_path / "t.parquet", **options)
    with pytest.raises(ArgumentError, match="missing should be a list of words. Found 'abc'"):
        read_file(tmp_path / "t.csv", missing="abc")


def test_yes_and_no_in_capitals_or_not(tmp_path):
    made, _, schema = column(tmp_path, ["yes", "no", "Yes", "NO", "yes", "no"])
    assert made.tolist() == ["yes", "no", "Yes", "NO", "yes", "no"]  # cells stay as they are
    assert schema["x"].categories == ("no", "yes")
    assert schema["x"].reason == "Two categories, 'no' and 'yes', in capitals or not ('NO', 'Yes')."
    made, _, schema = column(tmp_path, ["red", "Red", "blue", "green"])
    assert "4 different texts. Only 3 if capitals do not count" in schema["x"].reason
