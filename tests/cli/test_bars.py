"""Progress of many jobs."""

import io

from rich.console import Console as Terminal
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from evenhand.cli._bars import Jobs
from evenhand.cli._console import Console
from evenhand.lab import Data, TableExperiment


class _Folder:
    def __init__(self, config):
        self.config = config


def test_bars_show_all_jobs_and_the_one_that_runs():
    folder = _Folder(TableExperiment(Data("hi")))
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn("{task.fields[words]}"))
    bars = Progress(*columns, console=Terminal(file=io.StringIO(), width=100))
    jobs = Jobs(Console(), 3, 1, bars, one_by_one=True)
    jobs.begin(folder, 0)(100, "half way")
    everything, running = bars.tasks
    assert (everything.completed, everything.total) == (1, 3)
    assert (running.completed, running.total, running.fields["words"]) == (100, 400, "half way")
    jobs.finish(folder)
    assert [task.completed for task in bars.tasks] == [2]


def test_without_a_terminal_there_is_a_line(capsys):
    folder = _Folder(TableExperiment(Data("hi")))
    jobs = Jobs(Console(), 3, 1, None, one_by_one=True)
    jobs.begin(folder, 0)(100, "9 runs")
    assert jobs.words() == "1 of 3 experiments done; hi-vae-elbo: 25 % (9 runs)"
    jobs.finish(folder)
    assert jobs.words() == "2 of 3 experiments done"
    assert capsys.readouterr().err == "done: hi-vae-elbo (2 of 3)\n"
