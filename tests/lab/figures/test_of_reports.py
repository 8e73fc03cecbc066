"""Figures made of reports: what is in them."""
# ruff: noqa: RUF001  # the paper's letter is α

import xml.etree.ElementTree as ElementTree

import pytest

from evenhand.lab.figures import parallel, rate_distortions

from .._reports import multimodal_report, table_report
from ..results.test_tables import mixtures, report_of


def test_rate_distortion_is_the_same_every_time():
    reports = [report_of("hi"), report_of("wine"), report_of("own")]
    text = rate_distortions(reports)["all"]
    assert text == rate_distortions(reports)["all"]
    words = "".join(ElementTree.fromstring(text).itertext())
    for word in ("HI VAE-ELBO", "own VAE-ELBO", "rate, nats", "chosen by validation", "without norm restoration"):
        assert word in words
    assert words.index("Wine VAE-ELBO") < words.index("HI VAE-ELBO")


def test_rate_distortion_of_plain_training_and_of_nothing():
    words = "".join(ElementTree.fromstring(rate_distortions([table_report(methods=("sum",))])["all"]).itertext())
    assert "chosen by validation" not in words
    with pytest.raises(ValueError, match="reports should have at least one of a table experiment"):
        rate_distortions([multimodal_report()])["all"]


def test_parallel_coordinates():
    text = parallel(mixtures(), "MMVAE", data="mnist_svhn_text")
    assert text == parallel(mixtures(), "MMVAE", data="mnist_svhn_text")
    words = "".join(ElementTree.fromstring(text).itertext())
    assert "ELBO, vanilla" in words
    assert "SIWAE, CG (α=0.4), LI + EEI" in words
    with pytest.raises(ValueError, match="at least one of MoPoE on mnist_svhn_text"):
        parallel(mixtures(), "MoPoE", data="mnist_svhn_text")
