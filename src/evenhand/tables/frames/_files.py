"""Tables from files and back: CSV, TSV, Parquet, Feather."""

from __future__ import annotations

import bz2
import difflib
import gzip
import importlib
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from ...common import ArgumentError, whole_file
from ..cells import LARGEST_WHOLE
from ._delimited import read_delimited, texts_of
from ._spelling import new_cells
from ._text_form import TextForm

if TYPE_CHECKING:
    import pandas

DELIMITERS = {"csv": ",;\t|", "tsv": "\t", "txt": ",;\t|"}  # the usual one first
SUFFIXES = ".csv, .tsv or .txt (perhaps with .gz, .xz, .bz2 or .zip behind), .parquet or .feather"
PACK: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}
UNPACK = {"gz": gzip.decompress, "xz": lzma.decompress, "bz2": bz2.decompress}
DAMAGES = (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class TableFile:
    """A table that was read from a file.

    Attributes:
        frame: The rows.
        conversions: What was done to them, in sentences.
        form: A text file as it stands; None for other files.
    """

    frame: pandas.DataFrame
    conversions: list[str]
    form: TextForm | None = field(default=None, repr=False)


def read_file(path: str | Path, *, header: bool | None = None, missing: Sequence[str] = ()) -> TableFile:
    """Read a table by the rules of ``docs/tables.md``, all of it or nothing.

    Columns of text become numbers, dates or booleans where all their cells are, but for a few words, and the usual
    markers become missing cells. Parquet and Feather files know their types.

    Args:
        path: A file that ends in .csv, .tsv or .txt, perhaps packed (.gz, .xz, .bz2, .zip), .parquet or .feather.
        header: Whether the first line of a text file holds the names of the columns. None finds out, and says so
            where it holds data; the columns are called x1, x2, and so on then.
        missing: Words of a text file that stand for missing cells, beside the usual ones such as NA.
    """
    path = Path(path)
    form, packing = file_format(path)
    _check_options(form, header, missing)
    _check_there(path)
    _need("pandas")
    written = None
    if form in DELIMITERS:
        content, told = _unpacked(path, packing), form == "txt"
        frame, conversions, written = read_delimited(
            content, str(path), DELIMITERS[form], told=told, header=header, missing=missing
        )
    else:
        frame, conversions = _read_columns(path, form)
    if not len(frame):
        raise ValueError(
            f"{path} should have rows. Found the names of {frame.shape[1]} columns only. Write it again."
        )
    return TableFile(frame, conversions, written)


def write_file(frame: pandas.DataFrame, path: str | Path, *, like: TableFile | None = None) -> None:
    """Write a table, all of it or nothing: a file that is there is replaced when the new one is complete.

    The index is left out: call ``frame.reset_index()`` first if it matters.

    Args:
        frame: The rows, in a frame of pandas, polars or pyarrow.
        path: Where to; its ending decides the format, as in `read_file`.
        like: The file that the frame was read from, with other cells in some places by now. From text to text, all
            else is written as it stands there to the letter, and new cells as others of their column; a cell that
            went missing stays as it was.
    """
    path = Path(path)
    form, packing = file_format(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"path should be in a folder that exists. Found none at {path.parent}. Make it first."
        )
    if path.is_dir():
        raise ValueError(f"path should be a file. Found the folder {path}. Add the name of a file.")
    frame = _ready(frame)
    if like is not None and like.form is not None and like.form.dialect.delimiter in DELIMITERS.get(form, ""):
        content = _packed(_as_written(frame, like, like.form), path, packing)
    else:
        content = _content(frame, path, form, packing)
    with whole_file(path) as partial:
        partial.write_bytes(content)


def file_format(path: Path) -> tuple[str, str]:
    """The format, and how it is packed, if it is."""
    endings = [suffix[1:].lower() for suffix in path.suffixes[-2:]]
    packing = endings.pop() if endings and endings[-1] in (*PACK, "zip") else ""
    form = endings[-1] if endings else ""
    if form in DELIMITERS or (form in ("parquet", "feather") and not packing):
        return form, packing
    advice = "Save the table as CSV first" if form in ("xls", "xlsx", "ods") else "Rename it"
    raise ArgumentError("path", f"end in {SUFFIXES}", repr(path.name), f"{advice}.")


def _check_options(form: str, header: object, missing: Sequence[str]) -> None:
    if header not in (None, True, False):
        raise ArgumentError("header", "be True, False or None", repr(header))
    if isinstance(missing, str) or not all(isinstance(word, str) for word in missing):
        raise ArgumentError("missing", "be a list of words", repr(missing))
    for name, given in (("header", header is not None), ("missing", len(missing) > 0)):
        if given and form not in DELIMITERS:
            advice = "Leave it out."
            raise ArgumentError(name, "be for text files only", f"one for a .{form} file", advice)


def _check_there(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"path should be a file. Found the folder {path}. Name a file in it.")
    if not path.exists():
        names = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, names, n=1)
        advice = f"Did you mean {near[0]!r}?" if near else "Check the name and the folder."
        raise FileNotFoundError(f"path should be a file that exists. Found none at {path}. {advice}")
    if not path.stat().st_size:
        raise ValueError(f"{path} should hold a table. Found an empty file. Write it again.")


def _need(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"files need {module}: pip install 'evenhand[data]'") from error


def _unpacked(path: Path, packing: str) -> bytes:
    content = path.read_bytes()
    try:
        if packing == "zip":
            return _single_member(path, content)
        return UNPACK[packing](content) if packing else content
    except DAMAGES as error:
        raise ValueError(
            f"{path} should be packed as .{packing}. Found a damaged file ({error}). Pack it again."
        ) from error


def _single_member(path: Path, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [m for m in archive.namelist() if not m.endswith("/") and not m.startswith("__MACOSX/")]
        if len(members) != 1:
            raise ValueError(f"{path} should hold one file. Found {len(members)}. Unpack it and name one of them.")
        return archive.read(members[0])


def _read_columns(path: Path, form: str) -> tuple[Any, list[str]]:
    """A file that knows its types."""
    pandas, arrow = _need("pandas"), _need("pyarrow")
    try:
        frame = pandas.read_parquet(path, engine="pyarrow") if form == "parquet" else pandas.read_feather(path)
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(
            f"{path} should be a {form.capitalize()} file. Found one that is damaged or something else ({error}). "
            "Write it again, or give it the ending of what it is."
        ) from error
    frame, conversions = _without_index(frame.set_axis([str(name) for name in frame.columns], axis=1))
    columns = {name: _plain(frame[name]) for name in frame}
    conversions += [f"Column {name!r} {note}." for name, (_, note) in columns.items() if note]
    return frame.assign(**{name: cells for name, (cells, note) in columns.items() if note}), conversions


def _without_index(frame: Any) -> tuple[Any, list[str]]:
    """The frame with rows 0, 1, 2, and so on; an index with a name is a column like the others."""
    names = list(frame.index.names)
    if names == [None] and frame.index.equals(frame.reset_index(drop=True).index):
        return frame, []
    if any(name is None or name in frame.columns for name in names):
        return frame.reset_index(drop=True), ["The index of the rows, which has no name of its own, was left out."]
    shown = ", ".join(repr(str(name)) for name in names)
    return frame.reset_index(), [f"The index of the rows was made a column ({shown})."]


def _plain(cells: Any) -> tuple[Any, str]:
    """Types that no kind describes as others, and what completes "Column 'x' ..."."""
    types = _need("pandas").api.types
    if types.is_integer_dtype(cells.dtype) and _has_ids(cells.dropna()):
        return cells.astype("str").mask(cells.isna()), (
            "was made text: its whole numbers reach 2**53, as those of ids do"
        )
    if types.infer_dtype(cells, skipna=True) == "decimal":
        return cells.astype("float64"), "was made floating point: it held decimals"
    return cells, ""


def _has_ids(seen: Any) -> bool:
    """Whether double precision lacks some of these whole numbers."""
    # as Python's integers, because a minus wraps around in unsigned ones, and in the smallest of the others
    return len(seen) > 0 and max(-int(seen.min()), int(seen.max())) >= LARGEST_WHOLE


def _ready(frame: Any) -> Any:
    """A pandas frame whose columns have distinct names, without its index."""
    if not isinstance(frame, _need("pandas").DataFrame):
        try:
            frame = nw.from_native(frame, eager_only=True).to_pandas()
        except TypeError as error:
            raise ArgumentError("frame", "be a DataFrame", type(frame).__name__) from error
    names = [str(name) for name in frame.columns]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ValueError(f"frame should have columns with distinct names. Found {twice!r} twice; rename one.")
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def _as_written(frame: Any, file: TableFile, form: TextForm) -> bytes:
    names = list(file.frame.columns)
    if list(frame.columns) != names or len(frame) != len(file.frame):
        raise ArgumentError(
            "like",
            f"have the columns and rows of frame, {frame.shape[1]} and {len(frame):,}",
            f"{len(names)} and {len(file.frame):,}, or other names",
            "Leave it out.",
        )
    texts = texts_of(form.records, form.dialect, names, header=0 if form.named else None)
    return form.with_cells(new_cells(file.frame, frame, texts, decimal_comma=form.dialect.delimiter != ","))


def _content(frame: Any, path: Path, form: str, packing: str) -> bytes:
    if form in DELIMITERS:
        text = frame.to_csv(index=False, sep=DELIMITERS[form][0], lineterminator="\n")
        return _packed(text.encode(), path, packing)
    _need("pyarrow")
    buffer = io.BytesIO()
    if form == "parquet":
        frame.to_parquet(buffer, engine="pyarrow", index=False)
    else:
        frame.to_feather(buffer)
    return buffer.getvalue()


def _packed(content: bytes, path: Path, packing: str) -> bytes:
    if packing != "zip":
        return PACK[packing](content) if packing else content
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(path.stem, content)
    return buffer.getvalue()
