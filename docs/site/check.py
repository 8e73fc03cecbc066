"""Prove that the built site needs nothing but its own files.

python docs/site/check.py build/site

Every page is scanned for things that a browser would fetch from elsewhere, and for files that are missing. Where
Chromium and playwright are installed, pages are opened as files and from a server, and all requests are recorded.
"""

from __future__ import annotations

import re
import shutil
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = dict.fromkeys(("script", "img", "iframe", "source", "video", "audio"), "src") | {"link": "href"}
NOT_FETCHED = {"canonical", "prev", "next", "edit"}
IN_STYLES = re.compile(r"""(?:@import\s*|url\()\s*["']?([^"')\s]+)""")
LOOKED_AT = [
    "index.html", "docs/gallery.html", "docs/methods/imtlg.html", "examples/notebooks/digits.html",
    "reference/evenhand.impartial.html", "paper/table1/index.html",
]  # fmt: skip
WIDTHS = (390, 1200)
PATIENCE = 120_000  # milliseconds; a busy machine is no fault of a page


class _Resources(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in FETCHED and not NOT_FETCHED & set(values.get("rel", "").split()):
            self.fetched.append(values.get(FETCHED[tag], ""))
        if tag == "a":
            self.links.append(values.get("href", ""))


def scanned(site: Path) -> Iterator[str]:
    """Complaints about pages and styles: what would be fetched from elsewhere, and what is missing."""
    for path in sorted(site.rglob("*.html")):
        found = _Resources()
        found.feed(path.read_text(encoding="utf-8"))
        yield from (f"{path}: fetches {url}" for url in found.fetched if _elsewhere(url))
        yield from (f"{path}: lacks {url}" for url in found.fetched + found.links if _is_missing(site, path, url))
    for path in sorted(site.rglob("*.css")):
        found_urls = IN_STYLES.findall(path.read_text(encoding="utf-8"))
        yield from (f"{path}: fetches {url}" for url in found_urls if _elsewhere(url))
        yield from (f"{path}: lacks {url}" for url in found_urls if _is_missing(site, path, url))


def _elsewhere(url: str) -> bool:
    return bool(urlsplit(url).netloc)


def _is_missing(site: Path, page: Path, url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc or not parts.path:
        return False
    start = site if parts.path.startswith("/") else page.parent
    return not (start / unquote(parts.path).lstrip("/")).exists()


def looked_at(site: Path, chromium: str) -> Iterator[str]:
    """Complaints of a browser that opens pages as files and from a server."""
    from playwright.sync_api import sync_playwright

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for root in (site.resolve().as_uri(), f"http://127.0.0.1:{server.server_port}"):
            for name in LOOKED_AT:
                for width in WIDTHS:
                    yield from _opened(browser, root, name, width)
            yield from _searched(browser, root)
        browser.close()
    server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def _opened(browser, root: str, name: str, width: int) -> Iterator[str]:  # noqa: ANN001 (playwright's)
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    own = (root, "data:", "blob:", "about:")
    page.on("request", lambda request: request.url.startswith(own) or complaints.append(f"fetches {request.url}"))
    page.on("pageerror", lambda error: complaints.append(f"fails with {error}"))
    page.on("console", lambda message: message.type == "error" and complaints.append(f"says {message.text}"))
    page.goto(f"{root}/{name}", timeout=PATIENCE)
    page.wait_for_timeout(500)  # for what scripts fetch later
    if page.locator(".formula:not(:has(.katex))").count():
        complaints.append("has formulas that were not drawn")
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        complaints.append("is wider than the window")
    page.close()
    yield from (f"{root}/{name} at {width} pixels: {complaint}" for complaint in complaints)


def _searched(browser, root: str) -> Iterator[str]:  # noqa: ANN001
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.goto(f"{root}/index.html", timeout=PATIENCE)
    page.locator(".md-search__input").click()
    page.keyboard.type("norm restoration", delay=20)
    try:
        page.wait_for_selector(".md-search-result__link", timeout=PATIENCE)
    except Exception:
        yield f"{root}: the search finds nothing"
    page.close()


def main() -> None:
    """Complain, or say what was checked."""
    site = Path(sys.argv[1])
    complaints = list(scanned(site))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium:
        complaints += looked_at(site, chromium)
    if complaints:
        sys.exit("\n".join(complaints))
    pages = len(list(site.rglob("*.html")))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1e6
    seen = "opened in Chromium as files and from a server" if chromium else "not opened: no Chromium here"
    print(f"{site}: {pages} pages, {size:.1f} MB; nothing is fetched from elsewhere; {seen}.")


if __name__ == "__main__":
    main()
