"""A model of rows over time, fitted to a table or read from a file: where `impute` begins with --id and --time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._arguments import check_panel
from ._console import Console
from ._errors import arguments, refusal
from ._fitted import Learning, Loaded
from ._report_words import enumerated, show_rules

if TYPE_CHECKING:
    from ..tables.longitudinal import LongitudinalVAE


def refuse_single_rows(
    id: str | None, time: str | None, learning: Learning, draws: int | None, rows: int | None
) -> None:
    """Refuse, where rows belong to things over time, what is for single rows only."""
    check_panel(id, time)
    if learning.family is not None:
        raise refusal("--family", "be left out with --id and --time", repr(learning.family))
    if draws is not None:
        raise refusal("--draws", "be left out with --id and --time: there is one guess", str(draws))
    if rows is not None:
        raise refusal("--rows", "be left out with --id and --time: histories are read whole", str(rows))


def learn_over_time(console: Console, loaded: Loaded, id: str, time: str, options: dict[str, Any]) -> LongitudinalVAE:
    """Fit `LongitudinalVAE` to a table, and print what was assumed and what was learnt."""
    from ..tables.longitudinal import LongitudinalVAE, to_learn

    schema = to_learn(loaded.known, id, time)
    for option, name in (("--id", id), ("--time", time)):
        if name not in loaded.frame:
            raise refusal(option, f"name a column of DATA ({', '.join(map(str, loaded.frame))})", repr(name))
    n = loaded.frame[id].nunique()
    console.say(f"{len(loaded.frame):,} rows in {n:,} histories, {len(schema)} columns to learn.")
    show_rules(console, schema, loaded.conversions, loaded.note)
    given = {name: value for name, value in options.items() if name != "device" and value != "auto"}
    console.begin("learning the histories")
    console.interrupted = lambda: "Nothing was written."
    with arguments(X="DATA", id="--id", time="--time"):
        model = LongitudinalVAE(id=id, time=time, schema=schema, verbose=console.bars, **given).fit(loaded.frame)
    console.interrupted = lambda: ""
    console.heading("What was learnt")
    for sentence in _sentences(model):
        console.say(sentence)
    console.say()
    return model


def _sentences(model: LongitudinalVAE) -> list[str]:
    line = [name for name, share in model.shares_.items() if share == 0]
    said = [f"The error of the network on hidden cells of held-out histories is {model.error_:.3f}."]
    if line:
        said.append(
            f"Where it is no better than the line between the nearest cells, that is taken: {enumerated(line)}."
        )
    return said


def load_over_time(path: Path, id: str, time: str) -> LongitudinalVAE:
    """A model of rows over time that `--save-model` wrote."""
    from ..tables.longitudinal import LongitudinalVAE

    if not path.is_file():
        raise refusal("--model", "be a file that --save-model wrote", f"nothing at {path}")
    model = LongitudinalVAE.load(path)
    for option, own, given in (("--id", model.id, id), ("--time", model.time, time)):
        if own != given:
            raise refusal(option, f"be {own!r}, as in the saved model", repr(given))
    return model
