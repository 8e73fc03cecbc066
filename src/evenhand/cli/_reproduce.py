"""`evenhand reproduce`: the paper's experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common import whole_file
from ..datasets import NAMES
from ._arguments import Device, Force, Out, check_device, check_out, split
from ._bars import job_bars
from ._console import Console
from ._errors import arguments, refusal
from ._names import MODELS, REPRODUCIBLE, complete_datasets, complete_models, complete_reproducible
from ._results import Result, find_exhibit, show

if TYPE_CHECKING:
    from ..lab import Exhibit, Experiment, Folder

STATES = ("done", "started", "not begun")


class Executor(StrEnum):
    """Where jobs run."""

    local = "local"
    ray = "ray"


TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help=f"One of {', '.join(REPRODUCIBLE)}.",
        autocompletion=complete_reproducible,
        show_default=False,
    ),
]
Datasets = Annotated[
    str | None,
    typer.Option("--datasets", metavar="A,B", help="Only these data sets.", autocompletion=complete_datasets),
]
Models = Annotated[
    str | None,
    typer.Option(
        "--models",
        metavar="A,B",
        help=f"Only these: {'; or '.join(', '.join(group) for group in MODELS)}.",
        autocompletion=complete_models,
    ),
]
Seeds = Annotated[int | None, typer.Option("--seeds", min=1, help="How many seeds.")]
Quick = Annotated[bool, typer.Option("--quick", help="A small version, for a CPU.")]
Controls = Annotated[
    bool, typer.Option("--controls/--no-controls", help="Also plain training at several KL weights (tables).")
]
Where = Annotated[Executor, typer.Option("--executor", help="Here, or on a Ray cluster.")]
Address = Annotated[str | None, typer.Option("--address", help="Of the Ray cluster; by default one is started here.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="So many runs side by side here, on one GPU if there is one.")
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="PATTERN", help="Only runs whose names match, such as '*-vanilla-*'; repeatable."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting for all runs, as in `evenhand run`; repeatable."),
]
List = Annotated[bool, typer.Option("--list", help="Show the jobs and their state; run none.")]
Configs = Annotated[
    Path | None, typer.Option("--configs", metavar="DIR", help="Write the jobs as TOML files there; run none.")
]


def reproduce(
    ctx: typer.Context,
    table: TableArgument,
    datasets: Datasets = None,
    models: Models = None,
    seeds: Seeds = None,
    quick: Quick = False,
    controls: Controls = True,
    executor: Where = Executor.local,
    address: Address = None,
    workers: Workers = None,
    only: Only = None,
    settings: Settings = None,
    out: Out = Path("runs"),
    force: Force = False,
    list_: List = False,
    configs: Configs = None,
    device: Device = "auto",
) -> None:
    """Run the experiments of a table or figure of the paper.

    Many tables and figures need the same runs. Finished runs are not repeated, and interrupted ones resume. Prints
    how many runs are done, started and not begun; at the end, the table as `evenhand results` does.

    \b
    Examples:
      evenhand reproduce table1 --quick --datasets hi,wine
      evenhand reproduce table1 --models vae-elbo --list
      evenhand reproduce table4 --models mmvae --workers 3
      evenhand reproduce table4 --only '*-vanilla-*' --only '*-li-*' --set training.epochs=4 --seeds 2
      evenhand reproduce table1 --configs configs
      evenhand reproduce survival --quick --models tight --seeds 5
    """
    _check_executor(executor, address)
    exhibit = find_exhibit(table, REPRODUCIBLE)
    jobs = find_jobs(exhibit, datasets, models, n_seeds=seeds, quick=quick, controls=controls)
    jobs = changed(matching(jobs, only or []), settings or [])
    check_device(device)
    if configs is not None:
        _write_configs(ctx.obj, jobs, configs)
    elif list_:
        _list(ctx.obj, _folders(ctx.obj, jobs, out))
    else:
        where: dict[str, Any] = {"executor": str(executor), "address": address, "workers": workers, "device": device}
        _run(ctx.obj, exhibit, jobs, out, force=force, **where)


def _check_executor(executor: Executor, address: str | None) -> None:
    if executor == Executor.local and address is not None:
        raise refusal("--address", "be used with --executor ray", f"the executor {executor}", "Leave it out.")


def find_jobs(exhibit: Exhibit, datasets: str | None, models: str | None, **options: Any) -> list[Experiment]:
    """The experiments of a table or figure."""
    chosen = split(datasets, "--datasets", exhibit.datasets or NAMES), split(models, "--models", exhibit.models)
    with arguments(datasets="--datasets", models="--models", controls="--no-controls"):
        return exhibit.jobs(*chosen, **options)


def matching(jobs: list[Experiment], patterns: Sequence[str]) -> list[Experiment]:
    """Those whose names match a pattern, if there is any."""
    some = [job for job in jobs if any(fnmatchcase(job.name, pattern) for pattern in patterns)]
    if patterns and not some:
        names = f"{len(jobs)} names such as {jobs[0].name!r}"
        raise refusal("--only", "match the name of a run", repr(patterns[0]), f"There are {names}.")
    return some if patterns else jobs


def changed(jobs: list[Experiment], settings: Sequence[str]) -> list[Experiment]:
    """The same runs with other settings."""
    from ..lab import from_dict, to_dict

    with arguments(overrides="--set"):
        return [from_dict(to_dict(job), settings) for job in jobs] if settings else jobs


def _folders(console: Console, jobs: Sequence[Experiment], out: Path) -> list[Folder]:
    """The directories of jobs; prints how many are in which state."""
    from ..lab import Folder, resolve

    folders = [Folder(out, resolve(job)) for job in jobs]
    counts: Counter[str] = Counter(folder.state for folder in folders)
    words = ", ".join(f"{counts[state]} {state}" for state in STATES)
    console.say(f"{len(folders)} run{'s' * (len(folders) > 1)}: {words}.")
    return folders


def _run(console: Console, exhibit: Exhibit, jobs: list[Experiment], out: Path, *, force: bool, **where: Any) -> None:
    """Run what is not done, and print the table."""
    from ..lab import execute

    folders = _folders(console, jobs, out)
    done = 0 if force else sum(folder.state == "done" for folder in folders)
    if done < len(jobs):
        check_out(out)
    console.interrupted = lambda: _how_to_go_on(folders, console.command)
    followed = where["executor"] == Executor.local
    with job_bars(console, len(jobs), done, followed=followed) as bars:
        told: dict[str, Any] = {"begin": bars.begin, "finish": bars.finish, "fail": bars.fail}
        folders = execute(jobs, out, force=force, command=console.command, **told, **where)
    console.interrupted = lambda: ""
    paths = [folder.path for folder in folders]
    show(console, Result(exhibit, [folder.report() for folder in folders], paths), runs=[str(path) for path in paths])


def _how_to_go_on(folders: Sequence[Folder], command: str) -> str:
    """What is true of runs that are interrupted now, and what to type."""
    done = sum(folder.state == "done" for folder in folders)
    some = sum(folder.state == "started" and folder.resumable for folder in folders)
    kept = f", {some} {'has a checkpoint' if some == 1 else 'have checkpoints'}" if some else ""
    return f"{done} of {len(folders)} runs are done{kept}. To go on: {command}"


def _list(console: Console, folders: Sequence[Folder]) -> None:
    console.table(("state", "directory"), [(folder.state, str(folder.path)) for folder in folders])
    counts: Counter[str] = Counter(folder.state for folder in folders)
    jobs = [{"name": f.config.name, "state": f.state, "folder": str(f.path)} for f in folders]
    console.result({"counts": {state: counts[state] for state in STATES}, "jobs": jobs})


def _write_configs(console: Console, jobs: Sequence[Experiment], folder: Path) -> None:
    from ..lab import to_toml

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{job.name}.toml" for job in jobs]
    for job, path in zip(jobs, paths, strict=True):
        with whole_file(path) as partial:
            partial.write_text(to_toml(job), encoding="utf-8")
    console.say(f"{len(jobs)} config{'s' * (len(jobs) > 1)} written to {folder}. To run one: evenhand run {paths[0]}")
    console.result({"configs": [str(path) for path in paths]})
