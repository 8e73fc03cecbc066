"""The block: identity forward, the impartial sum backward, wherever PyTorch lets it be used."""

import copy
import gc
import pickle

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from evenhand.impartial import (
    IMTLG,
    MGDA,
    Block,
    CAGrad,
    GradDrop,
    GradNorm,
    LinearBlock,
    PCGrad,
    Scaling,
    Sum,
    UPGrad,
)
from evenhand.impartial._base_block import exact_products
from evenhand.impartial._gradients import Source

from ._asserts import assert_close
from ._inputs import METHODS, generator
from ._models import MultiHead, gradient_of

X = torch.randn(6, 5, generator=torch.Generator().manual_seed(3)).double()


def settle(block, rows, y=None, **options):
    """What a block passes on when these gradients [T, *shape] come in."""
    y = torch.randn(rows.shape[1:], dtype=rows.dtype) if y is None else y
    y = y.detach().requires_grad_()
    views = block(y, len(rows), **options)
    torch.autograd.backward(views, list(rows))
    return y.grad


# Algorithm 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_neutral_block_is_plain_backward(dtype):
    rows = torch.randn(4, 6, 5).to(dtype)
    found = settle(Block(Sum()), rows)
    assert found.dtype == dtype
    assert_close(found, rows.sum(0), {torch.float16: 2e-3, torch.bfloat16: 1e-2}.get(dtype, 1e-6))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("preserve_norm", [True, False])
def test_the_block_adds_up_what_the_method_returns(name, preserve_norm):
    rows = torch.randn(4, 6, 5) * torch.tensor([1.0, 10, 0.1, 3]).reshape(4, 1, 1)
    block = Block(METHODS[name](), preserve_norm=preserve_norm)
    found = settle(block, rows, y=torch.ones(6, 5))
    if "graddrop" not in name:
        expected = METHODS[name]()(rows.flatten(1)).sum(0).reshape(6, 5)
        if preserve_norm:
            expected = expected * rows.sum(0).norm() / expected.norm()
        assert_close(found, expected, 1e-7)
    if preserve_norm:
        assert found.norm().item() == pytest.approx(rows.sum(0).norm().item())
    assert not torch.allclose(found, rows.sum(0)) or name.startswith(("sum", "gradnorm"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", METHODS)
def test_the_norm_is_preserved_in_low_precision_too(name, dtype):
    rows = torch.randn(4, 6, 5).to(dtype)
    found = settle(Block(METHODS[name]()), rows)
    tolerance = {torch.float32: 1e-4, torch.bfloat16: 1e-2, torch.float16: 2e-3}[dtype]
    assert found.dtype == dtype
    assert found.float().norm().item() == pytest.approx(rows.float().sum(0).norm().item(), rel=tolerance)


def test_cancelled_gradients_are_not_blown_up():
    row = torch.randn(1, 6, 5)
    found = settle(Block(MGDA()), torch.cat([row, -row, 1e-3 * torch.randn(1, 6, 5)]))
    assert found.norm() < 1e-3 * row.norm()


def test_the_heads_keep_their_own_gradients():
    plain, impartial = MultiHead(None), MultiHead(MGDA())
    impartial.load_state_dict(plain.state_dict())
    gradient_of(plain, X), gradient_of(impartial, X)
    for ours, theirs in zip(impartial.heads.parameters(), plain.heads.parameters(), strict=True):
        assert_close(ours.grad, theirs.grad)
    assert not torch.allclose(impartial.encoder[0].weight.grad, plain.encoder[0].weight.grad)


def test_forward_is_the_identity_without_a_copy():
    y = torch.randn(3, 4, requires_grad=True)
    for view in Block(IMTLG())(y, 2):
        assert torch.equal(view, y)
        assert view.data_ptr() == y.data_ptr()


def test_two_inputs_are_two_blocks():
    """HI-VAE's [y, S]: each input has a method of its own, and the other does not change it."""
    y, s = torch.randn(4, 3, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    heads = [nn.Linear(5, 1) for _ in range(3)]
    total = sum(
        10**t * head(torch.cat([a, b], -1)).square().sum()
        for t, (head, a, b) in enumerate(zip(heads, Block(MGDA())(y, 3), Block(Sum())(s, 3), strict=True))
    )
    total.backward()
    alone = y.grad
    y.grad, s.grad = None, None
    plain = sum(10**t * h(torch.cat([y, s], -1)).square().sum() for t, h in enumerate(heads))
    plain_y, plain_s = torch.autograd.grad(plain, [y, s])
    assert alone.norm().item() == pytest.approx(plain_y.norm().item())
    assert not torch.allclose(alone, plain_y)
    total = sum(
        10**t * head(torch.cat([a, b], -1)).square().sum()
        for t, (head, a, b) in enumerate(zip(heads, Block(MGDA())(y, 3), Block(Sum())(s, 3), strict=True))
    )
    assert_close(torch.autograd.grad(total, s)[0], plain_s)


# options


def test_per_sample_settles_every_row_alone():
    rows = torch.randn(4, 6, 5)
    found = settle(Block(MGDA(), per_sample=True), rows)
    for i in range(6):
        assert_close(found[i], settle(Block(MGDA()), rows[:, i]))
    assert not torch.allclose(found, settle(Block(MGDA()), rows))


def test_per_sample_with_an_elementwise_method():
    rows = torch.randn(3, 6, 5)
    found = settle(Block(GradDrop(), per_sample=True), rows)
    assert_close(found.norm(dim=-1), rows.sum(0).norm(dim=-1))


def test_per_sample_reads_per_sample():
    block = Block(IMTLG(), per_sample=True)
    settle(block, torch.randn(3, 6, 5))
    assert block.last.weights.shape == (6, 3)
    assert block.last.cosines.shape == (6, 3, 3)


def test_per_sample_is_not_for_methods_that_learn():
    with pytest.raises(ValueError, match=r"per_sample should be False with GradNorm\(alpha=0.0\)"):
        Block(GradNorm(), per_sample=True)
    with pytest.raises(ValueError, match="per_sample should be False"):
        Block(IMTLG() >> GradNorm(), per_sample=True)


def test_feature_axes_say_what_a_row_is():
    rows, y = torch.randn(3, 4, 2, 5, 5), torch.randn(4, 2, 5, 5)
    images = settle(Block(GradDrop(generator=generator()), feature_axes=3), rows, y)
    flat = settle(Block(GradDrop(generator=generator())), rows.flatten(2), y.flatten(1))
    assert torch.equal(images.flatten(1), flat)
    assert not torch.allclose(images, settle(Block(GradDrop(generator=generator())), rows, y))


def test_graddrop_votes_with_the_sign_of_the_input_over_the_batch():
    rows, y = torch.randn(3, 40, 5), torch.randn(40, 5)
    found = settle(Block(GradDrop(generator=generator()), preserve_norm=False), rows, y)
    votes = (rows * y.sign()).sum(1)
    kept = GradDrop(generator=generator()).keep(votes)
    assert_close(found, (rows * kept.unsqueeze(1)).sum(0))
    flipped = settle(Block(GradDrop(generator=generator()), preserve_norm=False), rows, y.abs())
    assert not torch.allclose(found, flipped)


# missing patterns


def test_observing_everything_changes_nothing():
    rows = torch.randn(3, 6, 5)
    everything = torch.ones(6, 3, dtype=torch.bool)
    assert_close(settle(Block(MGDA()), rows, observed=everything), settle(Block(MGDA()), rows))


def test_heads_are_compared_on_the_rows_both_observe():
    rows, observed = torch.randn(3, 200, 5), torch.rand(200, 3) < 0.8
    rows = rows * observed.T.unsqueeze(-1)

    class Spy(Scaling):
        def weights(self, gram):
            self.gram = gram
            return gram.new_ones(gram.shape[:-1])

    spy = Spy()
    settle(Block(spy), rows, observed=observed)
    for d in range(3):
        for e in range(3):
            both = observed[:, d] & observed[:, e]
            mean = (rows[d, both] * rows[e, both]).sum(-1).mean()
            assert spy.gram[d, e].item() == pytest.approx(200 * mean.item())


def test_a_seldom_observed_head_counts_like_the_others():
    """With sums, a head observed on a tenth of the rows looks like one that has nearly converged."""
    rows = torch.randn(2, 400, 5)
    observed = torch.ones(400, 2, dtype=torch.bool)
    observed[40:, 1] = False
    rows[1, 40:] = 0
    compared, ignored = Block(MGDA()), Block(MGDA())
    settle(compared, rows, observed=observed)
    settle(ignored, rows)
    ratio = compared.last.weights / compared.last.weights.sum()
    assert ratio[1].item() == pytest.approx(0.5, abs=0.1)
    assert (ignored.last.weights / ignored.last.weights.sum())[1] > 0.85


def test_patterns_that_contradict_each_other_are_repaired():
    """Products over different rows can be those of no vectors at all."""
    a, b = torch.tensor([1.0, 0]), torch.tensor([-1.0, 0])
    rows = torch.zeros(3, 3, 2)
    rows[0, 0], rows[1, 0] = a, a
    rows[1, 1], rows[2, 1] = a, a
    rows[0, 2], rows[2, 2] = a, b
    observed = rows.norm(dim=-1).T > 0
    for name in METHODS:
        assert settle(Block(METHODS[name]()), rows, observed=observed).isfinite().all()


def test_a_mask_of_one_row_serves_all_samples():
    rows, observed = torch.randn(3, 4, 6, 5), torch.rand(1, 6, 3) < 0.7
    rows = rows * observed.permute(2, 0, 1).unsqueeze(-1)
    repeated = settle(Block(MGDA()), rows, observed=observed.expand(4, 6, 3))
    assert_close(settle(Block(MGDA()), rows, observed=observed), repeated)


@pytest.mark.parametrize("fused", [False, True])
def test_a_head_that_observes_nothing_is_not_the_shortest(fused):
    """By the rounding error of an eigenvalue it used to be, in four of five problems, and MGDA chose it alone."""
    for _ in range(30):
        observed = torch.rand(5, 4) < 0.7
        observed[:, 1], observed[0] = False, torch.tensor([True, False, True, True])
        y = torch.randn(5, 6, requires_grad=True)
        if fused:
            block = LinearBlock(MGDA(), range(4))
            eta = block(y, torch.randn(4, 6), observed=observed)
            (eta * torch.randn(5, 4) * observed).sum().backward()
        else:
            block = Block(MGDA())
            views = block(y, 4, observed=observed)
            sum(
                (v * torch.randn(5, 6) * o.unsqueeze(-1)).sum() for v, o in zip(views, observed.T, strict=True)
            ).backward()
        assert block.last.weights[1] == 0
        assert y.grad.norm() > 0


def test_a_head_that_observes_nothing_is_left_out():
    rows = torch.randn(3, 6, 5)
    rows[1] = 0
    observed = torch.ones(6, 3, dtype=torch.bool)
    observed[:, 1] = False
    for method in (MGDA(), IMTLG(), CAGrad(), UPGrad()):
        assert_close(settle(Block(method), rows, observed=observed), settle(Block(method), rows[[0, 2]]), 1e-7)


@pytest.mark.parametrize("shape", [(6, 2), (5, 3), (3,), (2, 6, 3)])
def test_a_mask_of_the_wrong_shape(shape):
    if shape == (3,):
        shape = (4,)
    with pytest.raises(ValueError, match=r"observed should say .* shape \[6, 3\].* Found"):
        Block(MGDA())(torch.randn(6, 5), 3, observed=torch.ones(shape))


# wherever PyTorch lets it be used


@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (2, 0), (2, 3, 4)])
def test_inputs_of_any_shape(shape):
    y = torch.randn(shape, requires_grad=True)
    sum((10**t * view).sum() for t, view in enumerate(Block(MGDA())(y, 3))).backward()
    assert y.grad.shape == shape
    assert y.grad.isfinite().all()


@pytest.mark.parametrize("name", METHODS)
def test_per_sample_without_any_rows(name):
    if "gradnorm" in name:
        return
    y = torch.randn(0, 4, requires_grad=True)
    sum(view.sum() for view in Block(METHODS[name](), per_sample=True)(y, 3)).backward()
    assert y.grad.shape == (0, 4)


def test_a_mask_compares_and_does_not_drop():
    """With per_sample too: what is passed on is the gradient, whatever the mask says."""
    rows, observed = torch.randn(3, 6, 5), torch.rand(6, 3) < 0.5
    for per_sample in (True, False):
        assert_close(settle(Block(Sum(), per_sample=per_sample), rows, observed=observed), rows.sum(0))


def test_masks_and_numbers_of_other_types():
    rows = torch.randn(2, 3, 5)
    mask = [[True, True], [True, False], [False, True]]
    assert_close(settle(Block(MGDA()), rows, observed=mask), settle(Block(MGDA()), rows, observed=torch.tensor(mask)))
    assert len(Block(MGDA())(torch.ones(3), torch.tensor(2))) == 2


def test_more_feature_axes_than_axes():
    with pytest.raises(ValueError, match=r"at least the 3 axes of feature_axes. Found shape \[4, 5\]"):
        Block(Sum(), feature_axes=3)(torch.ones(4, 5), 2)


@pytest.mark.parametrize("size", [1e-21, 1e-15, 1e15])
def test_the_neutral_block_is_neutral_at_any_size(size):
    rows = size * torch.randn(3, 6, 5).float()
    assert_close(settle(Block(Sum()), rows), rows.sum(0), 1e-5)


@pytest.mark.parametrize("switch", ["new", "legacy", "none"])
def test_products_are_exact_whichever_switch_for_tf32_was_used(switch):
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    try:
        if switch == "new":
            matmul.fp32_precision = "tf32"
        elif switch == "legacy":
            matmul.allow_tf32 = True
        with exact_products("cuda"):
            assert matmul.fp32_precision == "ieee"
        assert matmul.fp32_precision == (before if switch == "none" else "tf32")
    finally:
        matmul.fp32_precision = before


@pytest.mark.parametrize("first", [torch.float32, torch.float64])
@pytest.mark.parametrize("second", [torch.float32, torch.float64, torch.bfloat16])
def test_the_state_of_gradnorm_survives_a_change_of_precision(first, second):
    block, other = Block(GradNorm()), Block(GradNorm())
    settle(block, torch.randn(3, 6, 5, dtype=first))
    other.load_state_dict(block.state_dict())
    other.to(second)
    assert settle(other, torch.randn(3, 6, 5, dtype=second)).isfinite().all()
    assert other.method.steps.item() == 2


def test_a_mask_for_a_single_row():
    found = settle(Block(MGDA()), torch.randn(3, 5), observed=torch.tensor([True, False, True]))
    assert found.isfinite().all()


def test_a_backward_pass_leaves_nothing_to_the_garbage_collector():
    """The T stacked gradients are freed at once; in a reference cycle they would pile up on the device."""
    rows = torch.randn(3, 6, 5)
    gc.collect()
    gc.disable()
    try:
        for name in METHODS:
            settle(Block(METHODS[name]()), rows)
        alive = [o for o in gc.get_objects() if issubclass(type(o), Source)]
    finally:
        gc.enable()
    assert alive == []


def test_a_view_that_is_never_used():
    rows = torch.randn(2, 6, 5)
    y = torch.randn(6, 5, requires_grad=True)
    first, second, _ = Block(MGDA())(y, 3)
    torch.autograd.backward([first, second], list(rows))
    assert_close(y.grad, settle(Block(MGDA()), rows))


def test_no_view_used():
    y = torch.randn(6, 5, requires_grad=True)
    block = Block(MGDA())
    block(y, 2)
    y.sum().backward()
    assert torch.equal(y.grad, torch.ones(6, 5))
    with pytest.raises(RuntimeError, match=r"No backward pass has gone through this Block"):
        _ = block.last


def test_a_block_used_twice_in_one_step():
    rows = torch.randn(2, 2, 6, 5)
    block = Block(UPGrad())
    y, z = torch.randn(6, 5, requires_grad=True), torch.randn(6, 5, requires_grad=True)
    views = [*block(y, 2), *block(z, 2)]
    torch.autograd.backward(views, list(rows.flatten(0, 1)))
    assert_close(y.grad, settle(block, rows[0]))
    assert_close(z.grad, settle(block, rows[1]))


def test_a_block_behind_a_block():
    """Blocks nest: the views of one are the inputs of others."""
    y = torch.randn(6, 5, requires_grad=True)
    outer, inner = Block(Sum()), Block(Sum())
    a, b = outer(y, 2)
    c, d = inner(a, 2)
    rows = torch.randn(3, 6, 5)
    torch.autograd.backward([b, c, d], list(rows))
    assert_close(y.grad, rows.sum(0))


def test_no_grad_and_inputs_that_need_no_gradient():
    block = Block(MGDA())
    y = torch.randn(6, 5)
    views = block(y, 2)
    assert all(torch.equal(view, y) and not view.requires_grad for view in views)
    with torch.no_grad():
        assert not any(v.requires_grad for v in block(y.requires_grad_(), 2))
    with torch.inference_mode():
        assert len(block(y, 3)) == 3


def test_frozen_features_still_train_the_heads():
    model = MultiHead(MGDA())
    model.encoder.requires_grad_(False)
    model(X).backward()
    assert all(p.grad is not None for p in model.heads.parameters())


def test_gradients_accumulate():
    model = MultiHead(IMTLG())
    first = gradient_of(model, X[:3])
    second = gradient_of(model, X[3:])
    model.zero_grad()
    model(X[:3]).backward()
    model(X[3:]).backward()
    both = torch.cat([p.grad.flatten() for p in model.encoder.parameters()])
    assert_close(both, first + second)


@pytest.mark.parametrize("reentrant", [True, False])
def test_inside_a_checkpoint(reentrant):
    model = MultiHead(IMTLG())
    expected = gradient_of(model, X)
    model.zero_grad()
    x = X.clone().requires_grad_()
    checkpoint(model, x, use_reentrant=reentrant).backward()
    assert_close(torch.cat([p.grad.flatten() for p in model.encoder.parameters()]), expected)


@pytest.mark.parametrize("backward_inside", [True, False])
def test_under_autocast(backward_inside):
    model, x = MultiHead(IMTLG()).float(), X.float()
    expected = gradient_of(model, x)
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(x)
        if backward_inside:
            loss.backward()
    if not backward_inside:
        loss.backward()
    assert model.block.last.gram.dtype == torch.float32
    assert_close(torch.cat([p.grad.flatten() for p in model.encoder.parameters()]), expected, 0.1)


@pytest.mark.parametrize("name", METHODS)
def test_a_gradient_scaler_changes_nothing(name):
    def step(scaler):
        torch.manual_seed(0)
        model = MultiHead(METHODS[name]())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler.scale(model(X)).backward()
        scaler.step(optimizer)
        scaler.update()
        return model.encoder[0].weight

    off, on = torch.amp.GradScaler("cpu", enabled=False), torch.amp.GradScaler("cpu", init_scale=2.0**16)
    assert_close(step(on), step(off), 1e-9)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_nan_and_infinity_reach_the_gradient_scaler(name, bad):
    model = MultiHead(METHODS[name]())
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    losses = model.losses(X)
    losses[1] = losses[1] * bad
    scaler.scale(sum(losses)).backward()
    assert not torch.cat([p.grad.flatten() for p in model.encoder.parameters()]).isfinite().all()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() < 2.0**16
    for key, value in model.state_dict().items():  # the step was skipped, and no state was spoilt
        if not key.endswith("steps") and "method" not in key:
            assert torch.equal(value, before[key])
        assert value.isfinite().all()


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected in")
def test_anomaly_detection_names_the_head():
    model = MultiHead(IMTLG())
    with torch.autograd.detect_anomaly(check_nan=False):
        losses = model.losses(X)
        losses[2] = losses[2] * torch.nan
        with pytest.raises(FloatingPointError, match="gradient of head 2 at this Block is NaN or infinite"):
            sum(losses).backward()


def test_differentiating_twice_is_a_clear_error():
    y = torch.randn(3, requires_grad=True)
    total = sum(view.pow(3).sum() for view in Block(Sum())(y, 2))
    (first,) = torch.autograd.grad(total, y, create_graph=True)
    with pytest.raises(RuntimeError, match="impartiality block cannot be differentiated twice"):
        first.sum().backward()


def test_a_view_from_an_earlier_step_is_a_clear_error():
    y = torch.randn(3, requires_grad=True)
    first, second = Block(Sum())(y, 2)
    (first.sum() + second.sum()).backward()
    with pytest.raises(RuntimeError, match="A view from an earlier step was used again"):
        first.sum().backward()


def test_a_retained_graph_can_be_used_again():
    y = torch.randn(3, requires_grad=True)
    first, second = Block(Sum())(y, 2)
    loss = first.sum() + second.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert_close(y.grad, torch.full((3,), 4.0))


def test_changing_a_view_in_place_is_an_error():
    y = torch.randn(3, requires_grad=True)
    first, _ = Block(Sum())(y * 1, 2)
    with pytest.raises(RuntimeError, match="in-?place"):
        first.add_(1)


# a module like others


def test_state_and_device_travel_with_the_model():
    model = MultiHead(GradNorm())
    model(X).backward()
    assert "block.method.state" in model.state_dict()
    model.float()
    assert model.block.method.state.dtype == torch.float32


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_blocks_of_their_own(duplicate):
    model = MultiHead(GradNorm())
    gradient_of(model, X)
    other = duplicate(model)
    assert other.block._ticket != model.block._ticket
    assert_close(gradient_of(other, X), gradient_of(model, X))


def test_repr_tells_the_options():
    text = repr(Block(IMTLG() >> PCGrad(), preserve_norm=False))
    assert "IMTLG() >> PCGrad()" in text
    assert "preserve_norm=False" in text


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "2"])
def test_a_senseless_number_of_heads(n):
    with pytest.raises(ValueError, match="n should be the number of heads, an integer >= 1. Found"):
        Block(Sum())(torch.ones(2), n)


@pytest.mark.parametrize("method", ["imtl", IMTLG, None, nn.ReLU()])
def test_something_else_than_a_method(method):
    with pytest.raises(ValueError, match=r"method should be a method .* such as IMTLG\(\). Found"):
        Block(method)


def test_a_method_for_another_number_of_heads_complains_in_the_forward_pass():
    with pytest.raises(ValueError, match="one for each of the 3 heads. Found 2"):
        Block(GradDrop([0.1, 0.2]))(torch.ones(2, requires_grad=True), 3)


def test_feature_axes_of_zero():
    with pytest.raises(ValueError, match="feature_axes should be an integer >= 1. Found 0"):
        Block(Sum(), feature_axes=0)


# Several problems in one block


def share_generators(methods):
    """Random methods draw one problem after the other from the same stream, as they do in one block."""
    for copies in zip(*[method.modules() for method in methods], strict=True):
        for other in copies[1:]:
            if hasattr(other, "generator"):
                other.generator = copies[0].generator
    return methods


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("preserve_norm", [True, False])
@pytest.mark.parametrize("masked", [False, True])
def test_problems_are_settled_like_blocks_of_their_own(name, preserve_norm, masked):
    rows = torch.randn(4, 3, 2, 6, 5) * torch.tensor([1.0, 10, 0.1, 3]).reshape(4, 1, 1, 1, 1)
    y = torch.randn(3, 2, 6, 5)
    mask = torch.rand(3, 1, 6, 4) < 0.7 if masked else None
    if masked:
        rows = rows * mask.movedim(-1, 0).unsqueeze(-1)
    together = Block(METHODS[name](), preserve_norm=preserve_norm, problem_axes=1)
    methods = share_generators([METHODS[name]() for _ in range(3)])
    alone = [Block(method, preserve_norm=preserve_norm) for method in methods]
    for step in range(3):  # some learn
        found = settle(together, (1 + step) * rows, y, observed=mask)
        for a, block in enumerate(alone):
            expected = settle(block, (1 + step) * rows[:, a], y[a], observed=None if mask is None else mask[a])
            assert_close(found[a], expected, 1e-8)
            assert_close(together.last.gram[a], block.last.gram)
            assert_close(together.last.weights[a], block.last.weights, 1e-7)


def test_problems_do_not_disturb_one_another():
    rows, others = torch.randn(3, 2, 6, 5), torch.randn(3, 1, 6, 5)
    first = settle(Block(MGDA(), problem_axes=1), rows)
    second = settle(Block(MGDA(), problem_axes=1), torch.cat([rows[:, :1], others], 1))
    assert_close(first[0], second[0])
    assert not torch.allclose(first, settle(Block(MGDA()), rows))  # as one problem


def test_two_axes_of_problems_and_images():
    rows = torch.randn(3, 2, 2, 4, 3, 5)  # [T, problems, problems, rows, features, features]
    block = Block(MGDA(), feature_axes=2, problem_axes=2)
    found = settle(block, rows)
    assert block.last.gram.shape == (4, 3, 3)
    for i, j in [(0, 1), (1, 0)]:
        assert_close(found[i, j], settle(Block(MGDA(), feature_axes=2), rows[:, i, j]))


def test_wrong_problem_axes_are_named():
    with pytest.raises(ValueError, match="problem_axes should be an integer >= 0. Found -1"):
        Block(Sum(), problem_axes=-1)
    with pytest.raises(ValueError, match=r"1 axes of feature_axes and the 2 of problem_axes. Found shape \[3, 4\]"):
        Block(Sum(), problem_axes=2)(torch.zeros(3, 4), 2)
    with pytest.raises(ValueError, match=r"shape \[3, 4, 2\].* Found \[4, 3\]"):
        Block(Sum(), problem_axes=1)(torch.zeros(3, 4, 5), 2, observed=torch.ones(4, 3))
    assert "problem_axes=1" in repr(Block(Sum(), problem_axes=1))
    assert "problem_axes" not in repr(Block(Sum()))
