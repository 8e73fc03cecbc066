"""Estimators: a table with holes, and several modalities of the same things."""

from ._mnist_svhn_text import PAPER_SETTINGS, mnist_svhn_text_modalities
from ._modality import Modality
from ._multimodal_vae import MultimodalVAE
from ._report import Report
from ._tabular_vae import TabularVAE

__all__ = ["PAPER_SETTINGS", "Modality", "MultimodalVAE", "Report", "TabularVAE", "mnist_svhn_text_modalities"]
