"""Posterior scales of networks that are made here cannot reach zero."""

import pytest
import torch
from torch.nn import functional as F

from evenhand import Modality, MultimodalVAE
from evenhand.modalities.networks import default_encoder
from evenhand.modalities.networks._floor import ScaleFloor

SHAPES = [(1, 8, 8), (8, 5), (6,), ()]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("smallest", [1e-3, 0.1])
def test_no_scale_is_below_the_floor(shape, smallest):
    """Whatever the weights have become."""
    encoder = default_encoder(shape, 3, smallest_scale=smallest)
    model = MultimodalVAE({"x": Modality(encoder, shape=shape)}, n_latent=3)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.mul_(30)
        for bias in [p for p in encoder.parameters() if p.ndim == 1][-1:]:
            bias[3:] = -1e4
    _, scale = model.network.posteriors({"x": torch.rand(5, *shape)})
    assert scale.min().item() == pytest.approx(smallest, rel=2e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_scales_above_it_are_as_before(shape):
    torch.manual_seed(0)
    floored = default_encoder(shape, 3)
    torch.manual_seed(0)
    plain = default_encoder(shape, 3, smallest_scale=0)
    assert floored.state_dict().keys() == plain.state_dict().keys()  # files of 0.1.0 fit
    x = torch.rand(4, *shape)
    assert torch.equal(floored(x), plain(x))


def test_a_scale_can_come_back_up():
    raw = torch.tensor([[0.0, -20.0], [0.0, -20.0], [0.0, 1.0], [0.0, 1.0]], requires_grad=True)
    output = ScaleFloor(1e-3)(raw)
    torch.testing.assert_close(F.softplus(output[:2, 1]), torch.full((2,), 1e-3))
    output.backward(torch.tensor([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]]))
    # a positive gradient lowers: below the floor there is nothing to lower
    assert raw.grad.tolist() == [[1, 0], [1, -1], [1, 1], [1, -1]]


def test_a_floor_that_is_none():
    with pytest.raises(ValueError, match="smallest_scale should be a number >= 0. Found -1"):
        default_encoder((3,), 2, smallest_scale=-1)
