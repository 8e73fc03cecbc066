"""Progress of many jobs."""

import io
from pathlib import Path

from rich.console import Console as Terminal
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from evenhand.cli._bars import Jobs
from evenhand.cli._console import Console
from evenhand.lab import Data, TableExperiment


class _Folder:
    def __init__(self, config):
        self.config, self.path = config, Path("runs") / config.name


def test_bars_show_all_jobs_and_the_one_that_runs():
    folder = _Folder(TableExperiment(Data("hi")))
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn("{task.fields[words]}"))
    bars = Progress(*columns, console=Terminal(file=io.StringIO(), width=100))
    jobs = Jobs(Console(), 3, 1, bars, followed=True)
    jobs.begin(folder, 0)(100, "half way")
    everything, running = bars.tasks
    assert (everything.completed, everything.total) == (1, 3)
    assert (running.completed, running.total, running.fields["words"]) == (100, 400, "half way")
    jobs.finish(folder)
    assert [task.completed for task in bars.tasks] == [2]


def test_without_a_terminal_there_is_a_line(capsys):
    folder = _Folder(TableExperiment(Data("hi")))
    jobs = Jobs(Console(), 3, 1, None, followed=True)
    jobs.begin(folder, 0)(100, "9 runs")
    assert jobs.words() == "1 of 3 experiments done; hi-vae-elbo: 25 % (9 runs)"
    jobs.finish(folder)
    assert jobs.words() == "2 of 3 experiments done"
    assert capsys.readouterr().err == "done: hi-vae-elbo (2 of 3)\n"


def test_jobs_side_by_side_have_a_bar_each():
    one, other = (_Folder(TableExperiment(Data(name))) for name in ("hi", "wine"))
    bars = Progress(console=Terminal(file=io.StringIO(), width=100))
    jobs = Jobs(Console(), 3, 0, bars, followed=True)
    first, second = jobs.begin(one, 0), jobs.begin(other, 1)
    second(200, "")
    first(100, "")
    assert [task.completed for task in bars.tasks] == [0, 100, 200]
    jobs.finish(one)
    assert [task.completed for task in bars.tasks] == [1, 200]
    jobs.fail(other, ValueError("no rows"))
    assert [task.completed for task in bars.tasks] == [1]


def test_a_failure_is_told_at_once(capsys):
    one, other = (_Folder(TableExperiment(Data(name))) for name in ("hi", "wine"))
    jobs = Jobs(Console(), 3, 0, None, followed=True)
    jobs.begin(one, 0)(100, "9 runs")
    jobs.begin(other, 1)(200, "9 runs")
    assert jobs.words() == "0 of 3 experiments done; hi-vae-elbo: 25 % (9 runs); wine-vae-elbo: 50 % (9 runs)"
    jobs.fail(one, ValueError("no rows"))
    assert capsys.readouterr().err == "failed: hi-vae-elbo: no rows\n"
    assert jobs.words() == "0 of 3 experiments done; wine-vae-elbo: 50 % (9 runs)"


def test_jobs_on_a_cluster_are_not_followed():
    folder = _Folder(TableExperiment(Data("hi")))
    jobs = Jobs(Console(), 3, 0, None, followed=False)
    jobs.begin(folder, 0)(100, "9 runs")
    assert jobs.words() == "0 of 3 experiments done"
    jobs.finish(folder)
    assert jobs.words() == "1 of 3 experiments done"
