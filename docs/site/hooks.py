"""MkDocs asks here for the pages of the site, and hands over each page before it is rendered."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from markup import Markup
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebooks import as_jupyter, executed
from packages import assets
from pages import ROOT, linked_files, navigation, notebooks, pages, reference, with_links_to_pages

COMPARISON = "docs/gallery/compare.html"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation, and teach Markdown formulas and examples."""
    config.nav = navigation(config.nav)
    config.markdown_extensions.append(Markup())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages and what belongs to them."""
    for place in _files_of_the_repository():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / place)))
    for place, content in [*reference(), *assets(), *_made_now()]:
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Mend links that lead to folders and notebooks."""
    return with_links_to_pages(page.file.src_uri, markdown)


def _files_of_the_repository() -> list[str]:
    found = pages()
    return sorted({*found, *(place for page in found for place in linked_files(page))})


def _made_now() -> Iterator[tuple[str, str]]:
    for path in notebooks():
        place = path.relative_to(ROOT).with_suffix("").as_posix()
        yield f"{place}.ipynb", as_jupyter(path.read_text(encoding="utf-8"))
        yield f"{place}.md", executed(path)
    yield COMPARISON, _comparison()


def _comparison() -> str:
    """The report page of the demo, of one seed. A comparison that is done is not run again."""
    page = ROOT / "build" / "compare.html"
    verb = [sys.executable, "-m", "evenhand", "compare", "hi", "--seeds", "1"]
    subprocess.run([*verb, "--out", str(page.parent / "runs"), "--page", str(page), "--quiet"], check=True)
    return Path(page).read_text(encoding="utf-8")
