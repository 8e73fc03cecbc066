"""Text files with a delimiter: the encoding, the delimiter and the names found, every line checked."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from ._header import are_numbers, is_data
from ._text_cells import convert
from ._text_form import MARK, Dialect, TextForm, cells_of_any_length, is_record

WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}  # by the mark at the beginning
SAID = re.compile(r'\A"?sep=([^"\r\n])"?[ \t]*(?:\r\n|\r|\n)', re.IGNORECASE)  # a first line that says the delimiter
N_SNIFFED, SNIFFED = 200, 2_000_000  # records by which the delimiter is chosen, and characters in which they stand


def read_delimited(
    content: bytes, path: str, delimiters: str, *, told: bool, header: bool | None = None, missing: Sequence[str] = ()
) -> tuple[Any, list[str], TextForm]:
    """Read the bytes of a text file.

    Args:
        content: The bytes.
        path: What the file is called in messages.
        delimiters: What may stand between two cells, the usual one first.
        told: Whether the delimiter is worth a sentence even if it is the usual one.
        header: Whether the first line holds names; None finds out.
        missing: Words that stand for missing cells, beside the usual ones.

    Returns:
        A pandas frame, what was done, in sentences, and the file as it stands.
    """
    whole, encoding, notes = _decoded(content, path)
    text = whole.removeprefix(MARK)
    if (said := SAID.match(text)) is not None:  # by Excel, to itself
        text, delimiters, told = text[said.end() :], said.group(1), True
    with cells_of_any_length(text):
        dialect = _dialect(text[:SNIFFED], delimiters)
        first, n_rows = _checked(text, path, dialect)
    if told or dialect.delimiter != delimiters[0]:
        notes.append(f"Cells are separated by {_spoken(dialect.delimiter)}.")
    if dialect.skips_blanks:
        notes.append("Blanks before cells, some of them in quotes, were skipped.")
    names, renamed = _mended(first)
    named, frame = True, texts_of(text, dialect, names, header=0)
    if header is False or (header is None and n_rows and is_data(first, frame)):
        named, names, n_rows = False, [f"x{j + 1}" for j in range(len(first))], n_rows + 1
        frame, renamed = texts_of(text, dialect, names, header=None), [_unnamed(names, found=header is None)]
    elif header is None and are_numbers(names):
        renamed.append(
            "Most names of columns are numbers. If the first line holds data, pass header=False, at the shell "
            "--no-header."
        )
    if len(frame) != n_rows:
        raise ValueError(f"{path} should have {n_rows} rows. Found {len(frame)} at a second look. Check its quotes.")
    commas = dialect.delimiter != ","
    frame, converted = convert(frame, decimal_comma=commas, missing=missing) if n_rows else (frame, [])
    form = TextForm(whole, len(whole) - len(text), encoding, dialect, named)
    return frame, [*notes, *renamed, *converted], form


def texts_of(text: str, dialect: Dialect, names: list[str], header: int | None) -> Any:
    """All cells as text."""
    import pandas

    return pandas.read_csv(
        io.StringIO(text, newline=""),
        sep=dialect.delimiter,
        skipinitialspace=dialect.skips_blanks,
        names=names,
        header=header,
        index_col=False,
        dtype=str,
        na_filter=False,
    )


def _unnamed(names: list[str], *, found: bool) -> str:
    why = ", as every cell of it fits those below" if found else ""
    advice = " If it holds names, pass header=True, at the shell --header." if found else ""
    return f"The first line was taken as data{why}: columns were named {names[0]!r} to {names[-1]!r}.{advice}"


def _decoded(content: bytes, path: str) -> tuple[str, str, list[str]]:
    """The text, with its byte order mark if it has one; its encoding; and what is to be said of that."""
    encoding = WIDE.get(content[:2]) or _narrow(content)
    text = content.decode(encoding, errors="replace" if encoding in WIDE.values() else "strict")
    if "\0" in text:
        raise ValueError(f"{path} should be text. Found bytes that no text has. Give it the ending of what it is.")
    if encoding == "utf-8":
        return text, encoding, []
    if encoding in WIDE.values():
        return text, encoding, ["The file was read as UTF-16."]
    return text, encoding, ["The file is not UTF-8: it was read as Latin-1. Check letters with accents."]


def _narrow(content: bytes) -> str:
    for encoding in ("utf-8", "cp1252"):  # the latter is what Windows takes for Latin-1, with a euro sign
        with suppress(UnicodeDecodeError):
            content.decode(encoding)
            return encoding
    return "latin-1"


def _dialect(text: str, delimiters: str) -> Dialect:
    """What fits most lines; blanks are skipped if quotes follow them."""
    plain = max(map(Dialect, delimiters), key=lambda d: _regularity(text, d))
    skipping = Dialect(plain.delimiter, skips_blanks=True)
    sniffed = islice(_records(text, plain), N_SNIFFED)
    if not any(re.match(' +"', cell) for _, cells in sniffed for cell in cells):
        return plain
    return skipping if _regularity(text, skipping) >= _regularity(text, plain) else plain


def _regularity(text: str, dialect: Dialect) -> tuple[float, int]:
    """In how many of the first records the dialect gives as many cells as in the header, and how many that is."""
    sizes = [len(cells) for _, cells in islice(_records(text, dialect), N_SNIFFED)]
    return (sizes.count(sizes[0]) / len(sizes), sizes[0]) if sizes and sizes[0] > 1 else (0.0, 0)


def _records(text: str, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The records that are not blank, each with its first line; a broken one has no cells and is the last."""
    reader = dialect.records(io.StringIO(text, newline=""))
    line = 1
    try:
        for cells in reader:
            if is_record(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error:  # a quote that is never closed, or followed by more of the cell
        yield line, []


def _checked(text: str, path: str, dialect: Dialect) -> tuple[list[str], int]:
    """The names of the columns and the number of rows, once all lines are known to have as many cells."""
    names: list[str] = []
    n_rows = -1  # the first record holds the names
    for line, cells in _records(text, dialect):
        n_rows += 1
        names = names or cells
        if not cells:
            raise ValueError(
                f"{path} should close every quote before the next cell. Found otherwise in line {line}. Write quotes "
                'inside of cells twice, "".'
            )
        if len(cells) != len(names):
            raise ValueError(
                f"{path} should have {len(names)} cells in every line, as in the first. Found {len(cells)} in line "
                f"{line}. Put cells that hold {_spoken(dialect.delimiter)} in quotes."
            )
    if not names:
        raise ValueError(f"{path} should hold a table. Found blank lines only. Write it again.")
    if len(names) == 1:
        raise ValueError(
            f"{path} should have at least two columns. Found one, {names[0][:80]!r}. Separate the cells of all lines "
            "by the same: commas, semicolons or tabs."
        )
    return names, n_rows


def _spoken(delimiter: str) -> str:
    return "tabs" if delimiter == "\t" else repr(delimiter)


def _mended(names: list[str]) -> tuple[list[str], list[str]]:
    """Names without blanks around, none of them empty or there twice, and what was done."""
    mended, notes = [name.strip() for name in names], []
    if mended != names:
        notes.append("Blanks around names of columns were stripped.")
    for j, name in enumerate(mended):
        if not name or name in mended[:j]:
            mended[j] = _free_name(name or f"column_{j + 1}", mended)
            why = f"is called {name!r} like one before" if name else "has no name"
            notes.append(f"Column {j + 1} {why}: it was named {mended[j]!r}.")
    return mended, notes


def _free_name(name: str, taken: list[str]) -> str:
    n, free = 2, name if name not in taken else f"{name}_2"
    while free in taken:
        n += 1
        free = f"{name}_{n}"
    return free
