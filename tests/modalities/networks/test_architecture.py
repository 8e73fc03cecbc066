"""Two networks are the same if their modules are, with all that these were told."""

import json

import pytest
import torch
from torch import nn

from evenhand.datasets import MNISTEncoder, SVHNEncoder
from evenhand.modalities.networks import architecture, architecture_text, default_encoder, difference


class Own(nn.Module):
    def __init__(self, activation=torch.tanh, size=3, sides=((1, 2), (3, 4))):
        super().__init__()
        self.layer = nn.Linear(2, size)
        self._activation, self.sides = activation, sides

    def forward(self, x):
        return self._activation(self.layer(x))


PAIRS = [
    (nn.Tanh(), nn.ReLU(), "the network is Tanh() there and ReLU("),
    (nn.Sequential(nn.ELU(0.5)), nn.Sequential(nn.ELU(0.7)), "0 is ELU(alpha=0.5"),
    (nn.Sequential(nn.ELU()), nn.Sequential(nn.ELU(), nn.ELU()), "1 is nothing() there and ELU("),
    (nn.Sequential(nn.ELU(), nn.ELU()), nn.Sequential(nn.ELU()), "1 is ELU("),
    (Own(), Own(torch.relu), "activation=tanh"),
    (Own(), Own(size=4), "layer is Linear(in_features=2, out_features=3) there and Linear(in_features=2, out_f"),
    (Own(), Own(sides=((1, 2), (3, 5))), "sides=[[1, 2], [3, 4]]"),
    (nn.Conv2d(1, 2, 3, stride=2), nn.Conv2d(1, 2, 3, stride=1), "stride=[2, 2]"),
    (MNISTEncoder(2), MNISTEncoder(2, scale="softplus"), "positive=_shared_scale"),
    (SVHNEncoder(2), SVHNEncoder(2, scale="softplus"), "positive=_shared_scale"),
    (default_encoder((3,), 2), default_encoder((3,), 2, smallest_scale=0.1), "ScaleFloor(smallest=0.001"),
]


@pytest.mark.parametrize(("one", "other", "words"), PAIRS)
def test_differences_are_named(one, other, words):
    there, here = (json.loads(json.dumps(architecture(network))) for network in (one, other))
    assert words in difference(there, here)
    assert difference(there, architecture(one)) is None
    assert difference(here, architecture(other)) is None
    assert architecture_text(one) != architecture_text(other)


def test_settings_that_one_version_does_not_know_are_no_difference():
    found = architecture(nn.ELU())
    newer = {"": ["ELU", {**found[""][1], "invented": 1}]}
    assert difference(found, newer) is None
    assert difference(newer, found) is None


def test_modes_and_weights_are_no_difference():
    assert difference(architecture(Own()), architecture(Own().eval())) is None
