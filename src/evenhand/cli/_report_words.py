"""What was learnt of a table, and what came of it, for readers and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._console import Console, number

if TYPE_CHECKING:
    from ..lab import TableReport
    from ..tables.schema import Schema


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


def compared(read: TableReport) -> dict[str, Any]:
    """Plain against impartial training: by column, the largest gain first, by kind, and in words."""
    from ..lab import column_pairs, lead

    chosen = read.best()
    kinds = dict(zip(read.columns, read.kinds, strict=True))
    plain, impartial = read.by_kind(read.plain), {} if chosen is None else read.by_kind(chosen)
    found: dict[str, Any] = {
        "columns": [
            {
                "column": pair.name,
                "kind": kinds[pair.name],
                "trivial": pair.trivial,
                "plain": pair.plain,
                "impartial": pair.impartial,
                "gain": pair.gain,
            }
            for pair in column_pairs(read, chosen)
        ],
        "by_kind": [{"kind": k, "plain": x, "impartial": impartial.get(k, float("nan"))} for k, x in plain.items()],
        "plain": {"error": read.median(read.plain, "error"), "rate": read.median(read.plain, "rate")},
        "neglected": {"plain": read.neglected(read.plain)},
        "summary": [markup.striptags() for markup in lead(read, chosen)],
    }
    if chosen is not None:
        rate = read.median(chosen, "rate")
        found["impartial"] = {"method": chosen["method"], "error": read.median(chosen, "error"), "rate": rate}
        reached = read.reaches(rate)
        found["plain"]["error_at_the_same_rate"] = read.at_rate("error", rate)  # NaN without a curve
        found["plain"]["beyond_the_curve"] = None if reached is None else not reached  # then its nearest end
        found["neglected"]["impartial"] = read.neglected(chosen)
    return found


def show_compared(console: Console, found: dict[str, Any]) -> None:
    """Print what `compared` found."""
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
