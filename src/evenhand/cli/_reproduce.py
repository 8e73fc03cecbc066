"""`evenhand reproduce`: the paper's experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._arguments import Device, Force, Out, check_device, check_out, split
from ._bars import job_bars
from ._console import BadArgumentError, Console, arguments
from ._names import (
    DATASETS,
    EXPERTS,
    MODELS,
    OF_MODALITIES,
    REPRODUCIBLE,
    closest,
    complete_datasets,
    complete_models,
    complete_reproducible,
)
from ._results import Result, show

if TYPE_CHECKING:
    from ..lab import Experiment, Folder


PAIR_ROWS = 1000  # that are generated for figure 4


class Executor(StrEnum):
    """Where jobs run."""

    local = "local"
    ray = "ray"


def reproduce(
    ctx: typer.Context,
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help=f"One of {', '.join(REPRODUCIBLE)}.",
            autocompletion=complete_reproducible,
            show_default=False,
        ),
    ],
    datasets: Annotated[
        str | None,
        typer.Option("--datasets", metavar="A,B", help="Only these tables.", autocompletion=complete_datasets),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            metavar="A,B",
            help=f"Only these: {', '.join(MODELS)}; or {', '.join(EXPERTS)}.",
            autocompletion=complete_models,
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="How many.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version, for a CPU.")] = False,
    controls: Annotated[
        bool, typer.Option("--controls/--no-controls", help="Plain training at several KL weights, too (tables).")
    ] = True,
    executor: Annotated[
        Executor, typer.Option("--executor", help="One after the other here, or on a Ray cluster.")
    ] = Executor.local,
    address: Annotated[str | None, typer.Option("--address", help="Of the Ray cluster; one is started here.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes of a Ray started here.")] = None,
    out: Out = Path("runs"),
    force: Force = False,
    list_: Annotated[bool, typer.Option("--list", help="Show the jobs and their state; run none.")] = False,
    configs: Annotated[
        Path | None, typer.Option("--configs", metavar="DIR", help="Write the jobs as TOML files there; run none.")
    ] = None,
    device: Device = "auto",
) -> None:
    """Run the experiments of a table or figure of the paper.

    Tables 1, 2, 7, 8 and the controls need the same runs, on twelve tables; table 6 and figure 4 need some of them.
    Tables 3 to 5, 9 to 15 and figure 5 need runs on MNIST-SVHN-Text. What is done is not done again, and what was
    interrupted goes on. Prints how many runs are done, started and not begun; at the end, the table as
    `evenhand results` does.

    \b
    Examples:
      evenhand reproduce table1 --quick --datasets hi,wine
      evenhand reproduce table1 --models vae-elbo --list
      evenhand reproduce table4 --models mmvae --executor ray --workers 8
      evenhand reproduce table1 --configs configs
    """
    console: Console = ctx.obj
    if executor == Executor.local and (address, workers) != (None, None):
        option = "--workers" if address is None else "--address"
        raise BadArgumentError(f"{option} should stand with --executor ray. Found the executor local; leave it out.")
    jobs = find_jobs(table, datasets, models, seeds, quick, controls)
    check_device(device)
    if configs is not None:
        _write_configs(console, jobs, configs)
        return
    folders = _folders(jobs, out)
    counts = _show_counts(console, folders)
    if list_:
        _list(console, folders, counts)
        return
    options: dict[str, Any] = {"executor": str(executor), "address": address, "workers": workers, "device": device}
    done = 0 if force else counts["done"]
    if done < len(jobs):
        check_out(out)
    console.resumes = True
    from ..lab import execute

    with job_bars(console, len(jobs), done, one_by_one=executor == Executor.local) as bars:
        folders = execute(
            jobs, out, force=force, begin=bars.begin, finish=bars.finish, command=console.command, **options
        )
    console.resumes = False
    result = Result(table, [folder.report() for folder in folders], [folder.path for folder in folders])
    show(console, result, runs=[str(folder.path) for folder in folders])


def find_jobs(
    table: str, datasets: str | None, models: str | None, seeds: int | None, quick: bool, controls: bool
) -> list[Experiment]:
    """The experiments of a table or figure."""
    if table not in REPRODUCIBLE:
        advice = closest(table, REPRODUCIBLE)
        raise BadArgumentError(f"TABLE should be one of {', '.join(REPRODUCIBLE)}. Found {table!r}.{advice}")
    if table in OF_MODALITIES:
        if not controls:
            raise BadArgumentError(f"--no-controls should be left out for {table}: it has no controls.")
        return _multimodal(table, datasets, models, seeds, quick)
    return _tabular(table, datasets, models, n_seeds=seeds, quick=quick, controls=controls)


def _tabular(table: str, datasets: str | None, models: str | None, **options: Any) -> list[Experiment]:
    from ..lab import PAIR_PLOTS, table1_jobs

    chosen_data = split(datasets, "--datasets", tuple(DATASETS))
    chosen_models = split(models, "--models", MODELS)
    if table in ("table6", "figure4"):  # about the data, and about one model
        chosen_models = chosen_models or ["vae-elbo"]
    if table == "figure4":
        chosen_data = chosen_data or [*PAIR_PLOTS]
    with arguments():
        jobs = table1_jobs(chosen_data, chosen_models, **options)
    if table == "figure4":  # the paper's have these rows anyway
        jobs = [replace(job, evaluation=replace(job.evaluation, generate=PAIR_ROWS)) for job in jobs]
    return [*jobs]


def _multimodal(
    table: str, datasets: str | None, models: str | None, seeds: int | None, quick: bool
) -> list[Experiment]:
    from ..lab import multimodal_jobs

    if datasets is not None:
        raise BadArgumentError(f"--datasets should be left out for {table}: it is about MNIST-SVHN-Text.")
    experts: Any = split(models, "--models", EXPERTS) or EXPERTS
    objectives: Any = OF_MODALITIES[table]
    with arguments():
        return [*multimodal_jobs(objectives, experts, None if seeds is None else range(seeds), quick)]


def _folders(jobs: Sequence[Experiment], out: Path) -> list[Folder]:
    from ..lab import Folder, resolve

    return [Folder(out, resolve(job)) for job in jobs]


def _show_counts(console: Console, folders: Sequence[Folder]) -> Counter[str]:
    counts: Counter[str] = Counter(folder.state for folder in folders)
    said = ", ".join(f"{counts[state]} {state}" for state in ("done", "started", "not begun"))
    console.say(f"{len(folders)} run{'s' if len(folders) > 1 else ''}: {said}.")
    return counts


def _list(console: Console, folders: Sequence[Folder], counts: Counter[str]) -> None:
    console.table(("state", "directory"), [(folder.state, str(folder.path)) for folder in folders])
    jobs = [{"name": f.config.name, "state": f.state, "folder": str(f.path)} for f in folders]
    console.result({"counts": {state: counts[state] for state in ("done", "started", "not begun")}, "jobs": jobs})


def _write_configs(console: Console, jobs: Sequence[Experiment], folder: Path) -> None:
    from ..common import whole_file
    from ..lab import to_toml

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{job.name}.toml" for job in jobs]
    for job, path in zip(jobs, paths, strict=True):
        with whole_file(path) as partial:
            partial.write_text(to_toml(job), encoding="utf-8")
    console.say(f"{len(jobs)} configs written to {folder}; run one with: evenhand run {paths[0]}")
    console.result({"configs": [str(path) for path in paths]})
