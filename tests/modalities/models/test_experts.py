"""Experts: products of Gaussians against densities on a grid, which subsets there are, what holes leave of them."""

import itertools

import pytest
import torch
from torch import distributions as td

from evenhand.modalities.inference import posterior_samples
from evenhand.modalities.models import Experts, expert_subsets
from evenhand.modalities.models._experts import members_observed, product_of_experts

from .._linear import CHOICES, draw, network

GRID = torch.linspace(-9, 9, 6001, dtype=torch.float64)


def gaussians(d, rows, n_latent):
    return torch.randn(d, rows, n_latent), torch.rand(d, rows, n_latent) + 0.4


def moments_on_grid(mean, scale, members, prior):
    """Mean and scale of a normalised product of densities of one latent variable; members [D]."""
    log_p = td.Normal(0.0, 1.0).log_prob(GRID) if prior or not members.any() else torch.zeros_like(GRID)
    for m, s in zip(mean[members], scale[members], strict=True):
        log_p = log_p + td.Normal(m, s).log_prob(GRID)
    p = log_p.softmax(0)
    first = (p * GRID).sum()
    return first, ((GRID - first).square() * p).sum().sqrt()


def log_density(experts, z):
    """log q of the mixture at points [N, L] for every row, [N, B]."""
    log_q = td.Normal(experts.mean, experts.scale).log_prob(z[:, None, None]).sum(-1)  # [N, A, B]
    present = torch.ones(log_q.shape[1:], dtype=torch.bool) if experts.present is None else experts.present
    return torch.where(present, log_q, -torch.inf).logsumexp(1) - present.sum(0).log()


# Products


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("per_row", [False, True])
def test_a_product_is_the_normalised_product_of_densities(prior, per_row):
    mean, scale = gaussians(3, 4, 2)
    subsets = torch.tensor([[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]]).bool()
    members = subsets.unsqueeze(-1) & (torch.rand(4, 3, 4) < 0.7) if per_row else subsets
    found_mean, found_scale = product_of_experts(mean, scale, members, prior=prior)
    assert found_mean.shape == found_scale.shape == (4, 4, 2)
    for a, b, j in itertools.product(range(4), range(4), range(2)):
        chosen = members[a, :, b] if per_row else members[a]
        m, s = moments_on_grid(mean[:, b, j], scale[:, b, j], chosen, prior)
        assert found_mean[a, b, j].item() == pytest.approx(m.item(), abs=1e-8)
        assert found_scale[a, b, j].item() == pytest.approx(s.item(), abs=1e-8)


def test_a_product_has_the_density_of_the_product_in_two_dimensions():
    mean, scale = gaussians(2, 1, 2)
    m, s = product_of_experts(mean, scale, torch.ones(1, 2, dtype=torch.bool))
    z = torch.randn(50, 2)
    product = td.Normal(mean[:, 0], scale[:, 0]).log_prob(z[:, None]).sum((1, 2))
    constant = product - td.Normal(m[0, 0], s[0, 0]).log_prob(z).sum(-1)
    torch.testing.assert_close(constant, constant[:1].expand(50))


@pytest.mark.parametrize("prior", [False, True])
def test_a_product_of_nothing_is_the_prior(prior):
    m, s = product_of_experts(*gaussians(3, 4, 2), torch.zeros(2, 3, dtype=torch.bool), prior=prior)
    assert (m == 0).all()
    assert (s == 1).all()


def test_rates_are_divergences_to_the_prior():
    mean, scale = gaussians(3, 4, 2)
    expected = td.kl_divergence(td.Normal(mean, scale), td.Normal(0.0, 1.0)).sum(-1)
    torch.testing.assert_close(Experts(mean, scale).rate(), expected)
    present = torch.rand(3, 4) < 0.5
    torch.testing.assert_close(Experts(mean, scale, present).rate(), expected * present)


# Which experts there are


def test_named_choices():
    assert expert_subsets("abc", "product") == [("a", "b", "c")]
    assert expert_subsets("abc", "mixture") == [("a",), ("b",), ("c",)]
    assert expert_subsets("abc", "mixture-of-products") == [
        *[("a",), ("b",), ("c",)],
        *[("a", "b"), ("a", "c"), ("b", "c")],
        ("a", "b", "c"),
    ]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_single_modality_is_one_expert(choice):
    assert expert_subsets(["a"], choice) == [("a",)]


def test_own_subsets_are_put_in_the_order_of_the_modalities():
    found = expert_subsets(["cat", "dog", "eel"], [["eel", "cat"], "dog", ("dog", "dog", "eel")])
    assert found == [("cat", "eel"), ("dog",), ("dog", "eel")]


@pytest.mark.parametrize(
    ("experts", "message"),
    [
        ([["a"], []], "at least one modality"),
        ([["a"], ["d"]], "Found 'd'"),
        ([["a", "b"], ["c"], ["b", "a"]], "Found a, b twice"),
        ([], "at least one subset"),
        ("experts", "Found 'experts'"),
    ],
)
def test_wrong_experts_are_named(experts, message):
    with pytest.raises(ValueError, match=message):
        expert_subsets("abc", experts)


@pytest.mark.parametrize("max_size", [1, 2, 3, 4, 5, 9])
def test_the_largest_size(max_size):
    found = expert_subsets("abcde", "mixture-of-products", max_size=max_size)
    every = [s for size in range(1, 6) for s in itertools.combinations("abcde", size)]
    assert found == [s for s in every if len(s) <= max_size or len(s) == 5]


def test_a_cap_keeps_single_modalities_and_the_set_of_all():
    every = expert_subsets("abcdef", "mixture-of-products")
    found = expert_subsets("abcdef", "mixture-of-products", max_experts=20)
    assert len(found) == len(set(found)) == 20
    assert found[:6] == [(name,) for name in "abcdef"]
    assert found[-1] == tuple("abcdef")
    assert found == [s for s in every if s in found]  # in the same order
    assert expert_subsets("abcdef", "mixture-of-products", max_experts=63) == every
    assert expert_subsets("abcdef", "mixture-of-products", max_experts=7) == [*found[:6], found[-1]]
    with pytest.raises(ValueError, match="Found 6"):
        expert_subsets("abcdef", "mixture-of-products", max_experts=6)


def test_the_choice_belongs_to_the_seed_and_disturbs_nobody():
    state = torch.get_rng_state()
    first, again, other = (
        expert_subsets("abcdef", "mixture-of-products", max_experts=20, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert torch.equal(state, torch.get_rng_state())


def test_many_modalities_need_a_cap():
    assert len(expert_subsets("abcdef", "mixture-of-products")) == 63
    with pytest.raises(ValueError, match="8 modalities, which have 255 subsets"):
        expert_subsets("abcdefgh", "mixture-of-products")
    assert len(expert_subsets("abcdefgh", "mixture-of-products", max_experts=40)) == 40
    assert len(expert_subsets("abcdefgh", "mixture-of-products", max_size=2)) == 8 + 28 + 1


# Holes


def test_what_is_left_of_experts_against_sets():
    subsets = [set(s) for s in expert_subsets("abc", "mixture-of-products")]
    table = torch.tensor([[name in s for name in "abc"] for s in subsets])
    rows = [set(s) for size in range(1, 4) for s in itertools.combinations("abc", size)]
    observed = torch.tensor([[name in row for name in "abc"] for row in rows])
    members, present = members_observed(table, observed)
    for b, row in enumerate(rows):
        left = [s & row for s in subsets]
        for a, expert in enumerate(left):
            assert members[a, :, b].tolist() == [name in expert for name in "abc"]
            assert present[a, b].item() == (bool(expert) and expert not in left[:a])


def test_with_everything_observed_all_experts_are_there():
    table = torch.tensor([[1, 0], [1, 1]]).bool()
    members, present = members_observed(table, torch.ones(3, 2, dtype=torch.bool))
    assert present.all()
    assert torch.equal(members, table.unsqueeze(-1).expand(2, 2, 3))


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("prior_expert", [False, True])
def test_without_a_modality_the_posterior_is_that_of_the_others(choice, prior_expert):
    whole = network(choice, "abc", prior_expert=prior_expert)
    part = network(choice, "ac", prior_expert=prior_expert)
    part.encoders[0].load_state_dict(whole.encoders[0].state_dict())
    part.encoders[1].load_state_dict(whole.encoders[2].state_dict())
    values = draw(5)
    mask = torch.tensor([True, False, True]).expand(5, 3)
    z = torch.randn(20, 2)
    expected = log_density(part.experts({name: values[name] for name in "ac"}), z)
    torch.testing.assert_close(log_density(whole.experts(values, mask), z), expected)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_full_mask_is_no_mask(choice):
    net, values = network(choice), draw(5)
    found, expected = net.experts(values, torch.ones(5, 3, dtype=torch.bool)), net.experts(values)
    assert found.present.all()
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.scale, expected.scale)


@pytest.mark.parametrize("choice", [*CHOICES, [["a"], ["a", "b"]]])
def test_a_row_with_nothing_has_the_prior(choice):
    experts = network(choice).experts(draw(3), torch.tensor([[0, 0, 0], [1, 1, 1], [0, 0, 0]]).bool())
    z = torch.randn(20, 2)
    found = log_density(experts, z)[:, [0, 2]]
    torch.testing.assert_close(found, td.Normal(0.0, 1.0).log_prob(z).sum(-1)[:, None].expand(20, 2))
    assert posterior_samples(experts, 5).isfinite().all()


# The posterior given some modalities


@pytest.mark.parametrize("given", ["a", "ac", "abc"])
@pytest.mark.parametrize("choice", CHOICES)
def test_modalities_that_an_expert_has_seen_together_are_a_product(choice, given):
    net, values = network(choice), draw(4)
    found = net.condition({name: values[name] for name in reversed(given)})
    mean, scale = net.posteriors({name: values[name] for name in given})
    assert len(mean) == len(given)
    if choice == "mixture":
        m, s = mean, scale  # nobody has seen two of them
    else:
        m, s = product_of_experts(mean, scale, torch.ones(1, len(given), dtype=torch.bool))
    z = torch.randn(20, 2)
    assert len(found.mean) == len(m)
    torch.testing.assert_close(log_density(found, z), log_density(Experts(m, s), z))


def test_own_experts_condition_on_what_they_have_seen():
    net, values = network([["a", "b"], ["b", "c"]]), draw(4)
    z = torch.randn(20, 2)

    def mixture(*subsets):
        pairs = [
            product_of_experts(*net.posteriors({n: values[n] for n in s}), torch.ones(1, len(s)).bool())
            for s in subsets
        ]
        return log_density(Experts(torch.cat([m for m, _ in pairs]), torch.cat([s for _, s in pairs])), z)

    def given(names):
        return log_density(net.condition({name: values[name] for name in names}), z)

    torch.testing.assert_close(given("ab"), mixture("ab"))
    torch.testing.assert_close(given("b"), mixture("b"))
    torch.testing.assert_close(given("ac"), mixture("a", "c"))
    torch.testing.assert_close(given("abc"), mixture("ab", "bc"))


@pytest.mark.parametrize("choice", CHOICES)
def test_conditions_with_holes_are_those_of_what_is_left(choice):
    net, values = network(choice), draw(3)
    mask = torch.tensor([[1, 1], [1, 0], [0, 1]]).bool()
    found = net.condition({"a": values["a"], "c": values["c"]}, mask)
    z = torch.randn(20, 2)
    for row, names in enumerate(["ac", "a", "c"]):
        alone = net.condition({name: values[name][row : row + 1] for name in names})
        torch.testing.assert_close(log_density(found, z)[:, row], log_density(alone, z)[:, 0])


@pytest.mark.parametrize("prior_expert", [False, True])
def test_the_prior_is_a_member_of_conditions_too(prior_expert):
    net, values = network("mixture", prior_expert=prior_expert), draw(3)
    found = net.condition({"a": values["a"]})
    expected = net.experts(values)
    torch.testing.assert_close(found.mean[0], expected.mean[0])
    torch.testing.assert_close(found.scale[0], expected.scale[0])
    assert torch.allclose(found.scale[0], net.posteriors(values)[1][0]) is not prior_expert


# Samples


def test_samples_come_evenly_from_the_experts_that_are_there():
    mean = torch.tensor([-50.0, 0, 50]).reshape(3, 1, 1).expand(3, 2, 1)
    present = torch.tensor([[1, 0], [1, 1], [1, 1]]).bool()
    scale = torch.tensor([1.0, 2, 3]).reshape(3, 1, 1).expand(3, 2, 1)
    n = 30_000
    z = posterior_samples(Experts(mean, scale, present), n, torch.Generator().manual_seed(0))[..., 0]
    nearest = (z[..., None] - mean[:, 0, 0]).abs().argmin(-1)
    for row, expected in enumerate([[1 / 3, 1 / 3, 1 / 3], [0, 1 / 2, 1 / 2]]):
        for a, p in enumerate(expected):
            share = (nearest[:, row] == a).double().mean().item()
            assert abs(share - p) <= 4 * (p * (1 - p) / n) ** 0.5
            if p:
                own = z[:, row][nearest[:, row] == a]
                assert abs(own.mean() - mean[a, 0, 0]) < 4 * scale[a, 0, 0] / len(own) ** 0.5
                assert own.std().item() == pytest.approx(scale[a, 0, 0].item(), rel=0.04)


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_products_are_not_rounded_by_mixed_precision(precision):
    mean, scale = torch.randn(2, 5, 3).float(), torch.full((2, 5, 3), 1e-3).float()
    members = torch.tensor([[True, False], [True, True]])
    expected = product_of_experts(mean, scale, members)
    with torch.autocast("cpu", precision):
        found = product_of_experts(mean, scale, members)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_a_sample_of_very_many_subsets():
    names = [f"m{i}" for i in range(40)]
    found = expert_subsets(names, "mixture-of-products", max_experts=60)
    assert len(found) == len(set(found)) == 60
    assert found[:40] == [(name,) for name in names]
    assert found[-1] == tuple(names)


@pytest.mark.parametrize("choice", ["product", "mixture"])
def test_caps_are_for_mixtures_of_products(choice):
    with pytest.raises(ValueError, match=f"left out with experts='{choice}'"):
        expert_subsets(["a", "b"], choice, max_experts=1)
