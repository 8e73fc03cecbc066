"""A text file that was filled differs from what was read in the cells that were filled, and in nothing else."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.tables.frames import read_file, write_file
from evenhand.tables.frames._numerals import notation, numbers
from evenhand.tables.frames._text_form import Dialect, TextForm

EXCEL = (
    "sep=;\r\n"
    '"Nr.";Größe ;Preis;seit;wann;ok;Art;frei\r\n'
    '1;1,5;1.234,50 €;31.01.2024;2024-01-31 12:30;TRUE;"a;b";x\r\n'
    "\r\n"
    '2;;12,00 €;NA;2024-02-01 00:00;;" q""q ";\r\n'
    "3; 2,25;?;01.02.2023;;FALSE;;NA\r\n"
)
FILLED = (
    "sep=;\r\n"
    '"Nr.";Größe ;Preis;seit;wann;ok;Art;frei\r\n'
    '1;1,5;1.234,50 €;31.01.2024;2024-01-31 12:30;TRUE;"a;b";x\r\n'
    "\r\n"
    '2;-0,5;12,00 €;24.12.2022;2024-02-01 00:00;TRUE;" q""q ";\r\n'
    '3; 2,25;100000,00 €;01.02.2023;2022-12-24 10:00:01;FALSE;"a;b";NA\r\n'
)

LEAP, LEAP_UTC, EARLY = (
    pd.Timestamp("2020-02-29"),
    pd.Timestamp("2020-02-29", tz="UTC"),
    pd.Timestamp("2020-02-29 06:00"),
)


@pytest.fixture
def store(tmp_path):
    def write(text, name="t.csv", encoding="utf-8"):
        (tmp_path / name).write_bytes(text.encode(encoding))
        return tmp_path / name

    return write


def filled(path, **cells):
    """A file read from a path, and its frame with other cells: column=(row, value)."""
    file = read_file(path)
    frame = file.frame.copy()
    for name, (row, value) in cells.items():
        frame.loc[row, name] = value
    return file, frame


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
def test_only_what_was_filled_is_new(store, tmp_path, encoding):
    path = store(EXCEL, encoding=encoding)
    file, frame = filled(
        path,
        Größe=(1, -0.5),
        Preis=(2, 1e5),
        seit=(1, pd.Timestamp("2022-12-24")),
        wann=(2, pd.Timestamp("2022-12-24 10:00:01")),
        ok=(1, True),
        Art=(2, "a;b"),
    )
    write_file(frame, tmp_path / "out.csv", like=file)
    assert (tmp_path / "out.csv").read_bytes() == FILLED.encode(encoding)
    pd.testing.assert_frame_equal(read_file(tmp_path / "out.csv").frame, frame, check_dtype=False)
    write_file(file.frame, path, like=file)
    assert path.read_bytes() == EXCEL.encode(encoding)


def test_big_endian_stays_big_endian(store, tmp_path):
    path = store("\ufeffa,b\n1,x\n,y\n", encoding="utf-16-be")
    file, frame = filled(path, a=(1, 7))
    write_file(frame, tmp_path / "out.csv", like=file)
    assert (tmp_path / "out.csv").read_bytes().decode("utf-16-be") == "\ufeffa,b\n1,x\n7,y\n"


@pytest.mark.parametrize(
    ("cells", "value", "expected"),
    [
        (["1", "2", "30"], 7, "7"),
        (["1.50", "20.25"], 3.0, "3.00"),
        (["1.50", "20.25"], 0.125, "0.125"),
        (["1.5", "20.25"], 3.0, "3.0"),
        (["1", "2.5"], -3.0, "-3.0"),
        (["1e-3", "2.5"], 1e-30, "1e-30"),
        (["$1.50", "$2.25"], -3.5, "-$3.50"),
        (["€ 1", "€ 2"], 5, "€ 5"),
        (["15 %", "2 %"], 5, "5 %"),
        (["15%", "-2.5%"], 1e-7, "1e-07%"),
        (["1'234.5", "7"], 1e6, "1000000.0"),
        (["1'234.5", "7"], 1e-7, "0.0000001"),
        (["1 234 567", "7"], 12345, "12345"),
        (["true", "false"], False, "false"),
        (["False", "True"], True, "True"),
        (["2024-01-31", "2023-12-01"], LEAP, "2020-02-29"),
        (["2024-01-31", "2023-12-01"], EARLY, "2020-02-29T06:00:00"),
        (["2024-01-31T12:30:00Z", "2023-12-01T12:30:00Z"], LEAP_UTC, "2020-02-29T00:00:00Z"),
        (["2024-01-31 12:30+02:00", "2023-12-01 12:30+02:00"], LEAP_UTC, "2020-02-29 00:00:00+00:00"),
        (["01/31/2024", "12/01/2023"], LEAP, "02/29/2020"),
        (["31.1.2024 12:30", "1.12.2023 09:00"], EARLY, "29.02.2020 06:00:00"),
        (["south", "north"], "north", "north"),
        (["south", "north"], 'a "north"', '"a ""north"""'),
        (["00123", "00456"], "00123", "00123"),
    ],
)  # fmt: skip
def test_new_cells_are_spelled_like_others(store, tmp_path, cells, value, expected):
    lines = [f"{cell}|{i}.5" for i, cell in enumerate([*cells, "NA"])]
    path = store("\n".join(["x|y", *lines]))
    file, frame = filled(path, x=(len(cells), value))
    write_file(frame, tmp_path / "out.csv", like=file)
    assert (tmp_path / "out.csv").read_text() == "\n".join(["x|y", *lines[:-1], f"{expected}|{len(cells)}.5"])
    pd.testing.assert_frame_equal(read_file(tmp_path / "out.csv").frame, frame, check_dtype=False)


def test_a_column_without_decimals_gets_those_of_the_file(store, tmp_path):
    path = store("whole;empty;day;size\n5;;;1,5\n;;;2,25\n7;;;3,5\n")
    file = read_file(path)
    frame = file.frame.assign(whole=[5, 6.881, 7], empty=[0.5, 1.5, 2.0], day=pd.Timestamp("2024-01-31"))
    write_file(frame, tmp_path / "out.csv", like=file)
    lines = ["5;0,5;2024-01-31 00:00:00;1,5", "6,881;1,5;2024-01-31 00:00:00;2,25", "7;2,0;2024-01-31 00:00:00;3,5"]
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == lines
    pd.testing.assert_frame_equal(read_file(tmp_path / "out.csv").frame, frame, check_dtype=False)
    file, frame = filled(store("whole;size\n5;1.5\n;2.25\n"), whole=(1, 6))
    write_file(frame.assign(whole=[5, 6.5]), tmp_path / "out.csv", like=file)  # no comma in all of it
    assert (tmp_path / "out.csv").read_text() == "whole;size\n5;1.5\n6.5;2.25\n"


def test_a_hole_in_quotes_is_filled_in_quotes_and_cells_of_several_lines_stay(store, tmp_path):
    path = store('"a","b","c"\n"1","x\ny",""\n"","z","w"')
    file, frame = filled(path, a=(1, 2), c=(0, "w"))
    write_file(frame, tmp_path / "out.csv", like=file)
    assert (tmp_path / "out.csv").read_text() == '"a","b","c"\n"1","x\ny","w"\n"2","z","w"'


def test_quotes_after_blanks(store, tmp_path):
    text = 'city, size, pop\n"Bonn", "small, old", "1.5"\n"Köln", "NA", 2.5\n"Ulm", "new", NA\n'
    file, frame = filled(store(text), size=(1, "small, old"), pop=(2, 0.5))
    assert file.frame["size"].tolist()[0] == "small, old"
    assert file.frame["pop"].tolist()[:2] == [1.5, 2.5]
    assert file.conversions[0] == "Blanks before cells, some of them in quotes, were skipped."
    write_file(frame, tmp_path / "out.csv", like=file)
    expected = text.replace('"NA"', '"small, old"').replace("NA", "0.5")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == expected


def test_quotes_after_blanks_inside_of_texts_stay(store):
    file = read_file(store('a,b\n1, "so" he said\n2,"x, ""y"""\n'))
    assert file.frame["b"].tolist() == ['"so" he said', 'x, "y"']
    assert "Blanks before cells" not in " ".join(file.conversions)


def test_a_file_without_names_stays_one(store, tmp_path):
    file, frame = filled(store("1,2.5\n3,\n5,1.5\n"), x2=(1, 0.5))
    write_file(frame, tmp_path / "out.csv", like=file)
    assert (tmp_path / "out.csv").read_text() == "1,2.5\n3,0.5\n5,1.5\n"


def test_words_that_were_taken_as_missing_are_filled_and_others_are_replaced(store, tmp_path):
    lines = [f"{i}.5,u" for i in range(40)]
    file, frame = filled(store("\n".join(["a,b", *lines, "unknown,v", ""])), a=(40, 1.25), b=(40, "u"))
    write_file(frame, tmp_path / "out.csv", like=file)
    assert (tmp_path / "out.csv").read_text() == "\n".join(["a,b", *lines, "1.25,u", ""])


def test_a_cell_that_went_missing_stays_as_it_was(store, tmp_path):
    file = read_file(store("a,b\n1,x\n2,y\n"))
    write_file(file.frame.assign(b=[None, "y"]), tmp_path / "out.csv", like=file)
    assert (tmp_path / "out.csv").read_text() == "a,b\n1,x\n2,y\n"


def test_a_letter_that_the_file_cannot_hold(store, tmp_path):
    path = store("a;b\n1;ä\n2;\n", encoding="cp1252")
    file, frame = filled(path, b=(1, "λ"))
    write_file(frame, tmp_path / "out.csv", like=file)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8-sig") == "a;b\n1;ä\n2;λ\n"
    pd.testing.assert_frame_equal(read_file(tmp_path / "out.csv").frame, frame)


def test_packed_files_and_other_formats(store, tmp_path):
    file, frame = filled(store("a;b\n1;x\n2;\n"), b=(1, "y"))
    write_file(frame, tmp_path / "out.txt.gz", like=file)
    assert gzip.decompress((tmp_path / "out.txt.gz").read_bytes()) == b"a;b\n1;x\n2;y\n"
    write_file(frame, tmp_path / "out.tsv", like=file)  # a .tsv has tabs
    assert (tmp_path / "out.tsv").read_text() == "a\tb\n1\tx\n2\ty\n"
    write_file(frame, tmp_path / "out.parquet", like=file)
    assert read_file(tmp_path / "out.parquet").form is None
    write_file(frame, tmp_path / "again.csv", like=read_file(tmp_path / "out.parquet"))
    assert (tmp_path / "again.csv").read_text() == "a,b\n1,x\n2,y\n"


def test_a_frame_of_other_rows_or_columns_is_refused(store, tmp_path):
    file = read_file(store("a,b\n1,x\n2,y\n"))
    for other in (file.frame[:1], file.frame[["b", "a"]], file.frame.assign(c=1)):
        with pytest.raises(ValueError, match="like should have the columns and rows of frame, .* Found 2 and 2, or"):
            write_file(other, tmp_path / "out.csv", like=file)
    assert not (tmp_path / "out.csv").exists()


CELL = st.text(st.sampled_from("ab \";,\t\n\r|'1.äλ"), max_size=4)


@given(
    cells=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=6),
    delimiter=st.sampled_from(",;\t|"),
    newline=st.sampled_from(["\n", "\r\n"]),
    quoted=st.booleans(),
    new=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), CELL), max_size=5),
)
def test_any_cell_can_be_put_into_any_file(cells, delimiter, newline, quoted, new):
    def written(cell):
        needed = any(letter in cell for letter in (delimiter, '"', "\r", "\n"))
        return '"' + cell.replace('"', '""') + '"' if quoted or needed else cell

    names = ["p", "q", "r"]
    text = "".join(delimiter.join(map(written, row)) + newline for row in [names, *cells])
    form = TextForm(text, 0, "utf-8", Dialect(delimiter), named=True)
    places = {(i % len(cells), j): text for i, j, text in new}
    by_row: dict[int, dict[int, str]] = {}
    for (i, j), text in places.items():
        by_row.setdefault(i, {})[j] = text
    result = form.with_cells(by_row).decode()
    expected = [[places.get((i, j), cell) for j, cell in enumerate(row)] for i, row in enumerate(cells)]
    assert list(csv.reader(io.StringIO(result, newline=""), delimiter=delimiter)) == [names, *expected]
    if not places:
        assert result == form.text


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 2)), min_size=2, max_size=6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["{}", "${}", "{} €", "{}%", "£ {}"]),
    st.booleans(),
)
def test_a_number_is_read_again_as_it_was_spelled(seen, value, frame, comma):
    def cell(x):
        text = frame.format(f"{abs(x):.2f}")
        return ("-" if x < 0 else "") + (text.replace(".", ",") if comma else text)

    texts = pd.Series([cell(x) for x in seen])
    spelled = notation(texts, comma, comma).spell(np.float64(value))
    made, _ = numbers(pd.concat([texts, pd.Series([spelled])], ignore_index=True), comma, comma)
    assert made.tolist() == [*(abs(x) * (-1 if x < 0 else 1) for x in seen), value]
