"""What was assumed about a table and what a comparison found, for readers and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._console import Console, number

if TYPE_CHECKING:
    from ..tables.schema import Schema

ENOUGH = 100  # rows from which on some can be held out to choose by

MOST = 24  # rows of a table on a screen
SOME = 10
MOST_NAMES = 8  # in a sentence
LONGEST = 40  # characters of a name there
HIDDEN = ("hidden_trivial", "hidden_plain", "hidden_impartial")
EVERYTHING = "`evenhand schema` prints all of them."


def show_rules(
    console: Console, schema: Schema, conversions: list[str], note: str = "", *, everything: bool = False
) -> None:
    """All that was assumed about a table: kinds with reasons, conversions, ignored columns with reasons.

    Args:
        console: Where it is printed.
        schema: The columns.
        conversions: What was converted.
        note: One more sentence.
        everything: Whether to print every column of a wide table, and not only what fits on a screen.
    """
    console.heading("The columns")
    if everything or len(schema) <= MOST:
        console.table(("column", "kind", "why"), [(c.name, str(c.kind), c.reason) for c in schema])
    else:
        _show_kinds(console, schema)
    most = None if everything else SOME
    if schema.ignored:
        console.heading("Ignored columns")
        ignored = list(schema.ignored.items())
        console.table(("column", "why"), ignored[:most])
        _say_rest(console, len(ignored) - len(ignored[:most]))
    if conversions or note:
        console.heading("Read from the file" if conversions else "Note")
        for sentence in [*conversions[:most], *([note] if note else [])]:
            console.say(f"- {sentence}")
        _say_rest(console, len(conversions) - len(conversions[:most]))


def _show_kinds(console: Console, schema: Schema) -> None:
    """How many columns are of which kind, with the first of them."""
    by_kind: dict[str, list[str]] = {}
    for column in schema:
        by_kind.setdefault(str(column.kind), []).append(column.name)
    rows = [(kind, str(len(names)), enumerated(names)) for kind, names in by_kind.items()]
    console.table(("kind", "columns", "names"), rows, (1,))
    console.say(EVERYTHING)


def _say_rest(console: Console, n: int) -> None:
    if n:
        console.say(f"... and {n:,} more. {EVERYTHING}")


def enumerated(names: Sequence[str]) -> str:
    """Some names for a sentence: "'a', 'b' and 12 more"; long ones are cut."""
    shown = [repr(name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…") for name in names[:MOST_NAMES]]
    more = len(names) - MOST_NAMES
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def too_few(n_rows: int) -> str:
    """What to say of a table with few rows; empty if there are enough."""
    if n_rows >= ENOUGH:
        return ""
    return f" These are too few to rely on what is learnt: some hundreds are needed, and below {ENOUGH} it is chance."


def describe_schema(schema: Schema, conversions: list[str]) -> dict[str, Any]:
    """The same for a program."""
    return {
        "columns": [
            {"name": c.name, "kind": str(c.kind), "categories": list(c.categories), "reason": c.reason}
            for c in schema
        ],
        "ignored": dict(schema.ignored),
        "conversions": conversions,
    }


def show_compared(console: Console, found: dict[str, Any]) -> None:
    """Print what a comparison found."""
    console.heading("Errors on test rows, by column")
    measures = ("trivial", "plain", "impartial", "gain", *HIDDEN)
    rows = [(c["column"], c["kind"], *(number(c[m]) for m in measures)) for c in found["columns"]]
    if len(rows) > MOST:
        half = MOST // 2
        rows = [*rows[:half], ("...", "", *[""] * len(measures)), *rows[-half:]]
    header = ("column", "kind", "trivial", "plain", "impartial", "gain", "hidden: trivial", "plain", "impartial")
    console.table(header, rows, range(2, len(header)))
    console.say(
        "Medians over seeds; trivial: guessing the mean or the mode, first seed; gain: plain minus impartial; "
        "hidden: the same on cells that the model was not shown."
    )
    if len(rows) < len(found["columns"]):
        console.say(
            f"Of {len(found['columns']):,} columns, those with the largest gains and losses; more on the page."
        )
    console.heading("By kind")
    rows = [(k["kind"], number(k["plain"]), number(k["impartial"])) for k in found["by_kind"]]
    console.table(("kind", "plain", "impartial"), rows, (1, 2))
    console.say()
    for sentence in found["summary"]:
        console.say(sentence)
    for where, neglected in (("", found["neglected"]), (" on hidden cells", found["neglected_hidden"])):
        for training, names in neglected.items():
            if names:
                said = f"After {training} training{where} no better than their mean or mode (of the first seed)"
                console.say(f"{said}: {enumerated(names)}.")


def show_verdict(console: Console, found: dict[str, Any]) -> None:
    """Print which training to take for what, and what to type next."""
    if not found["verdict"]:
        return
    console.heading("What to take")
    for one in found["verdict"]:
        console.say(one["words"])
    console.heading("What to type next")
    for one in found["verdict"]:
        console.say(f"{one['purpose']}{'' if one['next'].startswith('evenhand') else ' (in Python)'}:")
        console.say(f"  {one['next']}")
    if found["guesses_directly"]:
        return
    console.say(
        "Without --family, --method and --kl-weight, impute and sample train a network that guesses hidden cells "
        "directly, which those above do not; on most tables its guesses are better."
    )
