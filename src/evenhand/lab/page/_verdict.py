"""Which training to take for what, in words, as a table, and as what to type next."""
# ruff: noqa: RUF001  # signs as readers know them: ×

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from ..figures import number
from ..results import (
    CODES,
    FEW,
    HOLES,
    ROWS,
    Advice,
    Cell,
    Role,
    Run,
    TableReport,
    fair,
    few_rows,
    verdict,
    weight_text,
)
from ._html_table import Column, HtmlTable, html_table
from ._parts import count

ROLES: Mapping[Role, str] = MappingProxyType(
    {"plain": "Plain", "smaller": "Plain, smaller KL weight", "impartial": "Impartial"}
)


def take_part(read: TableReport) -> dict[str, Any] | None:
    """The part of the page that says which training to take; None where nothing was compared."""
    advice = verdict(read)
    if not any(len(a.runs) > 1 for a in advice):
        return None
    return {"words": RULE, "table": _table(advice), "advice": [_entry(read, a) for a in advice]}


RULE = Markup(
    "What is good for one purpose need not be good for another. Compared are plain training, plain training with "
    "that smaller weight of the KL term that does best on validation rows, and that impartial method that does. The "
    "simplest is taken that no other one clearly beats: in every split of the rows, and by more than 1&nbsp;% of the "
    "error or 0.1 nats."
)


def taken(read: TableReport) -> list[dict[str, Any]]:
    """The same as plain values: for each purpose what to take, in words, and what to type."""
    return [_entry(read, advice) for advice in verdict(read)]


def too_few(read: TableReport) -> str:
    """A warning where there are too few rows, else nothing."""
    if not few_rows(read):
        return ""
    tested = count(int(read.data["test_rows"]), "row")
    return (
        f"Too few rows: {tested} to test on. With fewer than {FEW}, nothing on this page can be told from chance; "
        "take it as a trial of the command, not as a result."
    )


def _entry(read: TableReport, advice: Advice) -> dict[str, Any]:
    return {
        "purpose": advice.purpose.name,
        "measure": advice.purpose.measure,
        "take": advice.taken,
        "method": advice.run["method"],
        "kl_weight": advice.run["kl_weight"],
        "values": dict(advice.values),
        "candidates": {role: _settings(run) for role, run in advice.runs.items()},
        "words": _words(read, advice),
        "next": NEXT[advice.purpose.measure](read, advice),
    }


def _settings(run: Run) -> dict[str, Any]:
    return {"method": run["method"], "kl_weight": run["kl_weight"]}


def _words(read: TableReport, advice: Advice) -> str:
    """Such as "To fill holes: plain training with KL weight 0.3. Its error on hidden cells is 0.233; ..."."""
    purpose, digits = advice.purpose, advice.purpose.digits
    others = [role for role in advice.runs if role != advice.taken]
    said = f"{purpose.name}: {_name(advice.runs[advice.taken])}. Its {purpose.measured} is "
    said += number(advice.values[advice.taken], digits) + (" nats" if purpose.higher else "")
    rivals = [f"{_name(advice.runs[role])} has {number(advice.values[role], digits)}" for role in others]
    said += "".join(f"; {rival}" for rival in rivals) + ("; higher is better." if purpose.higher else ".")
    return said + _doubt(read, advice)


def _doubt(read: TableReport, advice: Advice) -> str:
    """Why it is not more certain."""
    if few_rows(read):
        return " There are too few rows to tell them apart, so it is the simplest."
    if advice.taken == "plain" and _beaten(advice):
        return " The difference is not clear, so it is the simplest."
    return " One split of the rows is weak evidence; --seeds 3 takes more." if len(read.seeds) < 2 else ""


def _beaten(advice: Advice) -> bool:
    """Whether another one has a better number than what is taken."""
    sign, own = (1 if advice.purpose.higher else -1), advice.values[advice.taken]
    return any(math.isfinite(x) and sign * (x - own) > 0 for x in advice.values.values())


def _name(run: Run) -> str:
    """What a run is called by those who are to train like it, with names that `--method` takes."""
    if run["method"] != "sum":
        return f"impartial training with {run['method']}"
    return "plain training" if run["kl_weight"] == 1 else f"plain training with KL weight {weight_text(run)}"


def _table(advice: list[Advice]) -> HtmlTable:
    rows: list[list[str | Cell]] = []
    for a in advice:
        cells = [_cell(a, role) for role in ROLES]
        rows.append([a.purpose.name, f"{a.purpose.measured}{' (nats)' if a.purpose.higher else ''}", *cells])
    heads = [Column("Purpose", words=True), Column("Measured by", words=True), *map(Column, ROLES.values())]
    caption = (
        "Medians over splits of the rows, on test rows; what to take is bold. Errors: lower is better; log p: higher."
    )
    return replace(html_table("which training to take", caption, heads, rows), sortable=False)


def _cell(advice: Advice, role: Role) -> Cell:
    if role not in advice.runs:
        return Cell(math.nan)
    run, value = advice.runs[role], number(advice.values[role], advice.purpose.digits)
    which = {"plain": "", "smaller": f" (× {weight_text(run)})", "impartial": f" ({run['method']})"}[role]
    return Cell(advice.values[role], words=f"{value}{which}", bold=role == advice.taken)


# ---------------------------------------------------------------- what to type next


def _data(read: TableReport) -> tuple[list[str], str]:
    """The table as it was typed, with its schema; and its name without ending."""
    data = read.report["config"]["data"]
    typed = str(data.get("path") or data.get("name") or read.data["name"])
    schema = ["--schema", str(data["schema"])] if data.get("schema") else []
    return [typed, *schema], PurePath(typed).name.partition(".")[0]


def _impute(read: TableReport, advice: Advice) -> str:
    typed, stem = _data(read)
    # a table without holes is a model for others that have some
    keep = [] if read.data.get("missing") else ["--save-model", f"{stem}.safetensors"]
    return shlex.join(["evenhand", "impute", *typed, "-o", f"{stem}-filled.csv", *keep, *_options(read, advice)])


def _sample(read: TableReport, advice: Advice) -> str:
    typed, stem = _data(read)
    return shlex.join(["evenhand", "sample", *typed, "-n", "1000", "-o", f"{stem}-new.csv", *_options(read, advice)])


def _encode(read: TableReport, advice: Advice) -> str:
    chosen = f"method={advice.run['method']!r}, kl_weight={weight_text(advice.run, quoted=True)}"
    if read.is_panel:
        data = read.report["config"]["data"]
        return f"LongitudinalVAE(id={data['id']!r}, time={data['time']!r}, {chosen}).fit(df).reconstruct(df)"
    return f"TabularVAE(model={_family(read)!r}, {chosen}).fit(df).encode(df)"


def _options(read: TableReport, advice: Advice) -> list[str]:
    if read.is_panel:
        data = read.report["config"]["data"]
        return ["--id", str(data["id"]), "--time", str(data["time"]), *advice.options]
    return ["--family", _family(read), *advice.options]


def _family(read: TableReport) -> str:
    return str(read.report["config"]["model"]["name"])


NEXT: Mapping[str, Callable[[TableReport, Advice], str]] = MappingProxyType(
    {HOLES.measure: _impute, ROWS.measure: _sample, CODES.measure: _encode}
)


def unfair(read: TableReport) -> str:
    """What to say of hidden cells where they are no fair test, else nothing."""
    return "" if fair(read) else " (no cell was hidden in training, so that they are no fair test)"
