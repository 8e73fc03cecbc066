"""Several losses of a model that is not edited: the same numbers as a block placed there."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from evenhand.impartial import (
    IMTLG,
    MGDA,
    Block,
    GradNorm,
    Monitor,
    Output,
    ParameterBlock,
    Sum,
    backward,
    impartial_sum,
)

from ._asserts import assert_close
from ._inputs import GRAM, METHODS
from ._models import MultiHead

X = torch.randn(6, 5, generator=torch.Generator().manual_seed(3)).double()


def plain_and_blocked(name="imtlg", **options):
    """The same model with a block and without."""
    plain, blocked = MultiHead(None), MultiHead(METHODS[name](), **options)
    blocked.load_state_dict(plain.state_dict(), strict=False)
    return plain, blocked


def features_and_losses(model, x=X):
    y = model.encoder(x)
    return y, [10.0**t * (head(y) - t).square().mean() for t, head in enumerate(model.heads)]


def gradients(model):
    return torch.cat([p.grad.flatten() for p in (*model.encoder.parameters(), *model.heads.parameters())])


@pytest.mark.parametrize("name", METHODS)
def test_features(name):
    """Over two steps, for methods that learn."""
    plain, blocked = plain_and_blocked(name)
    method = METHODS[name]()
    for step in range(2):
        sum(blocked.losses(X + step)).backward()
        y, losses = features_and_losses(plain, X + step)
        reading = backward(losses, at=y, method=method)
    assert_close(gradients(plain), gradients(blocked))
    assert_close(reading.weights, blocked.block.last.weights)
    assert_close(reading.gram, blocked.block.last.gram)


def shared_decoder_losses(calls):
    return [10.0**t * call(X * (t - 1.5)).square().mean() for t, call in enumerate(calls)]


@pytest.mark.parametrize("name", METHODS)
def test_parameters(name):
    decoder = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))
    other, method = copy.deepcopy(decoder), METHODS[name]()
    block = ParameterBlock(other, METHODS[name]())
    for _ in range(2):
        reading = backward(shared_decoder_losses([decoder] * 3), at=decoder, method=method)
        sum(shared_decoder_losses(block(3))).backward()
    for found, expected in zip(decoder.parameters(), other.parameters(), strict=True):
        assert_close(found.grad, expected.grad)
    assert_close(reading.weights, block.last.weights)


def test_sum_is_plain_backward():
    model, other = MultiHead(None), MultiHead(None)
    other.load_state_dict(model.state_dict())
    y, losses = features_and_losses(model)
    backward(losses, at=y, method=Sum())
    sum(other.losses(X)).backward()
    assert_close(gradients(model), gradients(other))


def test_the_value_is_the_sum():
    model = MultiHead(None)
    y, losses = features_and_losses(model)
    assert_close(impartial_sum(losses, at=y, method=IMTLG()), sum(losses))


def test_options_of_a_block_and_its_monitor():
    plain, blocked = plain_and_blocked("mgda", per_sample=True, preserve_norm=False)
    block = Block(MGDA(), per_sample=True, preserve_norm=False)
    monitor = Monitor(block)
    y, losses = features_and_losses(plain)
    backward(dict(zip("abc", losses, strict=True)), at=y, method=block)
    sum(blocked.losses(X)).backward()
    assert_close(gradients(plain), gradients(blocked))
    assert block.last.weights.shape == (6, 3)
    monitor.record()
    assert monitor.table()["head"] == ["a", "b", "c"]


def test_output_of_a_module():
    plain, blocked = plain_and_blocked()
    with Output(plain.encoder) as output:
        for step in range(2):
            backward(plain.losses(X + step), at=output, method="imtlg")
            sum(blocked.losses(X + step)).backward()
    assert_close(gradients(plain), gradients(blocked))
    assert not plain.encoder._forward_hooks


def test_several_places_at_once():
    """Two trunks that meet in the heads, as HI-VAE's y and S do."""
    first, second = nn.Linear(5, 4), nn.Linear(5, 3)
    heads = [nn.Linear(7, 1) for _ in range(3)]

    def losses(y, s):
        pairs = zip(heads, y, s, strict=True)
        return [10.0**t * head(torch.cat(pair, -1)).square().mean() for t, (head, *pair) in enumerate(pairs)]

    y, s = first(X), second(X)
    readings = backward(losses([y] * 3, [s] * 3), at=[y, s], method=[IMTLG(), MGDA()])
    found = [p.grad.clone() for m in (first, second) for p in m.parameters()]
    for module in (first, second):
        module.zero_grad()
    blocks = Block(IMTLG()), Block(MGDA())
    sum(losses(blocks[0](first(X), 3), blocks[1](second(X), 3))).backward()
    expected = [p.grad for m in (first, second) for p in m.parameters()]
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b)
    for reading, block in zip(readings, blocks, strict=True):
        assert_close(reading.weights, block.last.weights)


def test_two_outputs_of_one_operation():
    """Mean and deviation of a posterior are halves of one tensor."""
    trunk, heads = nn.Linear(5, 8), [nn.Linear(4, 1) for _ in range(4)]

    def losses(mean, deviation):
        pairs = zip(heads[:2], mean, strict=True), zip(heads[2:], deviation, strict=True)
        return [10.0**t * h(v).square().mean() for pair in pairs for t, (h, v) in enumerate(pair)]

    mean, deviation = trunk(X).chunk(2, -1)
    backward(losses([mean] * 2, [deviation] * 2), at=[mean, deviation], method=MGDA())
    found = trunk.weight.grad.clone()
    trunk.zero_grad()
    mean, deviation = trunk(X).chunk(2, -1)
    sum(losses(Block(MGDA())(mean, 2), Block(MGDA())(deviation, 2))).backward()
    assert_close(found, trunk.weight.grad)


def test_a_loss_that_does_not_reach_the_place():
    """It is left out, but its own parameters are trained, and so is a constant of a modality that is missing."""
    plain, blocked = plain_and_blocked()
    far, same = nn.Linear(5, 1), nn.Linear(5, 1)
    same.load_state_dict(far.state_dict())
    y, losses = features_and_losses(plain)
    reading = backward([*losses, far(X).sum(), torch.tensor(3.0)], at=y, method=IMTLG())
    views = blocked.block(blocked.encoder(X), 5)
    pairs = enumerate(zip(blocked.heads, views, strict=False))
    (sum(10.0**t * (head(v) - t).square().mean() for t, (head, v) in pairs) + same(X).sum()).backward()
    assert_close(gradients(plain), gradients(blocked))
    assert_close(far.weight.grad, same.weight.grad)
    assert reading.norms[3:].tolist() == [0, 0]
    assert_close(reading.weights[:3], blocked.block.last.weights[:3])


def test_a_parameter_that_is_reached_around_the_place():
    """Its plain gradient is added to what comes through the place."""
    plain, blocked = plain_and_blocked()

    def extra(model, loss):
        return loss + model.encoder[0].weight.square().sum()

    y, losses = features_and_losses(plain)
    losses[1] = extra(plain, losses[1])
    backward(losses, at=y, method=IMTLG())
    extra(blocked, sum(blocked.losses(X))).backward()
    assert_close(gradients(plain), gradients(blocked))


def test_other_terms_take_no_part():
    """A KL term, say, that reaches the place but is not a party to the conflict."""
    plain, blocked = plain_and_blocked("mgda", preserve_norm=False)
    y, losses = features_and_losses(plain)
    before = 50 * y.square().mean()
    loss = impartial_sum(losses, at=y, method=Block(MGDA(), preserve_norm=False))
    (before + loss + 3 * y.mean()).backward()
    y = blocked.encoder(X)
    *views, rest = *blocked.block(y, 3), y
    pairs = enumerate(zip(blocked.heads, views, strict=True))
    settled = sum(10.0**t * (head(v) - t).square().mean() for t, (head, v) in pairs)
    (settled + 50 * rest.square().mean() + 3 * rest.mean()).backward()
    assert_close(gradients(plain), gradients(blocked))


def test_without_other_terms_not_a_bit_is_lost():
    """Not even where the settled gradient is tiny beside the plain one."""
    first, second = MultiHead(None), MultiHead(None)
    second.load_state_dict(first.state_dict())
    for model, f in ((first, backward), (second, lambda *a, **k: impartial_sum(*a, **k).backward())):
        y, losses = features_and_losses(model)
        losses[2] = 1e12 * losses[2]
        f(losses, at=y, method=Block(MGDA(), preserve_norm=False))
    assert torch.equal(gradients(first), gradients(second))


def test_a_block_on_the_way_sees_one_backward_pass():
    trunk, middle, heads = nn.Linear(5, 4), nn.Linear(4, 4), [nn.Linear(4, 1) for _ in range(2)]
    block = Block(METHODS["gradnorm"]())
    y = trunk(X)
    views = block(middle(y), 2)
    backward([h(v).square().mean() for h, v in zip(heads, views, strict=True)], at=y, method=IMTLG())
    assert block.method.steps.item() == 1
    assert (block.last.norms > 0).all()


def test_complex_features():
    y = torch.randn(4, 3, dtype=torch.complex128, requires_grad=True)
    other = y.detach().clone().requires_grad_()
    weights = torch.randn(2, 4, 3, dtype=torch.complex128)

    def losses(views):
        return [(v * w).sum().real ** (t + 1) for t, (v, w) in enumerate(zip(views, weights, strict=True))]

    for name in ("imtlg", "graddrop"):
        y.grad = other.grad = None
        backward(losses([y] * 2), at=y, method=METHODS[name]())
        sum(losses(Block(METHODS[name]())(other, 2))).backward()
        assert_close(torch.view_as_real(y.grad), torch.view_as_real(other.grad))


def test_complex_parameters():
    module = nn.Linear(3, 2, dtype=torch.complex128)
    other, x = copy.deepcopy(module), torch.randn(4, 3, dtype=torch.complex128)

    def losses(calls):
        return [calls[0](x).imag.square().sum(), calls[1](x).abs().sum()]

    backward(losses([module] * 2), at=module, method=MGDA())
    sum(losses(ParameterBlock(other, MGDA())(2))).backward()
    assert_close(torch.view_as_real(module.weight.grad), torch.view_as_real(other.weight.grad))


def test_sparse_gradients_and_unused_parameters():
    embedding = nn.Embedding(5, 3, sparse=True)
    embedding.unused = nn.Linear(2, 2)
    words = torch.tensor([[0, 1], [1, 4]])
    losses = [10.0**t * embedding(w).square().sum() for t, w in enumerate(words)]
    impartial_sum(losses, at=embedding, method=MGDA()).backward()
    assert embedding.weight.grad.is_sparse  # as an optimizer for sparse gradients wants it
    assert embedding.weight.grad.to_dense()[2:4].norm() == 0
    assert embedding.weight.grad.to_dense().norm() > 0
    assert embedding.unused.weight.grad is None  # weight decay must not move it


def test_no_rows():
    """One process of several may have got an empty batch."""
    y = torch.zeros(0, 3, requires_grad=True)
    backward([y.sum(), y.square().sum()], at=y, method=IMTLG())
    assert y.grad.shape == (0, 3)


def test_losses_of_different_kinds():
    y = torch.ones(2, 3, requires_grad=True)
    losses = {"a": y[:, 0].sum(), "b": y[:, 1].float().sum().reshape(1), "c": y[:, 2].sum().reshape(1, 1)}
    total = impartial_sum(losses, at=y, method=IMTLG())
    assert total.shape == ()
    total.backward()
    assert_close(y.grad, torch.ones(2, 3))


@pytest.mark.fuzz
@given(
    name=st.sampled_from(sorted(GRAM)),
    reach=st.lists(st.booleans(), min_size=1, max_size=6).filter(any),
    scales=st.lists(st.floats(-4, 4), min_size=6, max_size=6),
    seed=st.integers(0, 10_000),
    others=st.booleans(),
)
def test_any_losses_are_those_of_a_block(name, reach, scales, seed, others):
    """Any number of losses, some of which go around the place, with other terms beside them."""
    generator = torch.Generator().manual_seed(seed)
    x, shared, *weights = torch.randn(2 + len(reach), 4, 4, generator=generator, dtype=torch.float64)

    def losses(shared, views):
        rows = zip(reach, scales, weights, views, strict=False)
        return [10**scale * ((v if r else shared + 1) @ w).square().mean() for r, scale, w, v in rows]

    def rest(y):
        return y.square().sum() if others else 0 * y.sum()

    first, second = (shared.clone().requires_grad_() for _ in range(2))
    y = (x @ first).tanh()
    (impartial_sum(losses(first, [y] * 6), at=y, method=METHODS[name]()) + rest(y)).backward()
    y = (x @ second).tanh()
    (sum(losses(second, Block(METHODS[name]())(y, len(reach)))) + rest(y)).backward()
    assert_close(first.grad, second.grad, 1e-8)


@pytest.mark.parametrize("at", ["features", "parameters"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_short_settled_gradient_is_not_drowned_by_the_rounding_of_a_long_plain_one(at, dtype):
    """MGDA gives what is about as long as the shortest gradient, here 1e-5 of the longest."""
    results = []
    for through in (backward, impartial_sum):
        torch.manual_seed(0)
        encoder = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64)).to(dtype)
        heads = [nn.Linear(64, 1).to(dtype) for _ in range(2)]
        y = encoder(torch.randn(64, 8, dtype=dtype))
        losses = [scale * head(y).square().mean() for scale, head in zip((1, 1e5), heads, strict=True)]
        block = Block(MGDA(), preserve_norm=False) if at == "features" else None
        block = block or ParameterBlock(encoder, MGDA(), preserve_norm=False)
        result = through(losses, at=y if at == "features" else encoder, method=block)
        if through is impartial_sum:
            result.backward()
        results.append(encoder[0].weight.grad)
    assert ((results[1] - results[0]).norm() / results[0].norm()).item() < 1e-4


def test_other_terms_are_passed_on_even_if_they_are_small():
    y = torch.ones(4, 3, requires_grad=True)
    losses = [1e3 * y[:, 0].sum(), y[:, 1].sum()]
    (impartial_sum(losses, at=y, method=Block(MGDA(), preserve_norm=False)) + 0.01 * y[:, 2].sum()).backward()
    torch.testing.assert_close(y.grad[:, 2], torch.full((4,), 0.01))


def test_losses_are_known_by_their_names():
    """What GradNorm has learnt of a loss stays with it, in whatever order losses come."""
    block = Block(GradNorm(lr=0.05))

    def step(*order):
        y = torch.zeros(1, 2, requires_grad=True)
        losses = {"big": 100 * y[:, 0].sum(), "small": y[:, 1].sum()}
        return backward({name: losses[name] for name in order}, at=y, method=block)

    for _ in range(300):
        reading = step("big", "small")
    torch.testing.assert_close(reading.shares, torch.full((2,), 0.5), rtol=0, atol=0.02)
    again = step("small", "big")
    assert again.heads == ("big", "small")
    torch.testing.assert_close(again.shares, reading.shares, rtol=0, atol=1e-3)


def test_a_monitor_averages_one_and_the_same_head():
    y = torch.zeros(1, 3, requires_grad=True)
    block = Block(Sum())
    monitor = Monitor({"y": block})
    for names in (("a", "b", "c"), ("a", "b"), ("a", "c")):
        backward({name: 10.0**-i * y[:, i].sum() for i, name in enumerate(names)}, at=y, method=block)
        monitor.record()
    assert monitor.sentences() == ["'c' receives 9.1 % of the gradient at y, where an even share would be 50 %."]
    assert monitor.plot().axes[0].get_title() == "Shares of the gradient at y"


@pytest.mark.parametrize(("at", "words"), [([], "at should be at least one place"), ("enc", "at should be")])
def test_places_that_are_none(at, words):
    y = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match=words):
        backward([y.sum(), (2 * y).sum()], at=at, method=IMTLG())


def test_names_of_methods_are_listed():
    y = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="or one of sum, gradnorm, .*imtlg.* Found 'imtl-g'"):
        backward([y.sum(), (2 * y).sum()], at=y, method="imtl-g")
