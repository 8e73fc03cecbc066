"""The paper: a config becomes a run, a run a directory, directories a table, a table a figure, and a run a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from ._catalogue import EXHIBITS, PAIR_PLOTS, Exhibit
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
    from ._findings import compared, diagnosed
    from ._folder import Folder, open_folder
    from ._latent_classification import latent_classification
    from ._multimodal_figures import parallel_coordinates, sample_grid
    from ._multimodal_scores import MultimodalScores, evaluate
    from ._multimodal_tables import coherence_by_objective, log_likelihoods, table3, table4, table5, table9
    from ._page import page, write_page
    from ._page_answer import column_pairs, lead
    from ._pairplot import pair_plot
    from ._paper import comparison, diagnosis, table1_jobs
    from ._paper_multimodal import multimodal_jobs
    from ._relevant import run_folders
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
    from ._tables import controls, equal_rate, overhead, reached, table1, table2, table6, table7, table8

__all__ = [
    "EXHIBITS",
    "MODELS",
    "OPPOSED",
    "PAIR_PLOTS",
    "Data",
    "Exhibit",
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
    "compared",
    "comparison",
    "conditional_log_likelihoods",
    "controls",
    "corrected_paired_t_test",
    "diagnosed",
    "diagnosis",
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
    "reached",
    "read_config",
    "read_reports",
    "reconstruction_table",
    "resolve",
    "run",
    "run_folders",
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

_HOMES = {
    "Data": "_config",
    "EXHIBITS": "_catalogue",
    "Exhibit": "_catalogue",
    "Experiment": "_config",
    "FailedError": "_execute",
    "Folder": "_folder",
    "MODELS": "_selection",
    "MultimodalExperiment": "_config",
    "MultimodalScores": "_multimodal_scores",
    "OPPOSED": "_results",
    "PAIR_PLOTS": "_catalogue",
    "TTest": "_statistics",
    "Table": "_table",
    "TableExperiment": "_config",
    "TableReport": "_results",
    "coherence": "_coherence",
    "coherence_by_objective": "_multimodal_tables",
    "coherence_summary": "_coherence",
    "coherence_table": "_score_tables",
    "column_pairs": "_page_answer",
    "compared": "_findings",
    "comparison": "_paper",
    "conditional_log_likelihoods": "_coherence",
    "controls": "_tables",
    "corrected_paired_t_test": "_statistics",
    "diagnosed": "_findings",
    "diagnosis": "_paper",
    "equal_rate": "_tables",
    "evaluate": "_multimodal_scores",
    "execute": "_execute",
    "from_dict": "_config",
    "hash_of": "_config",
    "joint_coherence": "_coherence",
    "latent_classification": "_latent_classification",
    "latent_table": "_score_tables",
    "lead": "_page_answer",
    "load": "_splits",
    "log_likelihood_table": "_score_tables",
    "log_likelihoods": "_multimodal_tables",
    "multimodal_jobs": "_paper_multimodal",
    "open_folder": "_folder",
    "overhead": "_tables",
    "page": "_page",
    "pair_plot": "_pairplot",
    "parallel": "_figures",
    "parallel_coordinates": "_multimodal_figures",
    "rate_distortion": "_figures",
    "rate_table": "_score_tables",
    "rates": "_coherence",
    "reached": "_tables",
    "read_config": "_config",
    "read_reports": "_results",
    "reconstruction_table": "_score_tables",
    "resolve": "_config",
    "run": "_run",
    "run_folders": "_relevant",
    "sample_grid": "_multimodal_figures",
    "select": "_selection",
    "side_by_side": "_score_tables",
    "sum_over_targets": "_coherence",
    "table1": "_tables",
    "table1_jobs": "_paper",
    "table2": "_tables",
    "table3": "_multimodal_tables",
    "table4": "_multimodal_tables",
    "table5": "_multimodal_tables",
    "table6": "_tables",
    "table7": "_tables",
    "table8": "_tables",
    "table9": "_multimodal_tables",
    "to_dict": "_config",
    "to_markdown": "_score_tables",
    "to_text": "_score_tables",
    "to_toml": "_config",
    "write_page": "_page",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES, "experiments")
