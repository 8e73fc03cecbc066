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
        PanelExperiment,
        SurvivalExperiment,
        TableExperiment,
        from_dict,
        read_config,
        resolve,
        to_dict,
        to_toml,
    )
    from ._execute import FailedError, execute
    from ._findings import compared, diagnosed
    from ._folder import Folder, open_folder
    from ._multimodal import build_model
    from ._panels import load_panel
    from ._paper import comparison, diagnosis, panel_comparison
    from ._run import run
    from ._splits import load
    from .figures import pair_plot, sample_grid
    from .judges import MultimodalScores, evaluate
    from .page import write_page
    from .results import Table, TableReport, corrected_paired_t_test, reached, read_reports, run_folders

__all__ = [
    "EXHIBITS",
    "Data",
    "Exhibit",
    "Experiment",
    "FailedError",
    "Folder",
    "MultimodalExperiment",
    "MultimodalScores",
    "PanelExperiment",
    "SurvivalExperiment",
    "Table",
    "TableExperiment",
    "TableReport",
    "build_model",
    "compared",
    "comparison",
    "corrected_paired_t_test",
    "diagnosed",
    "diagnosis",
    "evaluate",
    "execute",
    "from_dict",
    "load",
    "load_panel",
    "open_folder",
    "pair_plot",
    "panel_comparison",
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
    "Data": "_config",
    "Exhibit": "_catalogue",
    "Experiment": "_config",
    "FailedError": "_execute",
    "Folder": "_folder",
    "MultimodalExperiment": "_config",
    "MultimodalScores": "judges",
    "PanelExperiment": "_config",
    "SurvivalExperiment": "_config",
    "Table": "results",
    "TableExperiment": "_config",
    "TableReport": "results",
    "build_model": "_multimodal",
    "compared": "_findings",
    "comparison": "_paper",
    "corrected_paired_t_test": "results",
    "diagnosed": "_findings",
    "diagnosis": "_paper",
    "evaluate": "judges",
    "execute": "_execute",
    "from_dict": "_config",
    "load": "_splits",
    "load_panel": "_panels",
    "open_folder": "_folder",
    "pair_plot": "figures",
    "panel_comparison": "_paper",
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
