"""Configs of experiments: dataclasses that mirror their TOML one to one."""

from ._column_weights import GRADIENT, weights_by_kind
from ._files import Experiment, from_dict, hash_of, read_config, resolve, to_dict, to_toml, toml_text
from ._multimodal import (
    ExpertsLabel,
    Impartiality,
    MethodLabel,
    MultimodalData,
    MultimodalEvaluation,
    MultimodalExperiment,
    MultimodalModel,
    MultimodalObjective,
    MultimodalTraining,
)
from ._panels import PanelData, PanelEvaluation, PanelExperiment, PanelModel, PanelTraining
from ._survival import (
    SurvivalExperiment,
    SurvivalModel,
    SurvivalObjective,
    TightnessLabel,
)
from ._tables import Data, Evaluation, Model, Objective, Place, Runs, TableExperiment, Training

__all__ = [
    "GRADIENT",
    "Data",
    "Evaluation",
    "Experiment",
    "ExpertsLabel",
    "Impartiality",
    "MethodLabel",
    "Model",
    "MultimodalData",
    "MultimodalEvaluation",
    "MultimodalExperiment",
    "MultimodalModel",
    "MultimodalObjective",
    "MultimodalTraining",
    "Objective",
    "PanelData",
    "PanelEvaluation",
    "PanelExperiment",
    "PanelModel",
    "PanelTraining",
    "Place",
    "Runs",
    "SurvivalExperiment",
    "SurvivalModel",
    "SurvivalObjective",
    "TableExperiment",
    "TightnessLabel",
    "Training",
    "from_dict",
    "hash_of",
    "read_config",
    "resolve",
    "to_dict",
    "to_toml",
    "toml_text",
    "weights_by_kind",
]
