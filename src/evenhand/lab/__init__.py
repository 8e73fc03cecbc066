"""Experiments: a config becomes a run, a run a directory, directories a table, a table a figure, and a run a page."""

from ._coherence import (
    coherence,
    coherence_summary,
    conditional_log_likelihoods,
    joint_coherence,
    rates,
    sum_over_targets,
)
from ._config import (
    Data,
    Experiment,
    MultimodalExperiment,
    TableExperiment,
    from_dict,
    hash_of,
    read_config,
    resolve,
    to_dict,
    to_toml,
)
from ._execute import FailedError, execute
from ._figures import parallel, rate_distortion
from ._folder import Folder, open_folder
from ._latent_classification import latent_classification
from ._multimodal_figures import parallel_coordinates, sample_grid
from ._multimodal_scores import MultimodalScores, evaluate
from ._multimodal_tables import coherence_by_objective, log_likelihoods, table3, table4, table5, table9
from ._page import page, write_page
from ._page_answer import column_pairs, lead
from ._pairplot import pair_plot
from ._paper import PAIR_PLOTS, comparison, table1_jobs
from ._paper_multimodal import multimodal_jobs
from ._results import OPPOSED, TableReport, read_reports
from ._run import run
from ._score_tables import (
    coherence_table,
    latent_table,
    log_likelihood_table,
    rate_table,
    reconstruction_table,
    side_by_side,
    to_markdown,
    to_text,
)
from ._selection import MODELS, select
from ._splits import load
from ._statistics import TTest, corrected_paired_t_test
from ._table import Table
from ._tables import controls, equal_rate, overhead, table1, table2, table6, table7, table8

__all__ = [
    "MODELS",
    "OPPOSED",
    "PAIR_PLOTS",
    "Data",
    "Experiment",
    "FailedError",
    "Folder",
    "MultimodalExperiment",
    "MultimodalScores",
    "TTest",
    "Table",
    "TableExperiment",
    "TableReport",
    "coherence",
    "coherence_by_objective",
    "coherence_summary",
    "coherence_table",
    "column_pairs",
    "comparison",
    "conditional_log_likelihoods",
    "controls",
    "corrected_paired_t_test",
    "equal_rate",
    "evaluate",
    "execute",
    "from_dict",
    "hash_of",
    "joint_coherence",
    "latent_classification",
    "latent_table",
    "lead",
    "load",
    "log_likelihood_table",
    "log_likelihoods",
    "multimodal_jobs",
    "open_folder",
    "overhead",
    "page",
    "pair_plot",
    "parallel",
    "parallel_coordinates",
    "rate_distortion",
    "rate_table",
    "rates",
    "read_config",
    "read_reports",
    "reconstruction_table",
    "resolve",
    "run",
    "sample_grid",
    "select",
    "side_by_side",
    "sum_over_targets",
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
    "to_markdown",
    "to_text",
    "to_toml",
    "write_page",
]
