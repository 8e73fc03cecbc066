"""`evenhand impute`: fill in the missing cells of a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import DataArgument, Id, Time, check_input_is_kept, check_output
from ._console import Console
from ._errors import refusal
from ._fitted import Learning, Loaded, SavedModel, fit
from ._over_time import learn_over_time, load_over_time, refuse_single_rows
from ._spread import spread

if TYPE_CHECKING:
    from ..tables.frames import TableFile


@spread(Learning)
def impute(
    ctx: typer.Context,
    data: DataArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="The filled table: .csv, .tsv, .parquet or .feather."),
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Fill DATA itself; it is overwritten.")] = False,
    model: SavedModel = None,
    id: Id = None,
    time: Time = None,
    draws: Annotated[
        int | None, typer.Option("--draws", min=1, metavar="N", help="Multiple imputation: OUT-1, ..., OUT-N.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            min=2,
            metavar="N",
            help="For long Parquet files: learn from N random rows, and fill the file part by part.",
        ),
    ] = None,
    *,
    learning: Learning,
) -> None:
    """Fill in the missing cells of a table.

    Trains a model on the table, prints what it assumes about the columns and how well it learns them, and writes the
    table without missing cells. All columns keep their names, their order and the cells that were there; ignored
    columns stay as they are. One exception: with --model, a category that the model has never seen is treated as
    missing; how many such cells were replaced is printed. With --draws, several tables are written, each a random
    draw, so that a later analysis can tell how certain the imputed cells are. DATA itself is overwritten with
    --in-place only. With --rows, a Parquet file of any length needs the memory of N rows. With --id and --time, rows
    belong to things over time, and holes are filled from what is seen before and after.

    \b
    Examples:
      evenhand impute data.csv -o filled.csv
      evenhand impute data.csv -o filled.csv --draws 5 --save-model data.safetensors
      evenhand impute new.csv -o filled.csv --model data.safetensors
      evenhand impute long.parquet -o filled.parquet --rows 200000
      evenhand impute panel.csv -o filled.csv --id person --time year
    """
    console: Console = ctx.obj
    target = _target(data, output, in_place)
    paths = [target] if draws is None else [numbered(target, i + 1) for i in range(draws)]
    for path in (target, *paths):
        check_output(path, "OUT", table=True)
    if not in_place:
        for path in paths:
            check_input_is_kept(path, data, "Add --in-place if you mean it, or name another file.")
    options = learning.options()
    if id is not None or time is not None:
        refuse_single_rows(id, time, learning, draws, rows)
    if rows is not None:
        _check_long(data, target, draws)
        _fill_long(console, Path(data), target, rows, learning, learning.saved(model), options)
        return
    fitted, loaded = _fitted(console, data, learning, options, model, (id, time))
    learning.keep(console, fitted)
    console.begin("filling the holes")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing cells are left")  # they are counted below
        frame = loaded.frame
        tables = [fitted.transform(frame)] if draws is None else fitted.sample_posterior(frame, draws, learning.seed)
    written = _write(console, tables, paths, loaded.file)
    counts = _count(console, loaded.frame, tables[0], list(fitted.schema_.names))
    console.result({"written": written, **counts, **_learnt(fitted, ready=model is not None)})


def _fitted(
    console: Console,
    data: str,
    learning: Learning,
    options: dict[str, Any],
    model: Path | None,
    over_time: tuple[str | None, str | None],
) -> tuple[Any, Loaded]:
    """A model, read from a file or fitted to the table, and the table."""
    id, time = over_time
    if id is None or time is None:
        ready = learning.saved(model)
        loaded = learning.load(console, data)
        return ready or fit(console, loaded, **options), loaded
    if model is None:
        loaded = learning.load(console, data)
        return learn_over_time(console, loaded, id, time, options), loaded
    learning.refuse("--model")
    saved = load_over_time(model, id, time)
    return saved, learning.load(console, data)


def _learnt(fitted: Any, *, ready: bool) -> dict[str, Any]:
    """What a program is told of a model."""
    if not hasattr(fitted, "report"):
        return {"method": fitted.method, "error": fitted.error_, "shares": fitted.shares_}
    learnt = {} if ready else {"report": fitted.report().sentences(), "columns": fitted.columns_}
    return {"method": fitted.method_, **learnt}


def _check_long(data: str, target: Path, draws: int | None) -> None:
    """Refuse what cannot be done part by part."""
    for path in (Path(data), target):
        if path.suffix.lower() != ".parquet":
            raise refusal("--rows", "be used with Parquet files", path.name, "Leave it out, or write Parquet.")
    if draws is not None:
        raise refusal("--rows", "be used without --draws", str(draws), "Leave one of them out.")


def _fill_long(
    console: Console,
    data: Path,
    target: Path,
    rows: int,
    learning: Learning,
    ready: Any,
    options: dict[str, Any],
) -> None:
    """Learn from some rows of a file, and fill all of them part by part."""
    from ..tables.frames import fill_parquet, sample_parquet
    from ..tables.schema import Schema

    fitted = ready
    if fitted is None:
        console.begin(f"reading {rows:,} rows of {data}")
        some = sample_parquet(data, rows, options["random_state"])
        schema = Schema.read(learning.schema) if learning.schema else None
        fitted = fit(console, Loaded(some, schema), **options)
    learning.keep(console, fitted)
    console.begin("filling the holes")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing cells are left")  # of ignored columns
        warnings.filterwarnings("ignore", message=".*has categories that the schema lacks")  # they stay as they are
        filled = fill_parquet(data, target, fitted.transform)
    console.say(f"Written: {target}")
    console.say(f"{filled:,} missing cells filled.")
    learnt = {} if ready else {"report": fitted.report().sentences(), "columns": fitted.columns_}
    console.result({"written": [str(target)], "filled": filled, "method": fitted.method_, **learnt})


def _target(data: str, output: Path | None, in_place: bool) -> Path:
    """Where the filled table goes."""
    if in_place and output is not None and not (output.exists() and output.samefile(data)):
        raise refusal("--in-place", "be used without -o", str(output), "Leave one of them out.")
    if in_place and not Path(data).is_file():
        raise refusal("--in-place", "be used with a file", repr(data), "Name a file with -o OUT.")
    if output is None and not in_place:
        raise refusal("-o OUT", "name the file to write", "none", "Or fill DATA itself: --in-place.")
    return Path(data) if output is None else output


def _write(console: Console, tables: Sequence[Any], paths: Sequence[Path], like: TableFile | None) -> list[str]:
    from ..tables.frames import write_file

    for table, path in zip(tables, paths, strict=True):
        console.begin(f"writing {path}")
        write_file(table, path, like=like)
        console.say(f"Written: {path}")
    return [str(path) for path in paths]


def _count(console: Console, before: Any, after: Any, names: list[str]) -> dict[str, int]:
    """How many cells were filled and replaced in the columns of the model, and how many others are missing."""
    filled, replaced = changes(before[names], after[names])
    holes = after.isna().sum()
    left, where = int(holes.sum()), [repr(str(name)) for name in holes.index[holes > 0]]
    shown = ", ".join(where[:5]) + (f" and {len(where) - 5} more" if len(where) > 5 else "")
    rest = f" {left:,} are left, in ignored columns: {shown}." if left else ""
    console.say(f"{filled:,} missing cells filled.{rest}")
    if replaced:
        console.say(f"{replaced:,} cells replaced, whose categories the model has never seen.")
    return {"filled": filled, "replaced": replaced, "left": left}


def changes(before: Any, after: Any) -> tuple[int, int]:
    """How many missing cells of a frame were filled, and how many other cells hold something else."""
    seen = before.notna()
    replaced = sum(  # as objects, since the categories of two columns need not be the same
        int((before.loc[seen[name], name].astype(object) != after.loc[seen[name], name].astype(object)).sum())
        for name in before
    )
    return int((~seen).sum().sum()), replaced


def numbered(path: Path, i: int) -> Path:
    """OUT-1.csv for OUT.csv, OUT-1.csv.gz for OUT.csv.gz."""
    packed = path.suffix.lower() in (".gz", ".xz", ".bz2", ".zip")
    ending = "".join(path.suffixes[-2:] if packed else path.suffixes[-1:])
    return path.with_name(f"{path.name.removesuffix(ending)}-{i}{ending}")
