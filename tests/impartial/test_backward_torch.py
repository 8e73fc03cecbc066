"""`backward` and `impartial_sum` with the rest of PyTorch."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from evenhand.impartial import IMTLG, MGDA, Block, GradNorm, Output, backward, find_blocks, impartial_sum

from ._asserts import assert_close
from ._models import MultiHead
from .test_backward import X, features_and_losses, gradients, plain_and_blocked


def test_evaluation():
    """Trainers compute the loss there, too, and nobody has called the module of an Output with gradients."""
    model = MultiHead(None)
    with torch.no_grad():
        losses = model.losses(X)
        assert_close(impartial_sum(losses, at=Output(model.encoder), method=IMTLG()), sum(losses))


def test_accumulation():
    plain, blocked = plain_and_blocked()
    for x in (X, X + 1):
        y, losses = features_and_losses(plain, x)
        (impartial_sum(losses, at=y, method=IMTLG()) / 2).backward()
        (sum(blocked.losses(x)) / 2).backward()
    assert_close(gradients(plain), gradients(blocked))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_and_grad_scaler(dtype):
    torch.set_default_dtype(torch.float32)
    plain, blocked = plain_and_blocked()
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in (plain, blocked)]
    with torch.autocast("cpu", dtype):
        y, losses = features_and_losses(plain, X.float())
        first, second = impartial_sum(losses, at=y, method=IMTLG()), sum(blocked.losses(X.float()))
    scaler.scale(first).backward()
    scaler.scale(second).backward()
    assert_close(gradients(plain), gradients(blocked), 1e-6)
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    assert_close(plain.encoder[0].weight, blocked.encoder[0].weight, 1e-6)


def test_a_step_that_overflows_is_skipped():
    model = MultiHead(None).float()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    before = [p.clone() for p in model.parameters()]
    y, losses = features_and_losses(model, X.float())
    losses[1] = losses[1] * 1e35
    scaler.scale(impartial_sum(losses, at=y, method=MGDA())).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() < 2.0**20
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("where", ["trunk", "heads"])
def test_checkpointing(where):
    plain, blocked = plain_and_blocked()
    y = checkpoint(plain.encoder, X, use_reentrant=False) if where == "trunk" else plain.encoder(X)
    outputs = [checkpoint(h, y, use_reentrant=False) if where == "heads" else h(y) for h in plain.heads]
    backward([10.0**t * (out - t).square().mean() for t, out in enumerate(outputs)], at=y, method=IMTLG())
    sum(blocked.losses(X)).backward()
    assert_close(gradients(plain), gradients(blocked))


def test_reentrant_checkpointing_of_the_trunk():
    plain, blocked = plain_and_blocked()
    y = checkpoint(plain.encoder, X.clone().requires_grad_(), use_reentrant=True)
    losses = [10.0**t * (head(y) - t).square().mean() for t, head in enumerate(plain.heads)]
    backward(losses, at=y, method=IMTLG())
    sum(blocked.losses(X)).backward()
    assert_close(gradients(plain), gradients(blocked))


def test_an_optimizer_in_the_backward_pass():
    """Hooks of parameters run once, and see the settled gradient."""
    plain = MultiHead(None)
    seen = []
    for parameter in plain.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    backward(plain.losses(X), at=plain.encoder, method=IMTLG())
    assert len(seen) == len(list(plain.parameters()))
    assert {g.norm().item() for g in seen} == {p.grad.norm().item() for p in plain.parameters()}


def test_a_second_backward_pass():
    """With retain_graph everything is settled again; without, torch says what is missing."""
    plain, blocked = plain_and_blocked()
    y, losses = features_and_losses(plain)
    total, other = impartial_sum(losses, at=y, method=IMTLG()), sum(blocked.losses(X))
    for retain in (True, False):
        total.backward(retain_graph=retain)
        other.backward(retain_graph=retain)
    assert_close(gradients(plain), gradients(blocked))
    with pytest.raises(RuntimeError, match="second time"):
        total.backward()


def test_second_derivatives():
    y, losses = features_and_losses(MultiHead(None))
    (gradient,) = torch.autograd.grad(impartial_sum(losses, at=y, method=IMTLG()), y, create_graph=True)
    assert gradient.shape == y.shape
    model = MultiHead(None)
    y, losses = features_and_losses(model)
    weight = model.encoder[0].weight
    (gradient,) = torch.autograd.grad(impartial_sum(losses, at=y, method=IMTLG()), weight, create_graph=True)
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        gradient.sum().backward()


def test_gradients_of_the_place_itself_are_plain():
    """Who asks for the gradient of the very tensor gets it as it arrives; what lies before is settled."""
    model = MultiHead(None)
    y, losses = features_and_losses(model)
    (expected,) = torch.autograd.grad(sum(losses), y, retain_graph=True)
    (found,) = torch.autograd.grad(impartial_sum(losses, at=y, method=MGDA()), y)
    assert_close(found, expected)


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_detection_names_the_loss():
    model = MultiHead(None)
    y, losses = features_and_losses(model)
    bad = {"a": losses[0], "b": losses[1] * torch.nan}
    with torch.autograd.detect_anomaly(check_nan=False), pytest.raises(FloatingPointError, match="of head 'b' at"):
        backward(bad, at=y, method=IMTLG())


def test_function_transforms_are_refused():
    encoder = nn.Linear(5, 4)

    def loss(x):
        y = encoder(x)
        return impartial_sum([y.sum(), y.square().sum()], at=y, method=IMTLG())

    for transform in (torch.func.grad, torch.vmap):
        with pytest.raises(RuntimeError, match="torch.func.grad, vmap or jvp"):
            transform(loss)(X)


def test_a_search_through_an_impartial_sum_leaves_it_alone():
    model = MultiHead(None)
    y, losses = features_and_losses(model)
    block = Block(IMTLG())
    total = impartial_sum(losses, at=y, method=block)
    find_blocks({"all": total, "more": y.square().sum()}, model)
    assert not hasattr(block, "last")


COMPILED = pytest.mark.filterwarnings("ignore")  # what torch says while it compiles is not ours


@pytest.fixture
def _fresh_compiler():
    torch._dynamo.reset()


@COMPILED
@pytest.mark.usefixtures("_fresh_compiler")
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_parts(backend):
    plain, blocked = plain_and_blocked()
    encoder, *heads = (torch.compile(m, backend=backend) for m in (plain.encoder, *plain.heads))
    for _ in range(2):
        y = encoder(X)
        losses = [10.0**t * (head(y) - t).square().mean() for t, head in enumerate(heads)]
        backward(losses, at=y, method=IMTLG())
        sum(blocked.losses(X)).backward()
    assert_close(gradients(plain), gradients(blocked))


@COMPILED
@pytest.mark.usefixtures("_fresh_compiler")
@pytest.mark.parametrize("what", ["model", "step"])
def test_compiled_as_a_whole(what):
    """The hook of an Output divides the graph; a tensor cannot, and that is said."""
    plain, blocked = plain_and_blocked()
    output = Output(plain.encoder)

    def step(x):
        return backward(plain.losses(x), at=output, method="imtlg").weights

    if what == "model":
        plain.losses = torch.compile(plain.losses, backend="aot_eager")
    else:
        step = torch.compile(step, backend="aot_eager")
    for _ in range(2):
        weights = step(X)
        sum(blocked.losses(X)).backward()
    assert_close(gradients(plain), gradients(blocked))
    assert_close(weights, blocked.block.last.weights)


@COMPILED
@pytest.mark.usefixtures("_fresh_compiler")
def test_one_graph_of_place_and_losses():
    model = MultiHead(None)
    y, losses = torch.compile(lambda x: features_and_losses(model, x), backend="aot_eager")(X)
    with pytest.raises(ValueError, match=r"name the place as Output\(module\), which divides the graph"):
        backward(losses, at=y, method=IMTLG())


# Half precision: other terms are not taken for rounding, and rounding is not taken for them


def trunk_and_heads(dtype):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    trunk, heads, x = nn.Linear(16, 64), [nn.Linear(64, 1) for _ in range(2)], torch.randn(32, 16)
    with torch.autocast("cpu", dtype):
        y = trunk(x)
        losses = [(head(y) - torch.randn(32, 1)).float().square().mean() for head in heads]
        penalty = 0.5 * y.float().square().sum(1).mean()
    return trunk, y, losses, penalty


@pytest.mark.parametrize("size", [1e-1, 1e-2, 3e-3])
def test_a_small_penalty_beside_losses_of_half_precision(size):
    def gradient(total):
        trunk, y, losses, penalty = trunk_and_heads(torch.bfloat16)
        (total(y, losses) + size * penalty).backward()
        return trunk.weight.grad

    alone, _, _, penalty = trunk_and_heads(torch.bfloat16)
    (size * penalty).backward()
    expected = gradient(lambda y, losses: sum(losses))
    found = gradient(lambda y, losses: impartial_sum(losses, at=y, method=IMTLG()))
    plain = gradient(lambda y, losses: impartial_sum(losses, at=y, method="sum"))
    torch.testing.assert_close(plain, expected, rtol=2e-2, atol=2e-2 * expected.abs().max().item())
    trunk, y, losses, _ = trunk_and_heads(torch.bfloat16)
    impartial_sum(losses, at=y, method=IMTLG()).backward()
    passed_on = ((found - trunk.weight.grad) * alone.weight.grad).sum() / alone.weight.grad.square().sum()
    assert float(passed_on) == pytest.approx(1, abs=0.25)


def test_rounding_of_half_precision_does_not_drown_a_short_gradient():
    """The place is in single precision, but what is between it and the losses is not."""

    def gradient(propagate):
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float32)
        trunk, middle = nn.Linear(8, 16), nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))
        heads, x = [nn.Linear(16, 1) for _ in range(2)], torch.randn(32, 8)
        with torch.autocast("cpu", torch.bfloat16):
            y = trunk(x).float()
            z = middle(y)
            losses = [size * head(z).float().square().mean() for size, head in zip((1e3, 1.0), heads, strict=True)]
            propagate(losses, y, Block(MGDA(), preserve_norm=False))
        return trunk.weight.grad

    expected = gradient(lambda losses, y, block: backward(losses, at=y, method=block))
    found = gradient(lambda losses, y, block: impartial_sum(losses, at=y, method=block).backward())
    assert_close(found, expected)


# Where nothing is recorded, what is frozen, and what is changed in place


def test_backward_works_where_nothing_is_recorded():
    plain, blocked = plain_and_blocked()
    y, losses = features_and_losses(plain, X)
    with torch.no_grad():
        backward(losses, at=y, method=IMTLG())
    sum(blocked.losses(X)).backward()
    assert_close(gradients(plain), gradients(blocked))


def test_losses_without_gradients_are_named():
    y = torch.ones(3, requires_grad=True)
    with pytest.raises(
        ValueError, match="losses should have one that requires gradients. Found that none of 'a', 'b'"
    ):
        backward({"a": torch.tensor(1.0), "b": torch.tensor(2.0)}, at=y, method=IMTLG())


def test_the_output_of_a_frozen_module():
    trunk, head = nn.Linear(3, 4).requires_grad_(False), nn.Linear(4, 1)
    place = Output(trunk)
    loss = head(trunk(torch.ones(2, 3))).sum()
    with pytest.raises(ValueError, match="Found that what Linear returns requires no gradients. If it is frozen"):
        backward([loss, 2 * loss], at=place, method=IMTLG())


def test_an_output_that_is_changed_in_place():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 1))
    place = Output(model[0])
    loss = model(torch.ones(2, 3)).sum()
    with pytest.raises(ValueError, match="what Linear returned was changed in place later: set inplace=False"):
        backward([loss, 2 * loss], at=place, method=IMTLG())
    model[1].inplace = False
    loss = model(torch.ones(2, 3)).sum()
    backward([loss, 2 * loss], at=place, method=IMTLG())


def test_a_checkpoint_leaves_nothing_behind():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    place, head = Output(model[0]), nn.Linear(4, 1)
    y = checkpoint(model, torch.ones(2, 3, requires_grad=True), use_reentrant=False)
    backward([head(y).sum(), head(y).square().sum()], at=y, method=IMTLG())
    place.take()  # that of the forward pass
    with pytest.raises(ValueError, match="was called since its last use"):
        place.take()


# Methods know losses by their names


def test_a_method_without_a_block_knows_losses_by_name():
    def learnt(swap):
        torch.manual_seed(0)
        trunk, heads, method = nn.Linear(4, 6), {n: nn.Linear(6, 1) for n in "ab"}, GradNorm(lr=0.1)
        for step in range(30):
            y = trunk(torch.randn(8, 4))
            losses = {n: (1 if n == "a" else 50) * heads[n](y).square().mean() for n in "ab"}
            if swap and step % 2:
                losses = dict(reversed(losses.items()))
            backward(losses, at=y, method=method)
        return method.state[0]

    assert_close(learnt(True), learnt(False))


@pytest.mark.parametrize("where", ["leaf", "parameters"])
def test_autograd_grad_of_leaves_gives_what_was_settled(where):
    encoder = nn.Linear(3, 3)
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    y = torch.ones(4, 3, requires_grad=True)
    asked = [y] if where == "leaf" else list(encoder.parameters())

    def losses():
        features = y if where == "leaf" else encoder(x)
        return [features[:, 0].sum(), 100 * features[:, 1].sum()]

    def total():
        return impartial_sum(losses(), at=y if where == "leaf" else encoder, method=IMTLG())

    total().backward()
    expected, plain = [leaf.grad for leaf in asked], torch.autograd.grad(sum(losses()), asked)
    for one, other, without in zip(torch.autograd.grad(total(), asked), expected, plain, strict=True):
        assert_close(one, other)
        assert not torch.allclose(one, without)


def test_a_place_that_was_changed_in_place_since_is_still_the_place():
    x = torch.ones(4, 3, requires_grad=True)
    y = x * 1
    losses = [y[:, 0].sum(), 100 * y[:, 1].sum()]
    total = impartial_sum(losses, at=y, method=IMTLG())
    y.mul_(2)
    total.backward()
    assert x.grad.max() < 99
