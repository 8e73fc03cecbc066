import bz2
import csv
import gzip
import lzma
import sys
import zipfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenhand.common import ArgumentError
from evenhand.tables.frames import file_format, read_file, write_file


def read(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    table = read_file(path)
    return table.frame, table.conversions


def column(tmp_path, *cells, name="table.csv", delimiter=","):
    """A column read from a file where another stands beside it."""
    frame, notes = read(
        tmp_path, "\n".join(f"{a}{delimiter}{b}" for a, b in [("x", "y"), *((c, "a") for c in cells)]), name
    )
    return frame["x"], notes


def test_an_ordinary_file(tmp_path):
    frame, notes = read(tmp_path, 'a,b,c,d\n1,1.5,"x, ""y""",2\n-2,,z,\n')
    expected = pd.DataFrame(
        {"a": [1, -2], "b": [1.5, np.nan], "c": ['x, "y"', "z"], "d": pd.array([2, None], "Int64")}
    )
    pd.testing.assert_frame_equal(frame, expected)
    assert notes == []


@pytest.mark.parametrize(
    ("name", "delimiter", "told"),
    [
        ("t.csv", ",", []),
        ("t.CSV", ";", ["Cells are separated by ';'."]),
        ("t.csv", "\t", ["Cells are separated by tabs."]),
        ("t.tsv", "\t", []),
        ("t.txt", ",", ["Cells are separated by ','."]),
        ("t.txt", "|", ["Cells are separated by '|'."]),
    ],
)
def test_delimiters(tmp_path, name, delimiter, told):
    frame, notes = read(tmp_path, f"a{delimiter}b\n1{delimiter}x y\n\n2{delimiter}z\n", name)
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x y", "z"]}
    assert notes == told


def test_the_delimiter_is_the_one_that_fits_all_lines(tmp_path):
    frame, _ = read(tmp_path, 'a;b;c,d\n1,2\n"3, 4",5\n')
    assert frame.columns.tolist() == ["a;b;c", "d"]
    frame, _ = read(tmp_path, "price, EUR;name\n1,5;x\n2,5;y, z\n")
    assert frame.columns.tolist() == ["price, EUR", "name"]
    assert frame["price, EUR"].tolist() == [1.5, 2.5]


def test_line_ends_and_cells_of_several_lines(tmp_path):
    for end in ("\n", "\r\n", "\r"):
        frame, _ = read(tmp_path, end.join(["a,b", '1,"x\ny"', "", "2,z", " ", ""]))
        assert frame.to_dict("list") == {"a": [1, 2], "b": ["x\ny", "z"]}


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", []),
        ("utf-8-sig", []),
        ("cp1252", ["The file is not UTF-8: it was read as Latin-1. Check letters with accents."]),
        ("utf-16", ["The file was read as UTF-16."]),
    ],
)
def test_encodings(tmp_path, encoding, told):
    frame, notes = read(tmp_path, "größe,b\né€,1\n".encode(encoding))
    assert frame.to_dict("list") == {"größe": ["é€"], "b": [1]}
    assert notes == told


def test_latin_letters_that_windows_lacks(tmp_path):
    frame, notes = read(tmp_path, b"a,b\n\xe9\x81,1\n")
    assert frame["a"].tolist() == ["é\x81"]
    assert len(notes) == 1


MARKERS = ["NA", "N/A", "NaN", "null", "None", "?", "-", "."]


@pytest.mark.parametrize("marker", MARKERS)
def test_markers_of_missing_cells(tmp_path, marker):
    for cells, expected in ((("1", "2"), [1, 2]), (("u", "v"), ["u", "v"])):
        made, notes = column(tmp_path, cells[0], marker, f" {marker}", "", cells[1])
        assert made.isna().tolist() == [False, True, True, True, False]
        assert made.dropna().tolist() == expected
        assert notes == [
            "Blanks around 1 cell ('x') were stripped.",
            f"{marker!r} was taken as missing in 2 cells ('x').",
        ]


def test_what_is_no_marker(tmp_path):
    made, notes = column(tmp_path, "+", "-", "+")  # a minus beside a plus
    assert made.tolist() == ["+", "-", "+"]
    assert notes == []
    assert column(tmp_path, "none", "some")[0].tolist() == ["none", "some"]


def test_many_columns_are_counted(tmp_path):
    _, notes = read(tmp_path, "a,b,c,d,e,f,g\n?,?,?,?,?,?,1\n")
    assert notes == ["'?' was taken as missing in 6 cells ('a', 'b', 'c', 'd', 'e' and 1 more)."]


@pytest.mark.parametrize(
    ("cells", "values", "dtype"),
    [
        (["1", "+2", "-3"], [1, 2, -3], "int64"),
        (["0", "1", ""], [0, 1, pd.NA], "Int64"),
        (["1", "2.", ".5"], [1, 2, 0.5], "float64"),
        (["1e3", "-1.5E-2"], [1000, -0.015], "float64"),
        (["inf", "-Infinity", "1"], [np.inf, -np.inf, 1], "float64"),
        (["9007199254740991", "1"], [2**53 - 1, 1], "int64"),
        (["0.5", "00.5"], [0.5, 0.5], "float64"),
    ],
)
def test_numbers(tmp_path, cells, values, dtype):
    made, notes = column(tmp_path, *cells)
    pd.testing.assert_series_equal(made, pd.Series(values, dtype=dtype, name="x"))
    assert notes == []


@pytest.mark.parametrize(
    ("cells", "values", "note"),
    [
        (["1,5", "-2", "3,25"], [1.5, -2, 3.25], "numbers with a decimal comma"),
        (["1,5 €", "2 €"], [1.5, 2], "numbers with a decimal comma without '€': '1,5 €' is 1.5"),
    ],
)
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas(tmp_path, cells, values, note, delimiter):
    made, notes = column(tmp_path, *cells, delimiter=delimiter)
    assert made.tolist() == values
    assert notes[1] == f"Column 'x' was read as {note}."


@pytest.mark.parametrize(
    ("cells", "values", "sign", "example"),
    [
        (["12 %", "3%", ""], [12, 3, pd.NA], "%", "'12 %' is 12"),
        (["$3.50", "-$1", "$-2"], [3.5, -1, -2], "$", "'$3.50' is 3.5"),
        (["3.5 €", "1\u00a0€"], [3.5, 1], "€", "'3.5 €' is 3.5"),
        (["£ 007", "£1"], [7, 1], "£", "'£ 007' is 7"),
    ],
)
def test_signs(tmp_path, cells, values, sign, example):
    made, notes = column(tmp_path, *cells)
    assert made.tolist() == values
    assert notes == [f"Column 'x' was read as numbers without {sign!r}: {example}."]


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (["01234", "99999"], "its numbers are written like codes, with zeros in front, as in '01234'"),
        (
            ["12345678901234567890", "1"],
            "its whole numbers reach 2**53, as those of ids do, and '12345678901234567890' is",
        ),
        (['"1,234"', "999"], "whether '1,234' has a decimal sign or separates thousands cannot be told; write"),
        (
            ['"$1,234"', "$999"],
            "whether '1,234' has a decimal sign or separates thousands cannot be told; write",
        ),
        (
            ['"1,5"', "2"],
            "whether '1,5' has a decimal sign or separates thousands cannot be told; write numbers like",
        ),
        (["1 234", "999"], "whether '1 234' has a decimal sign or separates thousands cannot be told; write"),
        (["2024-02-30", "2024-01-01"], "it looks like dates, but '2024-02-30' is none"),
        (["31.02.2024", "01.01.2024"], "it looks like dates, but '31.02.2024' is none"),
        (["2024-01-01 10:00", "2024-01-01 10:00Z"], "some of its times have a time zone and others have none"),
        (
            ["01/02/2024", "12/12/2024"],
            "which number is the day in dates such as '01/02/2024' cannot be told, either can",
        ),
        (
            ["13/02/2024", "02/13/2024"],
            "which number is the day in dates such as '13/02/2024' cannot be told, both are",
        ),
    ],
)
def test_what_stays_text_and_why(tmp_path, cells, note):
    made, notes = column(tmp_path, *cells)
    assert made.tolist() == [cell.strip('"') for cell in cells]
    assert len(notes) == 1
    assert notes[0].startswith(f"Column 'x' stays text: {note}")


def test_points_of_thousands_beside_decimal_commas(tmp_path):
    frame, notes = read(tmp_path, "x;y;z;u\n1.234;1,5;1.234,5;1.5\n999;2;7;2\n")
    assert frame["x"].tolist() == ["1.234", "999"]
    assert frame["z"].tolist() == [1234.5, 7]  # a point and a comma leave no doubt
    assert frame["u"].tolist() == [1.5, 2]
    assert [note.partition(":")[0] for note in notes[1:]] == [
        "Column 'x' stays text",
        "Column 'y' was read as numbers with a decimal comma.",
        "Column 'z' was read as numbers with thousands separated by '.'",
    ]
    assert read(tmp_path, "x;y\n1.234;1\n")[0]["x"].tolist() == [1.234]  # nothing here has a decimal comma


@pytest.mark.parametrize(
    "cells", [["a", "1"], ["1 2", "3"], ["$1", "€2"], ["12 % off", "3 %"], ["1,5", "x"], ["$", "%"]]
)
def test_other_text_stays_text(tmp_path, cells):
    made, notes = column(tmp_path, *cells, delimiter=";")
    assert made.tolist() == cells
    assert len(notes) == 1  # the delimiter


@pytest.mark.parametrize(
    ("cells", "values", "note"),
    [
        (["2024-01-31", "?", "2023-12-01"], ["2024-01-31", None, "2023-12-01"], "dates"),
        (
            ["2024-01-31 12:30", "2024-01-31T12:30:01.5"],
            ["2024-01-31 12:30", "2024-01-31 12:30:01.5"],
            "dates and times",
        ),
        (["31.1.2024", "01.02.2024"], ["2024-01-31", "2024-02-01"], "dates, day first, as in '31.1.2024'"),
        (["01/31/2024 10:30", "02/01/2024"], ["2024-01-31 10:30", "2024-02-01"], "dates, month first, as in"),
        (
            ["31-01-2024 10:30:05", "01-02-2024 10:30"],
            ["2024-01-31 10:30:05", "2024-02-01 10:30"],
            "dates, day first",
        ),
    ],
)
def test_dates(tmp_path, cells, values, note):
    made, notes = column(tmp_path, *cells)
    assert made.tolist() == pd.Series([pd.Timestamp(v) for v in values]).tolist() or made.isna().sum() == 1
    assert made.dropna().tolist() == [pd.Timestamp(v) for v in values if v]
    assert notes[-1].startswith(f"Column 'x' was read as {note}")


def test_times_with_a_zone(tmp_path):
    made, notes = column(tmp_path, "2024-01-31T12:30:00Z", "2024-01-31 12:30+02:00", "2024-01-31 12:30-0500")
    assert [str(v) for v in made] == [f"2024-01-31 {hour}:30:00+00:00" for hour in (12, 10, 17)]
    assert notes == ["Column 'x' was read as dates and times, in UTC."]


def test_booleans(tmp_path):
    made, notes = column(tmp_path, "true", "False", "TRUE")
    assert made.tolist() == [True, False, True]
    assert made.dtype == bool
    assert notes == ["Column 'x' was read as true or false."]
    made, _ = column(tmp_path, "true", "NA")
    assert made.tolist() == [True, pd.NA]
    for words in (["yes", "no"], ["true", "no"]):
        made, notes = column(tmp_path, *words)
        assert made.tolist() == words
        assert notes == []


def test_blanks_are_stripped(tmp_path):
    frame, notes = read(tmp_path, "a , b\n x, 1\ny, 2\n")
    assert frame.to_dict("list") == {"a": ["x", "y"], "b": [1, 2]}
    assert notes == [
        "Blanks around names of columns were stripped.",
        "Blanks around 3 cells ('a', 'b') were stripped.",
    ]


def test_names_are_mended(tmp_path):
    frame, notes = read(tmp_path, "a,,a,a_2,a,column_2\n1,2,3,4,5,6\n")
    assert frame.columns.tolist() == ["a", "column_2_2", "a_3", "a_2", "a_4", "column_2"]
    assert frame.iloc[0].tolist() == [1, 2, 3, 4, 5, 6]
    assert notes == [
        "Column 2 has no name: it was named 'column_2_2'.",
        "Column 3 is called 'a' like one before: it was named 'a_3'.",
        "Column 5 is called 'a' like one before: it was named 'a_4'.",
    ]


def test_a_first_line_of_numbers_is_told(tmp_path):
    assert "The first line was taken as data" in read(tmp_path, "1.5,2\n3,4\n")[1][0]
    assert "If the first line holds data" in read(tmp_path, "1,2\n3,4\n")[1][0]
    assert read(tmp_path, "a,2\n3,4\n")[1] == []


PACK = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}


def test_packed_files(tmp_path):
    for packing, pack in PACK.items():
        frame, notes = read(tmp_path, pack(b"a,b\n1,2\n"), f"t.csv.{packing}")
        assert frame.to_dict("list") == {"a": [1], "b": [2]}
        assert notes == []
    with zipfile.ZipFile(tmp_path / "t.tsv.zip", "w") as archive:
        archive.writestr("t.tsv", "a\tb\n1\t2\n")
        archive.writestr("__MACOSX/t.tsv", "")
    assert read_file(tmp_path / "t.tsv.zip").frame.to_dict("list") == {"a": [1], "b": [2]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "should hold a table. Found an empty file"),
        ("t.csv", b" \n\n", "should hold a table. Found blank lines only"),
        ("t.csv", b"a,b\n\n", "should have rows. Found the names of 2 columns only"),
        ("t.csv", b"a b\n1 2\n", "should have at least two columns. Found one, 'a b'. Separate the cells"),
        ("t.csv", b"a,b\n1,2\n\n3\n", "should have 2 cells in every line, as in the first. Found 1 in line 4"),
        ("t.csv", b'a,b\n1,"x\ny"\n3,4,5\n', "Found 3 in line 4. Put cells that hold ',' in quotes"),
        (
            "t.csv",
            b'a,b\n1,2\n3,"x\n4,5\n',
            "should close every quote before the next cell. Found otherwise in line 3",
        ),
        ("t.csv", b'"a,b\n1,2\n', "should close every quote before the next cell. Found otherwise in line 1"),
        ("t.csv", b'a,b\n1,"5" screw"\n', "Found otherwise in line 2. Write quotes inside of cells twice"),
        ("t.csv", b'a,b\n1,2\n3,"x' + b"\n4,5" * 50_000, "Found otherwise in line 3"),
        ("t.csv", b"PK\x03\x04\0\0", "should be text. Found bytes that no text has"),
        ("t.xlsx", b"PK", r"path should end in .csv, .*Found 't.xlsx'. Save the table as CSV first"),
        ("t.parquet.gz", b"PK", "path should end in .*Found 't.parquet.gz'. Rename it"),
        ("t", b"a,b\n1,2", "path should end in .*Found 't'. Rename it"),
        ("t.csv.gz", b"a,b\n1,2", "should be packed as .gz. Found a damaged file"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2" * 99, mtime=0)[:-20], "should be packed as .gz. Found a damaged file"),
        ("t.csv.zip", b"a,b\n1,2", "should be packed as .zip. Found a damaged file"),
        ("t.csv.xz", b"a,b\n1,2", "should be packed as .xz. Found a damaged file"),
        ("t.csv.bz2", b"a,b\n1,2", "should be packed as .bz2. Found a damaged file"),
        ("t.parquet", b"PAR1 and nothing", "should be a Parquet file. Found one that is damaged or something else"),
        ("t.feather", b"a,b\n1,2", "should be a Feather file. Found one that is damaged or something else"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content, name)


def test_paths_that_cannot_be_read(tmp_path):
    (tmp_path / "customers.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileNotFoundError, match=r"Found none at .*custmers.csv. Did you mean 'customers.csv'\?"):
        read_file(tmp_path / "custmers.csv")
    with pytest.raises(FileNotFoundError, match="Check the name and the folder"):
        read_file(tmp_path / "nowhere" / "x.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match=r"path should be a file. Found the folder"):
        read_file(str(tmp_path / "folder.csv"))
    with zipfile.ZipFile(tmp_path / "two.csv.zip", "w") as archive:
        archive.writestr("a.csv", "a,b")
        archive.writestr("b.csv", "a,b")
    with pytest.raises(ValueError, match="should hold one file. Found 2. Unpack it"):
        read_file(tmp_path / "two.csv.zip")
    write_file(pd.DataFrame({"a": []}), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="should have rows"):
        read_file(tmp_path / "empty.parquet")


@pytest.mark.parametrize(
    ("name", "module"), [("t.csv", "pandas"), ("t.parquet", "pyarrow"), ("t.feather", "pyarrow")]
)
def test_missing_packages_are_named(tmp_path, monkeypatch, name, module):
    write_file(pd.DataFrame({"a": [1], "b": [2]}), tmp_path / name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"files need {module}: pip install 'evenhand\[data\]'"):
        read_file(tmp_path / name)


FRAME = pd.DataFrame(
    {
        "whole": [1, -2, 3],
        "holes": pd.array([1, None, 3], dtype="Int64"),
        "real": [0.1, np.nan, 1e-300],
        "text": pd.Series(["a, b", None, 'ü "\n'[:3]], dtype="str"),
        "flag": [True, False, True],
        "maybe": pd.array([True, None, False], dtype="boolean"),
        "day": pd.to_datetime(pd.Series(["2024-01-31", None, "2023-05-01"])),
        "moment": pd.to_datetime(pd.Series(["2024-01-31 12:30:00.000001", None, "2023-05-01"]), format="ISO8601"),
        "zoned": pd.to_datetime(pd.Series(["2024-01-31 12:30", None, "2023-05-01"]), format="ISO8601", utc=True),
    }
)
ENDINGS = ["csv", "tsv", "txt", "csv.gz", "csv.xz", "csv.bz2", "csv.zip", "tsv.gz", "parquet", "feather"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(tmp_path, ending):
    write_file(FRAME.set_index(pd.Index([5, 6, 7])), tmp_path / f"t.{ending}")
    table = read_file(tmp_path / f"t.{ending}")
    pd.testing.assert_frame_equal(table.frame, FRAME)
    assert [p.name for p in tmp_path.iterdir()] == [f"t.{ending}"]
    if ending in ("parquet", "feather"):
        assert table.conversions == []


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1), st.integers(-(2**53) + 1, 2**53 - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_are_kept_to_the_bit(tmp_path, reals, whole):
    frame = pd.DataFrame({"x": [0.5, *reals], "n": whole})
    write_file(frame, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(read_file(tmp_path / "t.csv").frame, frame, check_exact=True)


def test_types_that_only_some_formats_have(tmp_path):
    frame = pd.DataFrame(
        {"c": pd.Categorical(["u", "v"], ["v", "u", "w"], ordered=True), "d": pd.to_timedelta([1, 2], "D")}
    )
    for ending in ("parquet", "feather"):
        write_file(frame, tmp_path / f"t.{ending}")
        pd.testing.assert_frame_equal(read_file(tmp_path / f"t.{ending}").frame, frame, check_dtype=False)
        assert read_file(tmp_path / f"t.{ending}").frame["c"].cat.ordered


def test_dates_are_written_as_iso(tmp_path):
    write_file(FRAME[["day", "moment", "zoned"]], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == (
        "2024-01-31,2024-01-31 12:30:00.000001,2024-01-31 12:30:00+00:00"
    )


def test_parquet_from_elsewhere(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"n": [2**60, 1], "d": [Decimal("1.5"), None], "t": ["NA", " x"]})
    frame.to_parquet(path)
    table = read_file(path)
    assert table.frame["n"].tolist() == [str(2**60), "1"]
    assert table.frame["d"].tolist()[0] == 1.5
    assert table.frame["t"].tolist() == ["NA", " x"]  # meant as it is
    assert table.conversions == [
        "Column 'n' was made text: its whole numbers reach 2**53, as those of ids do.",
        "Column 'd' was made floating point: it held decimals.",
    ]
    frame[["t"]].set_index(pd.Index([3, 4], name="year")).to_parquet(path)
    table = read_file(path)
    assert table.frame["year"].tolist() == [3, 4]
    assert table.conversions == ["The index of the rows was made a column ('year')."]
    frame[["t"]].set_index(pd.Index([3, 4])).to_parquet(path)
    table = read_file(path)
    assert table.frame.to_dict("list") == {"t": ["NA", " x"]}
    assert table.frame.index.tolist() == [0, 1]
    assert table.conversions == ["The index of the rows, which has no name of its own, was left out."]


@pytest.mark.parametrize(
    ("cells", "dtype", "text"),
    [
        ([1, 999], "uint64", False),
        ([1, 2**53 - 1], "uint64", False),
        ([0, 2**64 - 1], "uint64", True),
        ([-128, 127], "int8", False),
        ([-(2**63), 0], "int64", True),
        ([-(2**53), 0], "int64", True),
        ([1 - 2**53, 2**53 - 1], "int64", False),
        ([2**53, None], "Int64", True),
        ([None, None], "Int64", False),
        ([None, 3], "UInt64", False),
    ],
)
def test_whole_numbers_of_all_types(tmp_path, cells, dtype, text):
    written = pd.DataFrame({"n": pd.Series(cells, dtype=dtype), "t": "a"})
    written.to_parquet(tmp_path / "t.parquet")
    table = read_file(tmp_path / "t.parquet")
    assert bool(table.conversions) == text
    if not text:
        pd.testing.assert_frame_equal(table.frame, written)
    else:
        assert table.frame["n"].dropna().tolist() == [str(c) for c in cells if c is not None]


def test_names_that_are_numbers(tmp_path):
    frame = pd.DataFrame({0: [2**60, 1], 1: ["a", "b"]}, index=pd.Index([3, 4], name="2"))
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_file(tmp_path / "t.parquet")
    assert table.frame.to_dict("list") == {"2": [3, 4], "0": [str(2**60), "1"], "1": ["a", "b"]}
    assert table.conversions[0] == "The index of the rows was made a column ('2')."


def test_long_cells(tmp_path):
    limit, long = csv.field_size_limit(), "x" * 200_000
    frame, notes = read(tmp_path, f'a,b\n{long},1\n"{long}",2\n')
    assert frame.to_dict("list") == {"a": [long, long], "b": [1, 2]}
    assert notes == []
    with pytest.raises(ValueError, match="line 2"):
        read(tmp_path, f'a,b\n"{long},1\n')
    assert csv.field_size_limit() == limit


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    write_file(FRAME, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"distinct names. Found '1' twice; rename one"):
        write_file(pd.DataFrame([[1, 2]], columns=["1", 1]), path)
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            write_file(FRAME[:1], path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
    with pytest.raises(FileNotFoundError, match="in a folder that exists. Found none at .*nowhere. Make it first"):
        write_file(FRAME, tmp_path / "nowhere" / "t.csv")
    with pytest.raises(ValueError, match="path should end in .*Found 't.json'"):
        write_file(FRAME, tmp_path / "t.json")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(ValueError, match="Add the name of a file"):
        write_file(FRAME, tmp_path / "d.csv")


def test_an_ending_can_be_told_of_another_argument():
    with pytest.raises(ArgumentError) as caught:
        file_format(Path("t.xlsx"))
    assert caught.value.advice == "Save the table as CSV first."
    words = str(caught.value.about("--out").advised("Rename it."))
    assert words.startswith("--out should end in .csv")
    assert words.endswith("Found 't.xlsx'. Rename it.")


@pytest.mark.parametrize("line", ["sep=;\n", "sep=;\r\n", '"sep=;"\n', "SEP=;\n", "\ufeffsep=;\n"])
def test_a_first_line_that_says_the_delimiter(tmp_path, line):
    """Excel writes it, and reads its own files by it."""
    frame, notes = read(tmp_path, f"{line}name;size\na;1,5\nb;2,5\n")
    assert list(frame.columns) == ["name", "size"]
    assert frame["size"].tolist() == [1.5, 2.5]
    assert "Cells are separated by ';'." in notes


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_frames_of_other_libraries_are_written(make, tmp_path):
    frame = make({"a": [1, 2], "b": ["x", None]})
    write_file(frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a,b\n1,x\n2,\n"
    with pytest.raises(ValueError, match="frame should be a DataFrame. Found list"):
        write_file([1, 2], tmp_path / "t.csv")


@pytest.mark.parametrize("line", ["\f", "\u00a0"])
def test_a_line_of_odd_blanks_is_named(line, tmp_path):
    (tmp_path / "t.csv").write_text(f"a,b\n1,x\n{line}\n2,y\n", encoding="utf-8")
    with pytest.raises(ValueError, match="should have 2 cells in every line, as in the first. Found 1 in line 3"):
        read_file(tmp_path / "t.csv")
