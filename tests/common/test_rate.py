"""What a KL weight may be, and what is said of a rate that was missed."""

import pytest

from evenhand.common import ArgumentError, check_kl_weight, missed_rate, misses, wanted_rate


@pytest.mark.parametrize(
    ("weight", "rate"),
    [("rate:8", 8.0), ("rate:0.5", 0.5), ("rate:1e1", 10.0), (0.3, None), ("0.3", None), ("rate:", None)],
)
def test_a_rate_is_read(weight, rate):
    assert wanted_rate(weight) == rate


@pytest.mark.parametrize("weight", [0, 0.3, 1, "rate:8"])
def test_weights_and_rates_pass(weight):
    check_kl_weight("kl_weight", weight)


@pytest.mark.parametrize(
    "weight", [-1, float("nan"), float("inf"), "8", "rate:", "rate:0", "rate:-1", "rate:inf", None]
)
def test_everything_else_is_refused(weight):
    with pytest.raises(ArgumentError, match="kl_weight should be a number >= 0, or a rate to hold"):
        check_kl_weight("kl_weight", weight)


def test_misses():
    assert not misses(8.2, 8.0)
    assert not misses(7.8, 8.0)
    assert misses(8.3, 8.0)
    assert misses(7.7, 8.0)
    assert misses(float("nan"), 8.0)


def test_the_sentence_has_the_figures():
    assert "should be 8 nats per row. Found 5.12 at KL weight 1e-06" in missed_rate(5.123, 8.0, 1e-6)
    assert "enlarge n_latent" in missed_rate(5.1, 8.0, 1e-6)
    assert "Ask for a higher rate" in missed_rate(12.0, 8.0, 2.0)
