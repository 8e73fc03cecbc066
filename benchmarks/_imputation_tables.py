"""The tables that results of `impute.py` make, in Markdown; needs nothing but the results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]  # by table and side
OURS = ("plain vae", "tabularvae", "tabularvae, not at random")


def page(path: Path) -> str:
    """Everything that a collected file holds."""
    return printed(*read_report(path))


def read_report(path: Path) -> tuple[Results, list[str], list[str]]:
    """Results, sides and tables of a collected file."""
    report = json.loads(path.read_text(encoding="utf-8"))
    return report["results"], report["sides"], report["tables"]


def printed(results: Results, sides: Sequence[str], tables: Sequence[str]) -> str:
    """Everything that a run says."""
    parts = [errors(results, sides, tables), draws(results, sides, tables), costs(results, sides, tables)]
    ours = [side for side in OURS[1:] if side == "tabularvae" or side in _present(results, sides)]
    return "\n\n".join([*parts, failures(results, sides, tables), *(goals(results, tables, side) for side in ours)])


def errors(results: Results, sides: Sequence[str], tables: Sequence[str]) -> str:
    """The error of every side on every table, the best of a table in bold, and the best peer by name."""
    sides, rows = _present(results, sides), []
    for table in tables:
        found = {s: e for s in sides if (e := _value(results, table, s, "error")) is not None}
        best = min(found.values(), default=None)
        cells = [_bold(f"{found[s]:.4f}", found[s] == best) if s in found else _gap(results, table, s) for s in sides]
        peer = best_peer(results, table)
        rows.append([table, *cells, f"{peer[0]} {peer[1]:.4f}" if peer else ""])
    return markdown("Error on removed cells", ["", *sides, "best peer"], rows)


def draws(results: Results, sides: Sequence[str], tables: Sequence[str]) -> str:
    """Coverage and energy score of the sides that draw."""
    drawing = [
        s for s in _present(results, sides) if any(_value(results, t, s, "energy") is not None for t in tables)
    ]
    rows = [[table, *(_draws(results.get(table, {}).get(side, {})) for side in drawing)] for table in tables]
    title = "Energy score of 20 draws · coverage of their range, ties split, in % (exact draws: 90.5) · ties held"
    return markdown(title, ["", *drawing], rows)


def costs(results: Results, sides: Sequence[str], tables: Sequence[str]) -> str:
    """Columns worse than mean or mode by more than 2 %, and seconds."""
    sides = _present(results, sides)
    rows = [[table, *(_cost(results.get(table, {}).get(side, {})) for side in sides)] for table in tables]
    title = "Columns worse than mean or mode by more than 2 % · seconds to fit and guess, and for the draws"
    return markdown(title, ["", *sides], rows)


def failures(results: Results, sides: Sequence[str], tables: Sequence[str]) -> str:
    """What did not work, in its own words, and what was not run."""
    told = {
        f"{table}, {side}": found.get("error message") or found.get("note", "")
        for table in tables
        for side, found in results.get(table, {}).items()
        if "error message" in found or "failed" in found.get("note", "")
    }
    lines = [f"- {where}: {words}" for where, words in told.items()]
    for side in sides:
        absent = [table for table in tables if side not in results.get(table, {})]
        if absent:
            lines.append(f"- {side}: not run on {'any' if len(absent) == len(tables) else ', '.join(absent)}")
    return "\n".join(["Not done:", "", *lines]) if lines else "All of them were done."


def goals(results: Results, tables: Sequence[str], side: str = "tabularvae") -> str:
    """How often ours is at or below the best peer, and the other bars."""
    done = [t for t in tables if _value(results, t, side, "error") is not None and best_peer(results, t)]
    if not done:
        return f"{side}: no result yet."
    ours = [results[t][side] for t in done]
    level = sum(found["error"] <= best_peer(results, t)[1] for t, found in zip(done, ours, strict=True))  # type: ignore[index]
    worse, whole, surely = (_worse(done, ours, name) for name in ("worse", "worse, whole", "worse, surely"))
    seconds = sorted(found["seconds"]["fit and guess"] for found in ours)
    covered = sum(0.85 <= found.get("coverage, ties split", 0) <= 0.95 for found in ours)
    lines = [
        f"{side}: at or below the best peer on {level} of {len(done)} tables; "
        f"coverage of 85 to 95 % on {covered}; median {seconds[len(seconds) // 2]:.0f} s.",
        f"Columns worse than mean or mode by more than 2 %: {worse or 'none'}.",
    ]
    if all("worse, surely" in found for found in ours):  # older results do not say
        lines.append(f"Of these, by more than two standard errors of the difference: {surely or 'none'}.")
    if all("error, whole" in found for found in ours):
        rounded = sum(f["error, whole"] <= best_peer(results, t)[1] for t, f in zip(done, ours, strict=True))  # type: ignore[index]
        lines.append(
            f"With whole numbers where columns are whole, its default, which peers do not give: at or below the best "
            f"peer on {rounded}; columns worse than means that are whole, too: {whole or 'none'}."
        )
    return "\n".join(lines)


def _worse(tables: Sequence[str], ours: Sequence[Mapping[str, Any]], name: str) -> dict[str, list[str]]:
    return {table: found[name] for table, found in zip(tables, ours, strict=True) if found.get(name)}


def best_peer(results: Results, table: str) -> tuple[str, float] | None:
    """The peer with the smallest error, and that error."""
    found = {s: r["error"] for s, r in results.get(table, {}).items() if s not in OURS and "error" in r}
    return min(found.items(), key=lambda pair: pair[1]) if found else None


def _present(results: Results, sides: Sequence[str]) -> list[str]:
    return [side for side in sides if any(side in found for found in results.values())]


def _value(results: Results, table: str, side: str, name: str) -> float | None:
    return results.get(table, {}).get(side, {}).get(name)


def _gap(results: Results, table: str, side: str) -> str:
    return "failed" if side in results.get(table, {}) else ""


def _draws(found: Mapping[str, Any]) -> str:
    if "energy" not in found:
        return ""
    return f"{found['energy']:.3f} · {100 * found['coverage, ties split']:.0f} · {100 * found['coverage']:.0f}"


def _cost(found: Mapping[str, Any]) -> str:
    if "error" not in found:
        return ""
    seconds = found["seconds"]
    more = f" + {seconds['draws']:.0f}" if seconds.get("draws", 0) >= 0.5 else ""
    return f"{len(found['worse'])} · {seconds['fit and guess']:.0f}{more} s"


def _bold(text: str, yes: bool) -> str:
    return f"**{text}**" if yes else text


def markdown(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    line: Callable[[Sequence[str]], str] = lambda cells: f"| {' | '.join(cells)} |"  # noqa: E731
    return "\n".join([f"**{title}**", "", line(head), line(["---"] * len(head)), *map(line, rows)])
