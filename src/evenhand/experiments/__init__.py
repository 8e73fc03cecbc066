"""Experiments: a config becomes a run, a run a directory, directories a table, a table a figure, and a run a page."""

from ._config import (
    Experiment,
    MultimodalExperiment,
    TableExperiment,
    from_dict,
    hash_of,
    read_config,
    to_dict,
    to_toml,
)
from ._execute import FailedError, execute
from ._figures import parallel, rate_distortion
from ._folder import Folder, open_folder
from ._multimodal_tables import coherence_by_objective, log_likelihoods, table3, table4, table5, table9
from ._page import page, write_page
from ._pairplot import pair_plot
from ._paper import comparison, table1_jobs
from ._paper_multimodal import multimodal_jobs
from ._results import TableReport, read_reports
from ._run import run
from ._selection import select
from ._table import Table
from ._tables import controls, equal_rate, overhead, table1, table2, table6, table7, table8

__all__ = [
    "Experiment",
    "FailedError",
    "Folder",
    "MultimodalExperiment",
    "Table",
    "TableExperiment",
    "TableReport",
    "coherence_by_objective",
    "comparison",
    "controls",
    "equal_rate",
    "execute",
    "from_dict",
    "hash_of",
    "log_likelihoods",
    "multimodal_jobs",
    "open_folder",
    "overhead",
    "page",
    "pair_plot",
    "parallel",
    "rate_distortion",
    "read_config",
    "read_reports",
    "run",
    "select",
    "table1",
    "table1_jobs",
    "table2",
    "table3",
    "table4",
    "table5",
    "table6",
    "table7",
    "table8",
    "table9",
    "to_dict",
    "to_toml",
    "write_page",
]
