"""Weights of columns: they scale likelihoods in training, and nothing that is measured."""

import pytest
import torch

from evenhand.common import ArgumentError
from evenhand.impartial import IMTLG, Sum
from evenhand.tables.stack import Run

from .._inputs import SCHEMA, parameters, stack

D = len(SCHEMA)
SOME = tuple(0.5 + d for d in range(D))


def gradients(run, **options):
    training = stack([run], dropout=0.0, **options)
    training.train(1)
    return {name: p.grad.clone() for name, p in training.model.named_parameters()}, training


@pytest.mark.parametrize(("model", "options"), [("vae", {}), ("vae", {"objective": "iwae"}), ("hivae", {})])
def test_ones_change_nothing(model, options):
    plain, ones = (stack([Run(0, Sum(), column_weights=w)], model, **options) for w in ((), (1.0,) * D))
    for training in (plain, ones):
        training.train(5)
    assert all(torch.equal(x, parameters(ones)[name]) for name, x in parameters(plain).items())


@pytest.mark.parametrize("method", [Sum(), IMTLG()])
def test_the_loss_is_the_weighted_one(method):
    """Of the heads' weights: gradients are linear in the weights of columns."""
    one, _ = gradients(Run(0, method))
    weighted, training = gradients(Run(0, method, column_weights=SOME))
    factors = torch.tensor(SOME)[training.model.likelihood.order][training.model.likelihood.heads]
    torch.testing.assert_close(weighted["head.weight"], one["head.weight"] * factors[None, :, None])
    assert not torch.allclose(weighted["decoder.0.weight"], one["decoder.0.weight"])


def test_the_same_factor_for_all_is_another_kl_weight():
    many = (4.0,) * D
    one, other = gradients(Run(0, Sum(), kl_weight=0.25))[0], gradients(Run(0, Sum(), column_weights=many))[0]
    for name, gradient in one.items():
        torch.testing.assert_close(other[name], 4 * gradient)


def test_a_column_of_weight_zero_is_not_learnt():
    training = stack([Run(0, Sum(), column_weights=(0.0,) + (1.0,) * (D - 1))])
    heads = training.model.likelihood
    mine = heads.heads == int(heads.inverse[0])
    before = training.model.head.weight.detach().clone()
    training.train(3)
    changed = (training.model.head.weight.detach() != before).any(-1)[0]
    assert not changed[mine].any()
    assert changed[~mine].all()


def test_stacks_mix_and_keep():
    runs = [Run(0, Sum()), Run(0, Sum(), column_weights=SOME), Run(1, IMTLG(), column_weights=SOME[::-1])]
    whole = stack(runs)
    whole.train(4)
    for r, run in enumerate(runs):
        alone = stack([run])
        alone.train(4)
        for name, x in parameters(alone).items():
            torch.testing.assert_close(parameters(whole)[name][r], x[0], rtol=1e-9, atol=1e-9)
    cut = stack(runs)
    cut.train(2)
    cut.keep([1])
    cut.train(2)
    for name, x in parameters(cut).items():
        torch.testing.assert_close(parameters(whole)[name][1], x[0], rtol=1e-9, atol=1e-9)


def test_a_state_is_of_its_weights():
    state = stack([Run(0, Sum(), column_weights=SOME)]).state_dict()
    with pytest.raises(ValueError, match="column_weights"):
        stack([Run(0, Sum())]).load_state_dict(state)


@pytest.mark.parametrize("weights", [(1.0,), (-1.0,) * D, (float("nan"),) * D])
def test_weights_that_are_none(weights):
    with pytest.raises(ArgumentError, match=f"column_weights should be {D} numbers >= 0"):
        stack([Run(0, Sum(), column_weights=weights)])
