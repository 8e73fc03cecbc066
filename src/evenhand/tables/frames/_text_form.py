"""A text file with other cells in some places, and every other letter of it as it stands."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

MARK = "\ufeff"  # with which some programs begin a file


class Dialect(NamedTuple):
    """How a line is cut into cells.

    Attributes:
        delimiter: What stands between two cells.
        skips_blanks: Whether blanks before a cell are no part of it, so that a quote may follow them.
    """

    delimiter: str
    skips_blanks: bool = False

    def records(self, lines: Iterable[str]) -> Any:
        """What the csv module makes of lines."""
        return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.skips_blanks, strict=True)


@dataclass(frozen=True)
class TextForm:
    """A text file as it stands.

    Attributes:
        text: All of it.
        start: Where its records begin, after a byte order mark and a line that says the delimiter.
        encoding: How it becomes bytes.
        dialect: How its lines are cut into cells.
        named: Whether its first record holds the names of the columns.
    """

    text: str
    start: int
    encoding: str
    dialect: Dialect
    named: bool

    @property
    def records(self) -> str:
        """The names and the rows."""
        return self.text[self.start :]

    def with_cells(self, cells: Mapping[int, Mapping[int, str]]) -> bytes:
        """The file with other cells: by row, and in it by column, both from 0."""
        text = self.text[: self.start] + "".join(self._parts(cells))
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError:  # a letter that the file cannot hold
            return (MARK + text.removeprefix(MARK)).encode()

    def _parts(self, cells: Mapping[int, Mapping[int, str]]) -> Iterator[str]:
        lines = list(io.StringIO(self.records, newline=""))
        with cells_of_any_length(self.text):
            reader = self.dialect.records(lines)
            row, begin = -1 if self.named else 0, 0
            for fields in reader:
                part, begin = "".join(lines[begin : reader.line_num]), reader.line_num
                if is_record(fields):
                    part = self._changed(part, cells[row]) if row in cells else part
                    row += 1
                yield part

    def _changed(self, record: str, cells: Mapping[int, str]) -> str:
        delimiter, blanks = self.dialect.delimiter, " *" if self.dialect.skips_blanks else ""
        field = re.compile(rf'{blanks}"(?:[^"]|"")*"|[^\r\n{re.escape(delimiter)}]*')
        parts, place, column = [], 0, 0
        while True:
            old = field.match(record, place)
            assert old is not None  # it can be empty
            parts.append(self._quoted(cells[column], old.group()) if column in cells else old.group())
            place, column = old.end() + 1, column + 1
            if record[old.end() : place] != delimiter:
                return "".join([*parts, record[old.end() :]])
            parts.append(delimiter)

    def _quoted(self, cell: str, old: str) -> str:
        """A cell in quotes, if it needs them or the old one has them."""
        needed = any(letter in cell for letter in (self.dialect.delimiter, '"', "\r", "\n"))
        before, rest = (
            (" " * (len(old) - len(old.lstrip(" "))), old.lstrip(" ")) if self.dialect.skips_blanks else ("", old)
        )
        return before + (f'"{cell.replace(chr(34), chr(34) * 2)}"' if needed or rest.startswith('"') else cell)


def is_record(fields: list[str]) -> bool:
    """Whether a line, as the csv module reads it, is more than blank."""
    return len(fields) > 1 or bool("".join(fields).strip(" \t"))  # pandas skips no others


@contextmanager
def cells_of_any_length(text: str) -> Iterator[None]:
    """Lift the limit of the csv module, which is one for the whole process."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, len(text)))
    try:
        yield
    finally:
        csv.field_size_limit(before)
