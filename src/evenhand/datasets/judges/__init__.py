"""Classifiers that judge generated modalities."""

from ._classifiers import ImageClassifier, TextClassifier
from ._deep import DeepImageClassifier
from ._judges import Classifiers, Judge, Labelled, digit_classifiers, train_classifier

__all__ = [
    "Classifiers",
    "DeepImageClassifier",
    "ImageClassifier",
    "Judge",
    "Labelled",
    "TextClassifier",
    "digit_classifiers",
    "train_classifier",
]
