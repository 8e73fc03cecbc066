"""Densities and divergences of normal variables."""

import torch
from torch import distributions as td

from evenhand.common import log_normal, normal_divergence


def test_densities_and_divergences_are_those_of_normal_variables():
    mean, scale, centre, width = torch.rand(4, 7, generator=torch.Generator().manual_seed(0)) + 0.2
    one, other = td.Normal(mean, scale), td.Normal(centre, width)
    torch.testing.assert_close(normal_divergence(mean, scale, centre, width), td.kl_divergence(one, other))
    standard = td.kl_divergence(one, td.Normal(0.0, 1.0))
    torch.testing.assert_close(normal_divergence(mean, scale), standard)
    torch.testing.assert_close(log_normal(centre, mean, scale.log()), one.log_prob(centre).sum())
