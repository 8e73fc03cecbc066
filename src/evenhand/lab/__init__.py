"""The paper: a config becomes a run, a run a directory, directories a table, a table a figure, and a run a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from ._catalogue import EXHIBITS, Exhibit
    from ._config import (
        Data,
        Experiment,
        MultimodalExperiment,
        TableExperiment,
        from_dict,
        read_config,
        resolve,
        to_dict,
        to_toml,
    )
    from ._execute import FailedError, execute
    from ._folder import Folder, open_folder
    from ._paper import comparison
    from ._run import run
    from ._splits import load
    from .figures import pair_plot, sample_grid
    from .judges import MultimodalScores, evaluate
    from .page import lead, write_page
    from .results import (
        OPPOSED,
        Table,
        TableReport,
        column_pairs,
        corrected_paired_t_test,
        reached,
        read_reports,
        run_folders,
    )

__all__ = [
    "EXHIBITS",
    "OPPOSED",
    "Data",
    "Exhibit",
    "Experiment",
    "FailedError",
    "Folder",
    "MultimodalExperiment",
    "MultimodalScores",
    "Table",
    "TableExperiment",
    "TableReport",
    "column_pairs",
    "comparison",
    "corrected_paired_t_test",
    "evaluate",
    "execute",
    "from_dict",
    "lead",
    "load",
    "open_folder",
    "pair_plot",
    "reached",
    "read_config",
    "read_reports",
    "resolve",
    "run",
    "run_folders",
    "sample_grid",
    "to_dict",
    "to_toml",
    "write_page",
]

_HOMES = {
    "EXHIBITS": "_catalogue",
    "OPPOSED": "results",
    "Data": "_config",
    "Exhibit": "_catalogue",
    "Experiment": "_config",
    "FailedError": "_execute",
    "Folder": "_folder",
    "MultimodalExperiment": "_config",
    "MultimodalScores": "judges",
    "Table": "results",
    "TableExperiment": "_config",
    "TableReport": "results",
    "column_pairs": "results",
    "comparison": "_paper",
    "corrected_paired_t_test": "results",
    "evaluate": "judges",
    "execute": "_execute",
    "from_dict": "_config",
    "lead": "page",
    "load": "_splits",
    "open_folder": "_folder",
    "pair_plot": "figures",
    "reached": "results",
    "read_config": "_config",
    "read_reports": "results",
    "resolve": "_config",
    "run": "_run",
    "run_folders": "results",
    "sample_grid": "figures",
    "to_dict": "_config",
    "to_toml": "_config",
    "write_page": "page",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES, "experiments")
