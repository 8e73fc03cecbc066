"""Weights on losses: the formulas of their papers, closed forms, and TorchJD as a reference."""

import math

import pytest
import torch
from torchjd import scalarization

from evenhand.impartial import FAMO, MGDA, Block, FixedWeights, RandomWeighting, UncertaintyWeighting

from ._inputs import generator

WEIGHTINGS = {
    "fixed": lambda: FixedWeights([0.2, 0.3, 0.5]),
    "random": lambda: RandomWeighting(generator=generator()),
    "uncertainty": lambda: UncertaintyWeighting(3),
    "famo": lambda: FAMO(3),
}
every_weighting = pytest.mark.parametrize("name", WEIGHTINGS)


def losses(*values):
    return [torch.tensor(value, requires_grad=True) for value in values]


def weights_of(total, terms):
    return torch.stack(torch.autograd.grad(total, terms))


@every_weighting
def test_mappings_sequences_and_tensors_are_one(name):
    values = torch.tensor([0.5, 1.0, 4.0])
    by_name = dict(zip("abc", values, strict=True))
    results = [WEIGHTINGS[name]()(given) for given in (values, list(values), by_name)]
    assert results[0].shape == ()
    assert results[0] == results[1] == results[2]


@every_weighting
def test_all_losses_get_a_positive_weight(name):
    terms = losses(0.5, 1.0, 4.0)
    assert (weights_of(WEIGHTINGS[name]()(terms), terms) > 0).all()


@every_weighting
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "losses should be a mapping or sequence of tensors"),
        ([1.0, 2.0], "losses should be a mapping or sequence of tensors"),
        (torch.tensor(1.0), "Found a single number"),
        ([torch.tensor(1.0), torch.ones(2)], r"losses should all have one shape.* Found \[\], \[2\]"),
    ],
)
def test_what_is_no_list_of_losses_is_refused(name, wrong, message):
    with pytest.raises(ValueError, match=message):
        WEIGHTINGS[name]()(wrong)


@pytest.mark.parametrize("name", ["fixed", "uncertainty", "famo"])
def test_another_number_of_losses_is_refused(name):
    with pytest.raises(ValueError, match=r"losses should .*3.* Found .*2"):
        WEIGHTINGS[name]()(torch.ones(2))


@pytest.mark.parametrize("make", [UncertaintyWeighting, FAMO])
@pytest.mark.parametrize("shape", [0, (), (2, 0), True, 1.5])
def test_a_shape_is_checked(make, shape):
    with pytest.raises(ValueError, match="shape should be the number of losses"):
        make(shape)


@pytest.mark.parametrize("make", [UncertaintyWeighting, FAMO])
def test_a_stack_of_models_is_its_models(make):
    values, after = torch.rand(4, 3, generator=generator()) + 0.1, torch.rand(4, 3, generator=generator(8)) + 0.1
    whole, alone = make((4, 3)), [make(3) for _ in range(4)]
    for _ in range(3):
        assert torch.allclose(whole(values), torch.stack([one(row) for one, row in zip(alone, values, strict=True)]))
        if make is FAMO:
            whole.update(after)
            for one, row in zip(alone, after, strict=True):
                one.update(row)


def test_a_block_settles_losses_as_they_are_weighed():
    y = torch.ones(5, 2, requires_grad=True)
    block = Block(MGDA())
    left, right = block(y, 2)
    FixedWeights([1.0, 3.0])([left[:, 0].sum(), right[:, 1].sum()]).backward()
    assert torch.allclose(block.last.norms, torch.tensor([1.0, 3.0]) * 5**0.5)


# fixed weights


def test_fixed_weights_are_the_weights():
    terms = losses(0.5, 1.0, 4.0)
    total = FixedWeights([0.2, 0.3, 0.5])(terms)
    assert total.item() == pytest.approx(0.1 + 0.3 + 2.0)
    assert weights_of(total, terms).tolist() == pytest.approx([0.2, 0.3, 0.5])


def test_fixed_weights_by_name_find_their_losses():
    weighting = FixedWeights({"a": 1.0, "b": 10.0})
    assert weighting({"b": torch.tensor(2.0), "a": torch.tensor(1.0)}).item() == pytest.approx(21)
    with pytest.raises(ValueError, match=r"names \['a', 'b'\] of the weights. Found \['a', 'c'\]"):
        weighting({"a": torch.tensor(1.0), "c": torch.tensor(1.0)})
    with pytest.raises(ValueError, match="Found list"):
        weighting(losses(1.0, 2.0))


@pytest.mark.parametrize("weights", [[1.0, -1.0], [float("nan")], 1.0, {"a": float("inf")}])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="weights should be numbers >= 0, one for each loss"):
        FixedWeights(weights)


# random weighting


def test_random_weights_are_the_softmax_of_normals_and_new_in_every_step():
    terms, weighting = losses(0.5, 1.0, 4.0), RandomWeighting(generator=generator(3))
    seen = [weights_of(weighting(terms), terms) for _ in range(3)]
    expected = torch.randn(3, generator=generator(3)).softmax(-1)
    assert torch.allclose(seen[0], expected)
    assert not torch.allclose(seen[0], seen[1])
    assert torch.stack(seen).sum(-1).tolist() == pytest.approx([1, 1, 1])


def test_random_weights_are_equal_on_average_and_of_their_own_in_a_stack():
    values = torch.ones(20_000, 2, requires_grad=True)
    RandomWeighting(generator=generator())(values).sum().backward()
    assert values.grad.mean(0).tolist() == pytest.approx([0.5, 0.5], abs=0.01)
    assert values.grad.std(0).min() > 0.1


# uncertainty weighting


def test_uncertainty_weighting_has_its_best_at_one_over_the_loss():
    values, weighting = torch.tensor([0.01, 1.0, 25.0]), UncertaintyWeighting(3)
    optimizer = torch.optim.LBFGS(weighting.parameters(), max_iter=200, tolerance_grad=1e-10, tolerance_change=0)

    def closure():
        optimizer.zero_grad()
        total = weighting(values)
        total.backward()
        return total

    optimizer.step(closure)
    assert (-weighting.log_variances).exp().tolist() == pytest.approx((1 / values).tolist(), rel=1e-4)
    # there every loss counts 1 / 2, and its logarithm is what is left to improve
    assert weighting(values).item() == pytest.approx((0.5 * (1 + values.log())).sum().item(), rel=1e-4)


def test_uncertainty_weighting_is_torchjds():
    ours, theirs = UncertaintyWeighting(3), scalarization.UW(3)
    with torch.no_grad():
        ours.log_variances.copy_(torch.tensor([0.3, -1.0, 2.0]))
        theirs.log_var.copy_(ours.log_variances)
    values = torch.tensor([0.5, 1.0, 4.0])
    assert torch.allclose(ours(values), theirs(values))
    ours.reset()
    assert ours(values).item() == pytest.approx(0.5 * 5.5)


# FAMO


def famo_with(logits):
    weighting = FAMO(3).double()
    weighting.logits.copy_(torch.tensor(logits))
    return weighting


def test_famo_weighs_by_the_logits_and_one_over_the_loss():
    terms = losses(0.5, 1.0, 4.0)
    weighting = famo_with([0.3, -1.0, 2.0])
    weights = weights_of(weighting(terms), terms).double()
    z = weighting.logits.softmax(-1)
    raw = z / torch.tensor([0.5, 1.0, 4.0])
    assert weights.tolist() == pytest.approx((raw / raw.sum()).tolist(), rel=1e-6)
    assert weights.sum().item() == pytest.approx(1)


def test_famo_descends_along_the_gradient_of_the_softmax():
    """The slope of sum_t z_t (log before - log after), by finite differences."""
    weighting = famo_with([0.3, -1.0, 2.0])
    gains = torch.tensor([0.2, -0.1, 0.05]).double()

    def value(logits):
        return (logits.softmax(-1) * gains).sum() + weighting.decay * logits.square().sum() / 2

    step = 1e-5
    slopes = [
        (value(weighting.logits + step * e) - value(weighting.logits - step * e)) / (2 * step)
        for e in torch.eye(3).double()
    ]
    assert weighting._slope(gains).tolist() == pytest.approx(torch.stack(slopes).tolist(), rel=1e-6)


def test_famo_is_torchjds_over_many_steps():
    ours, theirs = FAMO(3, lr=0.1, decay=0.01, floor=0.05), scalarization.FAMO(3, torch.full((3,), 0.05), 0.1, 0.01)
    source = generator()
    for _ in range(20):
        before, after = torch.rand(2, 3, generator=source) + 0.1
        assert torch.allclose(ours(before), theirs(before), rtol=1e-5)
        ours.update(after)
        theirs.update(after)
    assert torch.allclose(ours.logits, theirs._w, rtol=1e-4, atol=1e-6)


def test_famo_takes_weight_from_the_loss_that_falls_fastest():
    weighting = FAMO(2)
    for _ in range(10):
        weighting(torch.tensor([1.0, 1.0]))
        weighting.update({"fast": torch.tensor(0.5), "slow": torch.tensor(0.99)})
    assert weighting.logits[0] < 0 < weighting.logits[1]
    weighting.reset()
    assert weighting.logits.tolist() == [0, 0]


def test_famo_needs_the_losses_before_the_step():
    weighting = FAMO(2)
    with pytest.raises(RuntimeError, match="call the weighting on them first"):
        weighting.update(torch.ones(2))
    weighting(torch.ones(2))
    weighting.update(torch.ones(2))
    with pytest.raises(RuntimeError, match="call the weighting on them first"):
        weighting.update(torch.ones(2))


@pytest.mark.parametrize(("name", "value"), [("lr", 0.0), ("decay", -1.0)])
def test_famo_checks_its_arguments(name, value):
    with pytest.raises(ValueError, match=f"{name} should be a number"):
        FAMO(2, **{name: value})


@pytest.mark.parametrize("wrong", [math.inf, math.nan])
def test_famo_survives_a_bad_step(wrong):
    weighting, losses = FAMO(2), torch.tensor([1.0, 2.0])
    weighting(losses)
    weighting.update(losses * torch.tensor([0.9, 1.0]))
    before = {name: x.clone() for name, x in weighting.state_dict().items()}
    weighting(losses)
    weighting.update(torch.tensor([wrong, 2.0]))
    assert all(torch.equal(x, before[name]) for name, x in weighting.state_dict().items())
    weighting(losses)
    weighting.update(losses * torch.tensor([0.9, 1.0]))
    assert weighting.logits.isfinite().all()
    assert not torch.equal(weighting.logits, before["logits"])


@pytest.mark.parametrize("make", [lambda: FAMO(2), lambda: UncertaintyWeighting(2)])
def test_losses_by_name_may_come_in_any_order(make):
    first, second = make(), make()
    for step in range(4):
        a, b = torch.tensor(1.0 + step), torch.tensor(0.1)
        given = {"a": a, "b": b} if step % 2 == 0 else {"b": b, "a": a}
        assert torch.equal(first({"a": a, "b": b}), second(given))
        for weighting, losses in ((first, {"a": a, "b": b}), (second, given)):
            if isinstance(weighting, FAMO):
                weighting.update({name: loss / 2 if name == "a" else loss for name, loss in losses.items()})
    with pytest.raises(ValueError, match=r"losses should have the names \['a', 'b'\] of the first step. Found"):
        second({"a": a, "c": b})


def test_famo_is_saved_and_goes_on():
    first, second = FAMO(2), FAMO(2)
    for _ in range(3):
        first(torch.tensor([1.0, 2.0]))
        first.update(torch.tensor([0.5, 1.9]))
    second.load_state_dict(first.state_dict())
    for weighting in (first, second):
        weighting(torch.tensor([1.0, 2.0]))
        weighting.update(torch.tensor([0.9, 1.0]))
    assert torch.equal(first.logits, second.logits)
