"""Which files of the repository are pages of the site. They keep their places, so that links among them hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "paper/**/*.md", "benchmarks/README.md"]
NOTEBOOKS = "examples/notebooks/*.py"
LINK = re.compile(r"(\]\()(?!https?:|#)([^)#\s]+)")

ROOMS = {
    "evenhand": "what most programs need",
    "evenhand.impartial": "blocks, methods, readings",
    "evenhand.tables": "tables with holes",
    "evenhand.modalities": "images, text and tables together",
    "evenhand.datasets": "public data",
    "evenhand.lab": "experiments, and the paper",
}


def pages() -> list[str]:
    """All Markdown files that are pages, by their place in the repository."""
    return sorted(p.relative_to(ROOT).as_posix() for pattern in PAGES for p in ROOT.glob(pattern))


def navigation(entries: list[Any]) -> list[Any]:
    """The navigation of mkdocs.yml with patterns such as docs/methods/*.md replaced by the pages they stand for."""
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [{title: navigation(part) if isinstance(part, list) else part for title, part in entry.items()}]
        else:
            found += sorted(page for page in pages() if _stands_for(entry, page)) if "*" in entry else [entry]
    return found


def _stands_for(pattern: str, page: str) -> bool:
    return PurePosixPath(page).match(pattern) and not page.endswith("README.md")


def notebooks() -> list[Path]:
    """All notebooks."""
    return sorted(ROOT.glob(NOTEBOOKS))


def linked_files(page: str) -> Iterator[str]:
    """Files that a page links to or shows and that are no pages: they go along as they are."""
    for _, target in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        place = _resolved(page, target)
        if (ROOT / place).is_file() and not place.endswith(".md"):
            yield place


def with_links_to_pages(page: str, text: str) -> str:
    """Folders that a page links to become the page in them; notebooks the page that shows them."""

    def replaced(found: re.Match[str]) -> str:
        place = _resolved(page, found[2])
        if (ROOT / place / "README.md").is_file():
            return f"{found[1]}{found[2].rstrip('/')}/README.md"
        if PurePosixPath(place).match(NOTEBOOKS):
            return f"{found[1]}{found[2].removesuffix('.py')}.md"
        return found[0]

    return LINK.sub(replaced, text)


def _resolved(page: str, target: str) -> str:
    return normpath((PurePosixPath(page).parent / target).as_posix())


def reference() -> Iterator[tuple[str, str]]:
    """Places and texts of the reference: a page for each room, filled from its docstrings."""
    lines = [f"- [`{room}`]({room}.md): {words}" for room, words in ROOMS.items()]
    yield "reference/index.md", "\n".join(["# Reference", "", "Every public name, by room.", "", *lines, ""])
    for room in ROOMS:
        options = f"    options:\n      members: {_public_names(room)}\n"
        yield f"reference/{room}.md", f"# `{room}`\n\n::: {room}\n{options}"


def _public_names(room: str) -> list[str]:
    """What a room exports. It is asked itself, because not all rooms spell their names out."""
    return [name for name in import_module(room).__all__ if not name.startswith("__")]
