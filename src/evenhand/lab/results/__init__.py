"""Results from reports alone: tables of them, the paper's numbers beside ours, and which differences are chance."""

from ._beside_paper import all_live, beside_the_paper
from ._columns import ColumnErrors, Tally, column_pairs, medians, tally
from ._costs import controls, equal_rate, overhead, reached
from ._held import held_rates, read_held
from ._of_modalities import OBJECTIVES, coherence_by_objective, log_likelihoods, table3, table4, table5, table9
from ._of_tables import table1, table2, table6, table7, table8
from ._order import Reports, ordered, title_of
from ._published import DATA, GROUPS, SETTINGS
from ._relevant import read_benchmarks, read_experiments, run_folders
from ._reports import FORMAT, OF_COLUMNS, OPPOSED, SLACK, Run, TableReport, read_reports, run_label
from ._score_rows import (
    BASELINE,
    Result,
    Row,
    coherence_rows,
    columns_of,
    latent_rows,
    log_likelihood_rows,
    rate_rows,
    reconstruction_rows,
)
from ._selection import MODELS, chosen_results, data_of, different_settings, impartiality_label
from ._statistics import ALPHA, TTest, better, corrected_paired_t_test, wilson
from ._survivors import collected, read_survivals, survival
from ._table import UNKNOWN, Cell, Line, Table
from ._verdict import CODES, FEW, HOLES, ROWS, Advice, Role, fair, few_rows, verdict

__all__ = [
    "ALPHA",
    "BASELINE",
    "CODES",
    "DATA",
    "FEW",
    "FORMAT",
    "GROUPS",
    "HOLES",
    "MODELS",
    "OBJECTIVES",
    "OF_COLUMNS",
    "OPPOSED",
    "ROWS",
    "SETTINGS",
    "SLACK",
    "UNKNOWN",
    "Advice",
    "Cell",
    "ColumnErrors",
    "Line",
    "Reports",
    "Result",
    "Role",
    "Row",
    "Run",
    "TTest",
    "Table",
    "TableReport",
    "Tally",
    "all_live",
    "beside_the_paper",
    "better",
    "chosen_results",
    "coherence_by_objective",
    "coherence_rows",
    "collected",
    "column_pairs",
    "columns_of",
    "controls",
    "corrected_paired_t_test",
    "data_of",
    "different_settings",
    "equal_rate",
    "fair",
    "few_rows",
    "held_rates",
    "impartiality_label",
    "latent_rows",
    "log_likelihood_rows",
    "log_likelihoods",
    "medians",
    "ordered",
    "overhead",
    "rate_rows",
    "reached",
    "read_benchmarks",
    "read_experiments",
    "read_held",
    "read_reports",
    "read_survivals",
    "reconstruction_rows",
    "run_folders",
    "run_label",
    "survival",
    "table1",
    "table2",
    "table3",
    "table4",
    "table5",
    "table6",
    "table7",
    "table8",
    "table9",
    "tally",
    "title_of",
    "verdict",
    "wilson",
]
