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
