"""Estimators: a table with holes, and several modalities of the same things."""

from ._modality import Modality
from ._multimodal_vae import MultimodalVAE
from ._report import Report
from ._tabular_vae import TabularVAE

__all__ = ["Modality", "MultimodalVAE", "Report", "TabularVAE"]
