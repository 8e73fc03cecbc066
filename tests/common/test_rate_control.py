"""The controller of rates, where the rate is a known function of the KL weight."""

import math

import pytest
import torch

from evenhand.common import RateControl

LOADINGS = torch.tensor([[3.0, 0.5, 0.0], [1.0, 2.0, 0.1]])  # of x on z
NOISE = 0.7  # its standard deviation


def best_rate(kl_weight):
    r"""The rate of a linear-Gaussian model, :math:`x = W^T z + \sigma \epsilon`, with the best q at a KL weight.

    :math:`E_q[\log p(x|z)] - \beta\,\mathrm{KL}` is largest for a Gaussian with precision
    :math:`1 + W W^T / (\beta\sigma^2)`; its mean over x of the model gives the rate in closed form.
    """
    weight = torch.as_tensor(kl_weight).double()
    loadings = LOADINGS.double()
    gram = loadings @ loadings.T / NOISE**2
    eye = torch.eye(2, dtype=torch.float64)
    precision = eye + gram / weight[..., None, None]
    covariance = torch.linalg.inv(precision)
    gain = covariance @ loadings / (NOISE**2 * weight[..., None, None])
    of_x = loadings.T @ loadings + NOISE**2 * torch.eye(3, dtype=torch.float64)
    means = gain @ of_x @ gain.mT
    trace = (covariance + means).diagonal(dim1=-2, dim2=-1).sum(-1)
    return 0.5 * (trace - 2 + torch.linalg.slogdet(precision).logabsdet)


def weight_of(rate):
    """By bisection: the rate falls with the weight."""
    low, high = -12.0, 8.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if best_rate(math.exp(middle)) > rate else (low, middle)
    return math.exp(low)


def follow(control, steps, *, noise=0.0, lag=0.99, distortion=1.0, check=0, seed=0):
    """A model whose rate creeps towards the best one at the weight of the moment, as training does."""
    generator = torch.Generator().manual_seed(seed)
    rate = best_rate(control.weights())
    for step in range(steps):
        rate = lag * rate + (1 - lag) * best_rate(control.weights())
        luck = 1 + noise * torch.randn(rate.shape, generator=generator).double()
        control.update(rate * luck / distortion)
        if check and step % check == 0:
            control.calibrate(rate)
    return rate


@pytest.mark.parametrize("rate", [0.3, 1.0, 3.0, 6.0, 12.0])
def test_the_weight_is_that_of_the_closed_form(rate):
    control = RateControl([f"rate:{rate}"])
    found = follow(control, 4000)
    assert float(found) == pytest.approx(rate, rel=1e-3)
    assert float(control.weights()) == pytest.approx(weight_of(rate), rel=1e-2)


def test_batches_are_noisy():
    control = RateControl(["rate:2", "rate:5"])
    found = follow(control, 4000, noise=0.1)
    assert found.tolist() == pytest.approx([2, 5], rel=0.03)


def test_what_is_measured_counts():
    """Rates in training are lower than those that users read, by a factor that nobody knows beforehand."""
    blind, told = RateControl(["rate:3"]), RateControl(["rate:3"])
    assert float(follow(blind, 4000, distortion=1.3)) == pytest.approx(3.9, rel=0.01)
    assert float(follow(told, 4000, distortion=1.3, check=100)) == pytest.approx(3.0, rel=0.01)


def test_it_knows_no_scale():
    one, other = RateControl(["rate:1"]), RateControl(["rate:1000"])
    for rate in torch.linspace(0.1, 3.0, 50):
        one.update(rate.reshape(1))
        other.update(1000 * rate.reshape(1))
    torch.testing.assert_close(one.weights(), other.weights(), rtol=1e-4, atol=0.0)
    assert float(one.weights()) != 1.0


def test_fixed_weights_stay():
    control = RateControl([0.3, "rate:2", 0.0])
    follow(control, 50)
    assert control.weights()[[0, 2]].tolist() == [pytest.approx(0.3), 0.0]
    assert float(control.weights()[1]) != 1.0
    assert not RateControl.needed([0.3, 1])
    assert RateControl.needed([0.3, "rate:2"])


def test_a_replica_that_diverged_harms_nobody():
    control, alone = RateControl(["rate:2", "rate:2"]), RateControl(["rate:2"])
    for rate in torch.linspace(1.0, 3.0, 20):
        control.update(torch.stack([torch.tensor(math.nan), rate]))
        alone.update(rate.reshape(1))
    control.calibrate(torch.tensor([math.nan, 2.5]))
    alone.calibrate(torch.tensor([2.5]))
    assert torch.isfinite(control.weights()).all()
    assert float(control.weights()[1]) == float(alone.weights())
    assert control.off(torch.tensor([math.nan, 2.0])).tolist() == [math.inf, 0.0]


def test_a_target_out_of_reach_ends_at_the_smallest_weight():
    control = RateControl(["rate:50", "rate:0.001"])
    for _ in range(3000):
        control.update(torch.tensor([1.0, 1.0]))
    assert control.weights().tolist() == pytest.approx([1e-6, 1e4])
    assert control.off(torch.tensor([1.0, 1.0]))[0] == pytest.approx(0.95)


def test_off_is_zero_within_the_tolerance():
    control = RateControl(["rate:10"] * 4 + [1.0])
    off = control.off(torch.tensor([10.29, 9.71, 10.5, 9.0, 99.0]))
    assert off.tolist() == pytest.approx([0, 0, 0.02, 0.07, 0], abs=1e-6)


def test_it_goes_on_exactly():
    straight, stopped = RateControl(["rate:2", 0.5, "rate:5"]), RateControl(["rate:2", 0.5, "rate:5"])
    follow(straight, 20, check=7)
    stopped.load_state_dict(straight.state_dict())
    kept = RateControl(["rate:2", 0.5, "rate:5"])
    kept.load_state_dict(straight.state_dict())
    kept.keep(torch.tensor([2, 1]))
    for control, order in ((straight, [0, 1, 2]), (stopped, [0, 1, 2]), (kept, [2, 1])):
        for rate in torch.linspace(1, 4, 15):
            control.update(rate * torch.tensor([1.0, 2.0, 3.0])[order])
        control.calibrate(torch.tensor([3.0, 2.0, 6.0])[order])
    for name, tensor in straight.state_dict().items():
        assert torch.equal(tensor, stopped.state_dict()[name])
        assert torch.equal(tensor[[2, 1]], kept.state_dict()[name])
    assert torch.equal(kept.weights(), straight.weights()[[2, 1]])
