"""Where the gradients of columns meet, against one backward pass for every column."""

import pytest
import torch

from evenhand.tables.families import Latent
from evenhand.tables.inference import head_gradients
from evenhand.tables.kinds._binary import Bernoulli

from .test_inference import INDEX, MODELS, fitted_model

OTHERS = torch.tensor([[5, 0, 17, 17, 3], [1, 2, 3, 4, 19]])


def gram_by_hand(model, rows, index):
    """Inner products ``[D, D]`` of one replica's gradients, in the order of the schema."""
    model.eval()
    inputs, targets, mask = rows.split(rows.record[index])
    replicas = len(next(model.parameters()))
    inputs, targets, mask = (t.expand(replicas, *t.shape) for t in (inputs, targets, mask))
    seen = inputs * mask[..., rows.owners]
    with torch.no_grad():
        found = model.most_probable(seen)
    z = found.z.clone().requires_grad_()
    if hasattr(model, "decoder"):  # the VAE's y; gradients per row, before anything is added up
        y = model.decoder(z.flatten(1, 2))
        raw = torch.baddbmm(model.head.bias.unsqueeze(1), y, model.head.weight.mT).unflatten(1, z.shape[1:3])
        log_p, point = model.log_prob(raw, targets), y
    else:
        parameters = model.decode(Latent(z, found.log_q, found.log_prior, found.kl, found.s))
        log_p, point = model.log_prob(parameters, targets), z
    log_p = log_p * mask.unsqueeze(1)
    rows_of = []
    for d in range(model.likelihood.n):
        (gradient,) = torch.autograd.grad(log_p[..., d].sum(), point, retain_graph=True)
        rows_of.append(gradient.flatten(1))
    gradients = torch.stack(rows_of, 1)[:, model.likelihood.inverse]
    return gradients @ gradients.mT


@pytest.mark.parametrize("model", MODELS)
def test_products_are_those_of_one_backward_pass_for_every_column(model):
    module, rows, _ = fitted_model(model)
    found = head_gradients(module, rows, INDEX)
    expected = gram_by_hand(module, rows, INDEX).detach()
    assert found.gram.shape == (2, 11, 11)
    torch.testing.assert_close(found.gram, expected, rtol=1e-5, atol=1e-8)
    torch.testing.assert_close(found.weights, torch.ones(2, 11))  # as plain training adds them up
    torch.testing.assert_close(found.shares.sum(-1), torch.ones(2))
    assert (found.gram[0] != found.gram[1]).any()


@pytest.mark.parametrize("model", MODELS)
def test_every_replica_may_look_at_rows_of_its_own(model):
    module, rows, _ = fitted_model(model)
    found = head_gradients(module, rows, OTHERS)
    for replica, index in enumerate(OTHERS):
        torch.testing.assert_close(found.gram[replica], head_gradients(module, rows, index).gram[replica])
    assert not torch.allclose(found.gram[1], head_gradients(module, rows, OTHERS[0]).gram[1])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_looking_changes_nothing(model, training):
    module, rows, _ = fitted_model(model)
    module.train(training)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    record = rows.record.clone()
    first = head_gradients(module, rows, INDEX)
    assert module.training == training
    assert all(m.training == training for m in module.modules())
    assert all(p.grad is None and p.requires_grad for p in module.parameters())
    after = module.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    assert torch.equal(rows.record, record)
    assert torch.equal(first.gram, head_gradients(module, rows, INDEX).gram)  # and it is not random
    with torch.no_grad():
        assert torch.equal(first.gram, head_gradients(module, rows, INDEX).gram)
    assert not first.gram.requires_grad


def test_a_column_that_nobody_sees_has_no_gradient():
    module, rows, _ = fitted_model("vae")
    hidden = type(rows)(rows.record.clone(), rows.owners, rows.n_targets)
    column = 3
    inner = module.likelihood.order.index(column)
    hidden.record[:, -module.likelihood.n + inner] = 0
    found = head_gradients(module, hidden, INDEX)
    assert (found.gram[:, column] == 0).all()
    assert (found.shares[:, column] == 0).all()
    assert (found.cosines[:, column] == 0).all()
    assert (found.norms[:, [d for d in range(11) if d != column]] > 0).all()


def score_to_fisher(eta, x):
    """The mean square of the scores of a binary head over what it expects of them, its Fisher information."""
    _, slope = Bernoulli(1).log_prob(eta, x)
    probability = torch.sigmoid(eta)
    return float(slope.square().mean() / (probability * (1 - probability)).mean())


def test_the_score_to_fisher_ratio_cannot_tell_neglected_from_unpredictable():
    """Why `report` compares with rivals instead: the ratio is 1 wherever probabilities are right on average."""
    generator = torch.Generator().manual_seed(0)
    n = 200_000
    known = 2 * torch.randn(n, 1, generator=generator)
    told = (torch.rand(n, 1, generator=generator) < torch.sigmoid(known)).float()  # the other columns tell it
    coin = (torch.rand(n, 1, generator=generator) < 0.3).float()  # nothing tells it
    marginal = [torch.logit(x.mean()).expand(n, 1) for x in (told, coin)]
    learnt, neglected, unpredictable = (
        score_to_fisher(*pair) for pair in ((known, told), (marginal[0], told), (marginal[1], coin))
    )
    assert learnt == pytest.approx(1, abs=0.02)
    assert neglected == pytest.approx(1, abs=0.02)
    assert unpredictable == pytest.approx(1, abs=0.02)
    assert score_to_fisher(3 * known, told) > 2  # it tells heads that are too sure of themselves
