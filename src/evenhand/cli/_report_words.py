"""What was assumed about a table and what a comparison found, for readers and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._console import Console, number

if TYPE_CHECKING:
    from ..tables.schema import Schema

ENOUGH = 100  # rows from which on some can be held out to choose by


def show_rules(console: Console, schema: Schema, conversions: list[str], note: str = "") -> None:
    """Everything that was assumed about a table: kinds with reasons, conversions, ignored columns with reasons."""
    console.heading("The columns")
    console.table(("column", "kind", "why"), [(c.name, str(c.kind), c.reason) for c in schema])
    if schema.ignored:
        console.heading("Ignored columns")
        console.table(("column", "why"), list(schema.ignored.items()))
    if conversions or note:
        console.heading("Read from the file" if conversions else "Note")
        for sentence in [*conversions, *([note] if note else [])]:
            console.say(f"- {sentence}")


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
    measures = ("trivial", "plain", "impartial", "gain")
    rows = [(c["column"], c["kind"], *(number(c[m]) for m in measures)) for c in found["columns"]]
    console.table(("column", "kind", *measures), rows, (2, 3, 4, 5))
    console.say(
        "Medians over seeds; trivial: guessing the mean or the mode, first seed; gain: plain minus impartial."
    )
    console.heading("By kind")
    rows = [(k["kind"], number(k["plain"]), number(k["impartial"])) for k in found["by_kind"]]
    console.table(("kind", "plain", "impartial"), rows, (1, 2))
    console.say()
    for sentence in found["summary"]:
        console.say(sentence)
    for training, names in found["neglected"].items():
        if names:
            shown = ", ".join(map(repr, names))
            console.say(f"After {training} training no better than their mean or mode (of the first seed): {shown}.")
