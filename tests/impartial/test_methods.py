"""What each method promises."""

import copy
import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from evenhand.impartial import (
    DBMTL,
    IMTLG,
    MGDA,
    AlignedMTL,
    CAGrad,
    Compose,
    FairGrad,
    FromTorchJD,
    GradDrop,
    GradNorm,
    MMPareto,
    NashMTL,
    PCGrad,
    Sum,
    UPGrad,
    _graddrop,
)

from ._asserts import assert_close, assert_same_direction
from ._inputs import HARD, full_rank, generator, gradients


def unit(rows):
    return torch.nn.functional.normalize(rows, dim=-1)


# IMTL-G


@given(rows=full_rank())
def test_imtlg_has_equal_projections(rows):
    total = IMTLG()(rows).sum(0)
    projections = unit(rows) @ total
    assert_close(projections, projections.mean().expand_as(projections), 1e-8)
    assert (projections > 0).all()


@given(rows=full_rank())
def test_imtlg_weights_add_up_to_one_in_size(rows):
    assert abs(IMTLG().weights(rows @ rows.T).sum().item()) == pytest.approx(1)


def test_imtlg_makes_no_head_worse_where_the_published_formula_does():
    rows = torch.tensor([[1.0, 0, 0], [0, 1, 0], [7e-4, 7e-4, 1e-4]])
    gram = rows @ rows.T
    norms = gram.diagonal().sqrt()
    beta = torch.linalg.pinv(gram / norms / norms.unsqueeze(-1), hermitian=True, rtol=1e-10).sum(-1)
    assert (beta / norms).sum() < 0  # dividing by this sum turns the direction round
    assert (rows @ IMTLG()(rows).sum(0) > 0).all()


def test_imtlg_of_two_is_the_bisector():
    rows = torch.tensor([[300.0, 0], [1, 1]])
    assert_same_direction(IMTLG()(rows).sum(0), unit(rows).sum(0))


def test_imtlg_of_dependent_gradients_is_the_solution_of_least_norm():
    rows = HARD["more heads than features"]
    gram = rows @ rows.T
    norms = gram.diagonal().sqrt()
    beta = torch.linalg.pinv(gram / norms / norms.unsqueeze(-1), hermitian=True, rtol=1e-10).sum(-1)
    assert_close(IMTLG().weights(gram), (beta / norms) / (beta / norms).sum())


# MGDA


@given(rows=gradients())
def test_mgda_fulfils_the_kkt_conditions(rows):
    weights = MGDA().weights(rows @ rows.T)
    active = rows.norm(dim=-1) > 0
    assert (weights >= 0).all()
    assert weights.sum().item() == pytest.approx(1 if active.any() else 0)
    shortest = weights @ rows
    smallest = rows[active].norm(dim=-1).min().item() if active.any() else 1
    advantage = rows[active] @ shortest - shortest.square().sum()
    assert (advantage >= -1e-6 * smallest * rows.norm(dim=-1).max()).all()


@given(rows=full_rank(heads=st.just(2)))
def test_mgda_of_two_is_known_in_closed_form(rows):
    first, second = rows
    weight = ((second - first) @ second / (second - first).square().sum()).clamp(0, 1)
    assert_close(MGDA().weights(rows @ rows.T), torch.stack([weight, 1 - weight]))


@given(rows=gradients(heads=st.integers(2, 5)))
def test_mgda_equals_the_best_of_all_faces(rows):
    rows = rows[rows.norm(dim=-1) > 0]
    best = torch.inf
    for size in range(1, len(rows) + 1):
        for face in itertools.combinations(range(len(rows)), size):
            gram = rows[list(face)] @ rows[list(face)].T
            weights = torch.linalg.lstsq(
                torch.cat([gram - gram[:1], torch.ones(1, size)]), torch.eye(size + 1)[-1:].T, driver="gelsd"
            ).solution.flatten()
            if (weights >= -1e-9).all():
                weights = weights.clamp(min=0) / weights.clamp(min=0).sum()
                best = min(best, (weights @ rows[list(face)]).norm().item())
    if len(rows):
        found = (MGDA().weights(rows @ rows.T) @ rows).norm().item()
        assert found <= best + 1e-6 * rows.norm(dim=-1).min().item()


# MMPareto


@given(rows=full_rank())
def test_mmpareto_is_the_sum_without_conflict_and_the_direction_of_mgda_with_it(rows):
    total, conflict = MMPareto()(rows).sum(0), (rows @ rows.T < 0).any()
    assert_same_direction(total, (MGDA() if conflict else Sum())(rows).sum(0), 1e-6)
    assert_close(total.norm(), rows.sum(0).norm(), 1e-6)


def test_mmpareto_of_two_is_the_formula_of_the_paper():
    joint, alone = torch.tensor([3.0, 1.0]).double(), torch.tensor([-1.0, 1.0]).double()
    # the analytic solution for two gradients
    alpha = ((alone - joint) @ alone) / (joint - alone).square().sum()
    h = 2 * alpha * joint + 2 * (1 - alpha) * alone
    expected = 1.5 * h / h.norm() * (joint + alone).norm()
    assert_close(MMPareto(1.5)(torch.stack([joint, alone])).sum(0), expected)
    agreeing = torch.stack([joint, -alone])
    assert_close(MMPareto(1.5)(agreeing), 1.5 * agreeing)


def test_mmpareto_checks_gamma():
    with pytest.raises(ValueError, match="gamma should be a number > 0. Found 0"):
        MMPareto(0)


# CAGrad


@given(rows=full_rank(), c=st.floats(0.01, 10))
def test_cagrad_lies_on_its_sphere_and_no_point_of_the_simplex_is_better(rows, c):
    mean = rows.mean(0)
    found = CAGrad(c)(rows).sum(0)
    assert (found - mean).norm().item() == pytest.approx(c * mean.norm().item(), rel=1e-6)
    worst = (rows @ found).min()
    # weak duality: every point of the simplex bounds the value of the worst head from above
    points = torch.distributions.Dirichlet(torch.ones(len(rows))).sample((200,))
    bounds = points @ (rows @ mean) + c * mean.norm() * (points @ rows).norm(dim=-1)
    assert (bounds >= worst - 1e-9 * rows.norm() ** 2).all()


@given(rows=full_rank(heads=st.integers(2, 4)), c=st.sampled_from([0.2, 0.5, 0.9, 3.0]))
def test_cagrad_equals_a_general_solver(rows, c):
    rows = rows / rows.norm()
    mean = rows.mean(0)
    result = minimize(
        lambda w: (
            ((w @ rows.numpy()) @ mean.numpy())
            + c * mean.norm().item() * max(1e-300, ((w @ rows.numpy()) ** 2).sum()) ** 0.5
        ),
        torch.ones(len(rows)).numpy() / len(rows),
        bounds=[(0, 1)] * len(rows),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        tol=1e-14,
        options={"maxiter": 500},
    )
    worst = (rows @ CAGrad(c)(rows).sum(0)).min().item()
    assert worst == pytest.approx(result.fun, abs=2e-6)


@given(rows=full_rank())
def test_cagrad_of_zero_is_the_mean_and_of_infinity_mgda(rows):
    assert_close(CAGrad(0.0)(rows).sum(0), rows.mean(0))
    assert_same_direction(CAGrad(1e8)(rows).sum(0), MGDA()(rows).sum(0), 1e-6)


@given(rows=gradients(), c=st.floats(1.0, 10))
def test_cagrad_makes_no_head_worse_if_the_ball_is_large(rows, c):
    """Zero is in the ball, so the worst head is never worse off than at zero."""
    found = CAGrad(c)(rows).sum(0)
    assert (rows @ found >= -1e-5 * rows.norm(dim=-1) * rows.norm()).all()


def test_cagrad_rejects_a_negative_radius():
    with pytest.raises(ValueError, match="c should be a number >= 0.*Found -1"):
        CAGrad(-1)


# PCGrad


def naive_pcgrad(rows, order):
    result = rows.clone()
    for t in range(len(rows)):
        for s in order:
            if s != t and result[t] @ rows[s] < 0:
                result[t] -= (result[t] @ rows[s]) / (rows[s] @ rows[s]) * rows[s]
    return result


@given(rows=full_rank(), seed=st.integers(0, 1000))
def test_pcgrad_equals_the_plain_loops(rows, seed):
    found = PCGrad(generator=generator(seed))(rows)
    order = torch.rand(len(rows), generator=generator(seed), dtype=torch.float32).argsort().tolist()
    assert_close(found, naive_pcgrad(rows, order))


def test_pcgrad_of_two_conflicting_gradients_is_orthogonal_to_the_other():
    rows = torch.tensor([[1.0, 0.5, 0], [-1, 1, 0.2]])
    result = PCGrad()(rows)
    assert (result[0] @ rows[1]).abs() < 1e-12
    assert (result[1] @ rows[0]).abs() < 1e-12


def test_pcgrad_draws_new_orders_and_repeats_them_with_the_seed():
    rows = torch.randn(6, 3)
    method = PCGrad(generator=generator())
    first, second = method(rows), method(rows)
    assert not torch.equal(first, second)
    assert torch.equal(PCGrad(generator=generator())(rows), first)


# GradDrop


def test_graddrop_follows_one_sign_per_feature():
    rows = torch.randn(5, 1000)
    result = GradDrop()(rows)
    assert not ((result > 0).any(0) & (result < 0).any(0)).any()
    assert ((result == 0) | (result == rows)).all()


def test_graddrop_follows_a_sign_as_often_as_it_has_votes():
    rows = torch.tensor([[3.0], [-1.0]]).expand(2, 20000)
    result = GradDrop(generator=generator())(rows)
    assert (result[0] > 0).double().mean().item() == pytest.approx(0.75, abs=0.01)


@given(rows=gradients())
def test_graddrop_that_leaks_everything_drops_nothing(rows):
    assert torch.equal(GradDrop(1.0)(rows), rows)


def test_graddrop_leaks_per_head():
    rows = torch.tensor([[1.0], [-1.0]]).expand(2, 100)
    result = GradDrop([1.0, 0.25], generator=generator())(rows)
    assert (result[0] == 1).all()
    assert set(result[1].tolist()) == {-1.0, -0.25}


@pytest.mark.parametrize("leak", [-0.1, 1.5, [0.5, 2], float("nan")])
def test_graddrop_rejects_a_leak_outside_the_unit_interval(leak):
    with pytest.raises(ValueError, match=r"leak should be a number in \[0, 1\]"):
        GradDrop(leak)


def test_graddrop_with_leaks_for_another_number_of_heads():
    with pytest.raises(ValueError, match="one for each of the 3 heads. Found 2 numbers"):
        GradDrop([0.1, 0.2])(torch.ones(3, 4))


# Nash-MTL


@given(rows=full_rank())
def test_nash_solves_the_bargaining_problem(rows):
    gram = rows @ rows.T
    weights = NashMTL().weights(gram)
    assert (weights > 0).all()
    shares = weights * (gram @ weights)  # all heads gain the same, in proportion to their weights
    assert_close(shares, shares.mean().expand_as(shares), 1e-8)
    assert (weights @ rows).norm().item() == pytest.approx(rows.norm().item())


# FairGrad


def fairness(alpha, rows):
    """What is equal for all heads if G w = w^(-1/alpha) up to a factor; gains that are zero to rounding left out."""
    weights = FairGrad(alpha).weights(rows @ rows.T)
    assert (weights > 0).all()
    total = weights @ rows
    assert total.norm().item() == pytest.approx(rows.norm().item())
    norms = rows.norm(dim=-1)
    cosines = (rows / norms.unsqueeze(-1)) @ (total / total.norm())
    assert cosines.min() > -1e-12
    return (cosines.log() + norms.log() + weights.log() / alpha)[cosines > 1e-6]


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0, 2.0, 10.0])
@given(rows=full_rank())
def test_fairgrad_solves_its_equation(alpha, rows):
    logs = fairness(alpha, rows)
    assert (logs - logs.mean()).abs().max() < 1e-6


@given(rows=full_rank())
def test_fairgrad_with_alpha_one_is_nash(rows):
    assert_close(FairGrad(1.0)(rows), NashMTL()(rows), 1e-8)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.0, 8.0])
def test_fairgrad_is_the_best_of_all_directions(alpha):
    """Brute force over the directions of the plane."""
    rows = torch.tensor([[3.0, 0.2], [-1.0, 0.6], [0.5, 1.0]])
    angles = torch.linspace(0, 2 * torch.pi, 200_001)
    gains = torch.stack([angles.cos(), angles.sin()], -1) @ rows.T
    utility = gains.log() if alpha == 1 else gains ** (1 - alpha) / (1 - alpha)
    best = angles[torch.where((gains > 0).all(-1), utility.sum(-1), -torch.inf).argmax()]
    total = FairGrad(alpha)(rows).sum(0)
    assert torch.atan2(total[1], total[0]).item() == pytest.approx(best.item(), abs=1e-4)


def test_fairgrad_goes_from_the_sum_to_mgda():
    rows = torch.randn(4, 3, 9) + 1  # without conflict
    assert_same_direction(FairGrad(1e-3)(rows).sum(-2), rows.sum(-2), 1e-2)
    assert_same_direction(FairGrad(1e4)(rows).sum(-2), MGDA()(rows).sum(-2), 1e-2)
    assert not torch.allclose(FairGrad(2.0)(rows), FairGrad(0.5)(rows))


@pytest.mark.parametrize("alpha", [0.5, 2.0])
@given(rows=full_rank(), powers=st.lists(st.floats(-10, 10), min_size=8, max_size=8))
def test_fairgrad_is_exact_for_gradients_of_any_size(alpha, rows, powers):
    logs = fairness(alpha, rows * 10 ** torch.tensor(powers[: len(rows)]).unsqueeze(-1))
    assert (logs - logs.mean()).abs().max() < 1e-6


@pytest.mark.parametrize("alpha", [1e-2, 1e3])
@pytest.mark.parametrize("case", HARD)
def test_fairgrad_is_finite_for_any_alpha(alpha, case):
    assert FairGrad(alpha)(HARD[case]).isfinite().all()


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("inf"), float("nan")])
def test_fairgrad_with_a_bad_alpha(alpha):
    with pytest.raises(ValueError, match="alpha should be a number > 0, such as 2.0. Found"):
        FairGrad(alpha)


def test_fairgrad_shows_its_alpha():
    assert repr(FairGrad(2.0)) == "FairGrad(alpha=2.0)"


# DB-MTL


@given(rows=gradients())
def test_dbmtl_makes_all_gradients_as_long_as_the_longest(rows):
    norms = rows.norm(dim=-1)
    result = DBMTL()(rows)
    expected = torch.where(norms > 0, norms.max(), 0.0)
    assert_close(result.norm(dim=-1), expected, 1e-9)
    assert_close(result * norms.unsqueeze(-1), rows * expected.unsqueeze(-1), 1e-9)  # directions are kept


def test_dbmtl_by_hand():
    rows = torch.tensor([[3.0, 4.0], [0.0, -0.1], [0.0, 0.0]])
    assert_close(DBMTL().weights(rows @ rows.T), torch.tensor([1.0, 50.0, 0.0]))


# Aligned-MTL


@given(rows=full_rank())
def test_aligned_gradients_are_orthogonal_and_equally_long(rows):
    result = AlignedMTL()(rows)
    smallest = torch.linalg.svdvals(rows).min()
    assert_close(result @ result.T, smallest**2 * torch.eye(len(rows)), 1e-6)


def test_a_small_but_independent_gradient_is_not_taken_for_rounding():
    rows = torch.randn(3, 50) * torch.tensor([[1e4], [1.0], [1e-2]])
    assert_close(AlignedMTL()(rows.float()), AlignedMTL()(rows), 1e-3)


# UPGrad


@given(rows=gradients())
def test_upgrad_opposes_no_head(rows):
    result = UPGrad()(rows)
    products = result @ rows.T
    assert (products >= -1e-6 * rows.norm(dim=-1).unsqueeze(-1) * rows.norm(dim=-1)).all()


@given(rows=full_rank(heads=st.just(2)))
def test_upgrad_of_two_is_pcgrad(rows):
    assert_close(UPGrad()(rows), PCGrad()(rows))


# GradNorm


def test_gradnorm_makes_norms_equal():
    method, gram = GradNorm(lr=0.02), torch.diag(torch.tensor([100.0, 1, 0.01]))
    for _ in range(3000):
        weights = method.weights(gram)
    norms = weights * gram.diagonal().sqrt()
    assert norms.max() / norms.min() < 1.2
    assert weights.sum().item() == pytest.approx(3)


@given(rows=full_rank(), alpha=st.sampled_from([0.0, 0.5, 1.0]))
def test_gradnorm_descends_along_the_gradient_of_its_loss(rows, alpha):
    method = GradNorm(alpha, reference_step=0)
    gram = rows @ rows.T
    method.weights(gram)  # the reference
    norms = gram.diagonal().sqrt() * torch.linspace(0.5, 2, len(rows))
    logits = method.state[0].clone().requires_grad_()
    weights = len(rows) * logits.softmax(-1)
    mean = (weights * norms).mean().detach()
    reference = gram.diagonal().sqrt()
    ratio = (norms / reference) / (norms / reference).mean()
    (weights * norms - mean * ratio**alpha).abs().sum().backward()
    slope, _ = method._slope(norms, weights.detach())
    assert_close(slope * norms.mean(), logits.grad, 1e-8)


def test_gradnorm_alpha_and_reference_change_the_weights():
    def final(**kwargs):
        method = GradNorm(**kwargs)
        for step in range(60):
            weights = method.weights(torch.diag(torch.tensor([1.0, 4, 9]) * (1 + step * torch.arange(3.0))))
        return weights

    base = final(alpha=1.0)
    assert not torch.allclose(base, final(alpha=0.0))
    assert not torch.allclose(base, final(alpha=1.0, reference_step=1))
    assert not torch.allclose(base, final(alpha=1.0, lr=1e-2))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("missing", [1, 2, 3])
def test_gradnorm_a_head_that_is_missing_when_norms_are_noted(missing, several):
    """Its norm is noted when it is back: otherwise it would seem to have grown without end."""
    method = GradNorm(1.0, lr=0.01, reference_step=2)
    for step in range(600):
        norms = torch.tensor([1.0, 1.0, 0.0 if step == missing else 1.0])
        gram = torch.diag(norms).expand(2, 3, 3) if several else torch.diag(norms)
        weights = method.weights(gram)
    torch.testing.assert_close(weights, torch.ones_like(weights), rtol=0, atol=0.05)
    torch.testing.assert_close(method.state[3], torch.ones_like(method.state[3]))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_gradnorm_a_head_that_is_rarely_there_keeps_its_weight(several, alpha):
    """Its weight would rise in every step without it, and in the end it would have all of it."""
    generator = torch.Generator().manual_seed(0)
    method = GradNorm(alpha, lr=1e-2)
    for step in range(1500):
        norms = 0.5 + torch.rand(3, generator=generator)
        norms[2] *= step % 25 == 0
        gram = torch.diag(norms.square())
        method.weights(gram.expand(2, 3, 3) if several else gram)
        if step % 25 == 24:
            before = method.state.clone()
    assert (method.state[0].softmax(-1) * 3 - 1).abs().max() < 0.35
    method.weights((gram.expand(2, 3, 3) if several else gram) * 0)  # nobody is there
    assert_close(method.state[:3, ..., 2], before[:3, ..., 2])


def test_gradnorm_saves_and_loads_its_state():
    method, gram = GradNorm(0.5), torch.diag(torch.tensor([1.0, 4, 9]))
    for _ in range(30):
        method.weights(gram)
    other = GradNorm(0.5)
    other.load_state_dict(method.state_dict())
    for _ in range(5):
        assert torch.equal(method.weights(gram), other.weights(gram))


def test_gradnorm_rests_in_evaluation_mode():
    method, gram = GradNorm(), torch.diag(torch.tensor([1.0, 4]))
    method.weights(gram)
    method.eval()
    assert torch.equal(method.weights(gram), method.weights(gram))


def test_gradnorm_survives_a_bad_step():
    method, gram = GradNorm(), torch.diag(torch.tensor([1.0, 4]))
    method.weights(gram)
    before = copy.deepcopy(method.state_dict())
    for bad in (torch.nan, torch.inf):
        method.weights(torch.diag(torch.tensor([1.0, bad])))
    assert all(torch.equal(a, b) for a, b in zip(before.values(), method.state_dict().values(), strict=True))


def test_gradnorm_with_another_number_of_heads():
    method = GradNorm()
    method(torch.randn(3, 4))
    with pytest.raises(ValueError, match="learnt weights for 3 heads. Found 2 heads"):
        method(torch.randn(2, 4))
    method.reset()
    assert method(torch.randn(2, 4)).shape == (2, 4)


@pytest.mark.parametrize("arguments", [{"alpha": -1}, {"lr": 0}, {"reference_step": -1}])
def test_gradnorm_rejects_senseless_arguments(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"{name} should be"):
        GradNorm(**arguments)


# Compose


@given(rows=full_rank())
def test_a_chain_is_one_method_after_the_other(rows):
    chain = IMTLG() >> PCGrad(generator=generator()) >> AlignedMTL()
    expected = AlignedMTL()(PCGrad(generator=generator())(IMTLG()(rows)))
    assert_close(chain(rows), expected, 1e-6)
    assert isinstance(chain, Compose)
    assert len(chain.steps) == 3


@given(rows=full_rank())
def test_a_chain_may_go_on_after_graddrop(rows):
    chain = Compose(GradDrop(generator=generator()), GradDrop(0.5, generator=generator(3)), UPGrad())
    dropped = GradDrop(0.5, generator=generator(3))(GradDrop(generator=generator())(rows))
    assert_close(chain(rows), UPGrad()(dropped))


def test_an_empty_chain_does_nothing():
    rows = torch.randn(3, 4)
    assert torch.equal(Compose()(rows), rows)


def test_a_chain_of_something_else():
    with pytest.raises(ValueError, match=r"steps\[1\] should be a method such as PCGrad\(\). Found 'pcgrad'"):
        Compose(Sum(), "pcgrad")


# FromTorchJD


def test_from_torchjd_rejects_what_is_not_a_weighting():
    from torchjd.aggregation import UPGrad as Aggregator

    with pytest.raises(ValueError, match="weighting should be a TorchJD weighting"):
        FromTorchJD("upgrad")
    with pytest.raises(ValueError, match="weighting should map a Gram matrix to weights"):
        FromTorchJD(Aggregator())


def test_many_features_are_taken_in_parts(monkeypatch):
    """Which changes nothing: every feature has its own vote and its own number."""
    monkeypatch.setattr(_graddrop, "LARGE", 100)
    monkeypatch.setattr(_graddrop, "PART", 64)
    gradients = torch.randn(3, 2 * 64 + 5)
    found = GradDrop(0.25, generator=generator())(gradients)
    numbers = torch.rand(1, gradients.shape[-1], generator=generator(), dtype=torch.float32).double()
    up, down = gradients.clamp(min=0).sum(0), -gradients.clamp(max=0).sum(0)
    rises = up / (up + down) > numbers[0]
    kept = torch.where(rises, gradients > 0, gradients < 0)
    assert_close(found, gradients * (0.25 + 0.75 * kept))
