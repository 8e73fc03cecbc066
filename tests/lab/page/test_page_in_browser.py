"""The report page in a browser: it loads alone, works by keyboard, and fits a phone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from evenhand.lab.page._page import page

from .._reports import multimodal_report, samples, table_report
from .test_page import NASTY, PNG, nasty_report

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

CONTRAST = """() => {
  const channels = (c) => c.match(/[\\d.]+/g).map(Number);
  const part = (x) => (x / 255 <= 0.03928 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const found = getComputedStyle(node).backgroundColor;
      if (found.startsWith("color(srgb")) return channels(found.slice(11)).map((x) => 255 * x);
      if ((channels(found)[3] ?? 1) > 0.99) return channels(found);
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = Array.from(node.childNodes).some((c) => c.nodeType === 3 && c.textContent.trim());
    const style = getComputedStyle(node);
    if (!own || node.closest("script, style, .skip") || style.visibility === "hidden") continue;
    if (!node.getClientRects().length) continue;
    const paint = channels(node instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(paint), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${node.tagName} ${node.getAttribute("class")} ${ratio} ${node.textContent}`);
  }
  return low;
}"""

OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"

NAMELESS = """() => Array.from(document.querySelectorAll("svg, img")).filter((node) => {
  if (node.closest("[aria-hidden=true]")) return false;
  return !(node.getAttribute("aria-label") || node.getAttribute("alt"));
}).length"""


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if not own.exists() and found is None:
            pytest.skip("no Chromium was found: playwright install chromium, or apt-get install chromium")
        path = str(own) if own.exists() else found
        alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        with playwright.chromium.launch(executable_path=path, args=alone) as started:
            yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Addresses of a few pages."""
    folder = tmp_path_factory.mktemp("pages")
    usual, nasty = table_report(unrestored=True), nasty_report()
    many = table_report(columns=[f"a rather long name of a column, number {i}" for i in range(60)])
    long = table_report(columns=["n" * 300, "m" * 300], kinds=["real", "ordinal"], seeds=1)
    made = {
        "usual": page(usual, samples(usual)),
        "nasty": page(nasty, samples(nasty)),
        "many": page(many),
        "long": page(long, samples(long, 50)),
        "plain": page(table_report(methods=("sum",), kl_weights=(1.0,))),
        "modalities": page([multimodal_report((), 0), multimodal_report(("EEI",), 1)], images=[PNG, None]),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in made}


@pytest.fixture
def visit(browser):
    """Open a page; it must neither complain nor ask for anything but itself."""
    contexts, said, asked = [], [], []

    def opened(address, width=1200, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(address)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
    assert len([url for url in asked if url.startswith("file:")]) == len(contexts)


NAMES = ["usual", "nasty", "many", "long", "plain", "modalities"]


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_alone_and_every_picture_has_a_name(visit, pages, name):
    tab = visit(pages[name])
    assert tab.evaluate(NAMELESS) == 0
    assert tab.locator("h1").count() == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [360, 800])
def test_it_never_scrolls_sideways(visit, pages, name, width):
    tab = visit(pages[name], width=width)
    tab.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert tab.evaluate(OVERFLOW) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["usual", "modalities"])
def test_words_can_be_read(visit, pages, name, scheme):
    tab = visit(pages[name], scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert tab.evaluate(CONTRAST) == []


def test_dark_mode_changes_the_colours_of_page_and_charts(visit, pages):
    look = """(names) => names.map((name) => getComputedStyle(document.querySelector(name)))
        .map((style) => style.backgroundColor + style.fill + style.stroke)"""
    marks = ["body", ".dot.impartial", ".ring.plain"]
    found = [visit(pages["usual"], scheme=scheme).evaluate(look, marks) for scheme in ("light", "dark")]
    assert all(light != dark for light, dark in zip(*found, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cosines_can_be_read_on_the_strongest_colours(visit, pages, scheme):
    tab = visit(pages["usual"], scheme=scheme)
    tab.evaluate("""() => {
      for (const kind of ["opposed", "aligned"]) {
        const box = document.createElement("p");
        box.id = kind;
        box.textContent = "cosine";
        document.body.append(box);
        document.styleSheets[0].insertRule(`#${kind} { color: var(--ink); background: var(--${kind}) }`);
      }
    }""")
    assert tab.evaluate(CONTRAST) == []


def test_nothing_injected_runs(visit, pages):
    tab = visit(pages["nasty"])
    assert tab.evaluate("window.ran") is None
    assert tab.locator("script").count() == 1
    assert tab.locator("main img").count() == 0
    assert NASTY[0] in tab.locator("#columns").inner_text()


def column(tab, table, place):
    return tab.locator(f"{table} tbody tr").evaluate_all(
        "(rows, place) => rows.map((row) => row.cells[place].dataset.value ?? row.cells[place].textContent)", place
    )


def test_tables_sort_by_click(visit, pages):
    tab = visit(pages["usual"])
    table = "#columns table"
    header = tab.locator(f"{table} thead th").nth(3)
    assert tab.locator(f"{table} thead th").nth(5).get_attribute("aria-sort") == "descending"
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    values = [float(x) for x in column(tab, table, 3)]
    assert values == sorted(values)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert [float(x) for x in column(tab, table, 3)] == sorted(values, reverse=True)
    assert tab.locator(f"{table} th[aria-sort=descending]").count() == 1
    tab.locator(f"{table} thead button").first.click()
    assert column(tab, table, 0) == sorted(column(tab, table, 0))


def test_tables_sort_by_keyboard_and_what_is_unknown_comes_last(visit, pages):
    tab = visit(pages["usual"])
    table = "#choice table"
    header = tab.locator(f"{table} thead th").nth(7)
    for key in ("Enter", "Space"):
        header.locator("button").focus()
        tab.keyboard.press(key)
        assert column(tab, table, 7)[-1] == "–"  # noqa: RUF001
    assert header.get_attribute("aria-sort") == "descending"


def test_points_have_labels_by_keyboard(visit, pages):
    tab = visit(pages["usual"])
    points = tab.locator("#rate svg.wide .point")
    assert tab.locator("#rate svg.wide .point[tabindex='0']").count() == 1
    tab.locator("#rate svg.wide .point.chosen").focus()
    tab.keyboard.press("ArrowLeft")
    shown = points.evaluate_all(
        "(all) => all.filter((p) => getComputedStyle(p.querySelector('.label')).visibility === 'visible').length"
    )
    assert shown == 1
    assert tab.evaluate("document.activeElement.classList.contains('chosen')") is False
    assert "nats" in tab.evaluate("document.activeElement.getAttribute('aria-label')")


def test_the_first_stop_skips_to_the_results(visit, pages):
    tab = visit(pages["usual"])
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "content"


def test_wide_things_scroll_in_their_box_and_can_be_reached(visit, pages):
    tab = visit(pages["usual"], width=360)
    boxes = tab.locator(".scroll").evaluate_all(
        "(all) => all.filter((b) => b.scrollWidth > b.clientWidth)"
        ".map((b) => [b.tabIndex, b.getAttribute('aria-label'), b.getAttribute('role')])"
    )
    assert len(boxes) >= 3
    assert all(stop == 0 and label and role == "region" for stop, label, role in boxes)


def test_nothing_moves_for_those_who_want_no_motion(visit, pages):
    tab = visit(pages["plain"])
    for motion, behaviour in (("no-preference", "smooth"), ("reduce", "auto")):
        tab.emulate_media(reduced_motion=motion)
        assert tab.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == behaviour


def test_what_is_cut_at_the_side_says_so(visit, pages):
    for width, cut in ((390, True), (1200, False)):
        tab = visit(pages["usual"], width=width)
        shown = tab.locator(".hint").evaluate_all(
            "(all) => all.map((h) => [getComputedStyle(h).display !== 'none',"
            " h.nextElementSibling.scrollWidth > h.nextElementSibling.clientWidth + 1])"
        )
        assert all(said == true for said, true in shown)
        assert any(said for said, _ in shown) or not cut


def test_labels_of_the_rate_plot_do_not_overlap(visit, pages):
    for width in (390, 1200):
        tab = visit(pages["usual"], width=width)
        overlaps = tab.locator("#rate svg").evaluate_all(
            """(charts) => charts.filter((c) => c.getClientRects().length).flatMap((chart) => {
              const boxes = Array.from(chart.querySelectorAll(".mark, .tick")).map((m) => m.getBoundingClientRect());
              return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
                a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3));
            }).length"""
        )
        assert overlaps == 0
        assert tab.locator("#rate .point.chosen .mark").count() == 2  # in the wide and in the narrow chart


def test_in_print_nothing_is_cut_and_headings_stay_with_figures(visit, pages):
    tab = visit(pages["usual"], width=794)
    tab.emulate_media(media="print")
    style = "(e, name) => getComputedStyle(e)[name]"
    for selector, name, value in (
        ("section > h2", "breakAfter", "avoid"),
        ("section > h2 + p", "breakAfter", "avoid"),
        ("section > h2 + p", "breakInside", "avoid"),
        (".together", "breakInside", "avoid"),
        ("figure", "breakInside", "avoid"),
        (".scroll", "overflowX", "visible"),
        (".scroll", "boxShadow", "none"),
        (".hint", "display", "none"),
    ):
        assert tab.locator(selector).first.evaluate(style, name) == value, selector
