"""Classifiers that judge generated modalities."""

from ._classifiers import ImageClassifier, TextClassifier
from ._judges import Classifiers, Labelled, digit_classifiers, train_classifier

__all__ = [
    "Classifiers",
    "ImageClassifier",
    "Labelled",
    "TextClassifier",
    "digit_classifiers",
    "train_classifier",
]
