"""Finding the places where gradients meet."""

import copy

import pytest
import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

from evenhand.impartial import (
    IMTLG,
    MGDA,
    Block,
    GradNorm,
    LinearBlock,
    Output,
    ParameterBlock,
    backward,
    find_blocks,
)
from evenhand.impartial._find import _finer

from ._asserts import assert_close
from ._models import MultiHead

X = torch.randn(6, 5, generator=torch.Generator().manual_seed(3)).double()


class VAE(nn.Module):
    """A VAE for three columns, with a head each or with one linear layer for all."""

    def __init__(self, fused: bool, wrap=None) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 4))
        self.decoder = nn.Sequential(nn.Linear(2, 8), nn.ReLU())
        self.heads = nn.Linear(8, 3) if fused else nn.ModuleList(nn.Linear(8, 1) for _ in range(3))
        self.block = wrap

    def losses(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        mean, raw = self.encoder(x).chunk(2, -1)
        z = mean + F.softplus(raw) * torch.randn_like(mean)
        y = self.decoder(z)
        if isinstance(self.heads, nn.ModuleList):
            views = [y] * 3 if self.block is None else self.block(y, 3)
            columns = [head(view) for head, view in zip(self.heads, views, strict=True)]
        elif self.block is None:
            columns = self.heads(y).split(1, -1)
        else:
            columns = self.block(y, self.heads.weight, self.heads.bias).split(1, -1)
        return {f"x{d}": -Normal(column, 10.0**d).log_prob(x[:, d : d + 1]).sum() for d, column in enumerate(columns)}


def summary(blocks):
    return [(b.kind, b.shapes[0], b.names) for b in blocks]


def test_a_vae_has_one_block_at_the_last_shared_layer():
    model = VAE(fused=False)
    (block,) = find_blocks(model.losses(X), model)
    assert summary([block]) == [("features", (6, 8), ("x0", "x1", "x2"))]
    assert block.place == "Relu after decoder.0"


def test_heads_in_one_linear_layer_meet_at_its_input():
    model = VAE(fused=True)
    (block,) = find_blocks(model.losses(X), model)
    assert summary([block]) == [("features", (6, 8), ("x0", "x1", "x2"))]


@pytest.mark.parametrize("fused", [True, False])
def test_the_conflict_found_is_the_conflict_at_a_block(fused):
    """What is found before anything is changed is what a block reads afterwards."""
    wrap = LinearBlock(MGDA(), [0, 1, 2]) if fused else Block(MGDA())
    model = VAE(fused, wrap)
    torch.manual_seed(1)
    losses = model.losses(X)
    (found,) = find_blocks(losses, model)
    sum(losses.values()).backward()
    assert_close(found.reading.gram, wrap.last.gram)
    assert found.spread == pytest.approx((wrap.last.norms.max() / wrap.last.norms.min()).item())


def test_hivae_has_two_inputs():
    """Heads use [y, S]; S also feeds the encoder of z, which is common to all."""
    encode_s, encode_z, decode = nn.Linear(5, 3), nn.Linear(8, 2), nn.Linear(2, 4)
    heads = [nn.Linear(7, 1) for _ in range(3)]
    s = encode_s(X).softmax(-1)
    y = decode(encode_z(torch.cat([X, s], -1)))
    losses = {f"x{d}": head(torch.cat([y, s], -1)).square().sum() for d, head in enumerate(heads)}
    assert sorted(summary(find_blocks(losses))) == [
        ("features", (6, 3), ("x0", "x1", "x2")),
        ("features", (6, 4), ("x0", "x1", "x2")),
    ]


class MMVAE(nn.Module):
    """Three modalities, one expert each; sticking the landing detaches the experts in log q."""

    def __init__(self, modalities: int = 3) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(nn.Linear(4, 4) for _ in range(modalities))
        self.decoders = nn.ModuleList(
            nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 4)) for _ in range(modalities)
        )

    def terms(self, xs):
        parameters = [encoder(x).chunk(2, -1) for encoder, x in zip(self.encoders, xs, strict=True)]
        experts = [Normal(mean, F.softplus(raw) + 1e-3) for mean, raw in parameters]
        samples = [expert.rsample((3,)) for expert in experts]
        fixed = [Normal(e.loc.detach(), e.scale.detach()) for e in experts]
        log_p = {
            f"p(x{d}|z{a})": Normal(decoder(z), 0.75).log_prob(x).sum()
            for a, z in enumerate(samples)
            for d, (decoder, x) in enumerate(zip(self.decoders, xs, strict=True))
        }
        log_q = {
            f"q{b}(z{a})": expert.log_prob(z).sum() for a, z in enumerate(samples) for b, expert in enumerate(fixed)
        }
        return {"log p": log_p, "log q": log_q}


@pytest.mark.parametrize("modalities", [2, 3])
def test_a_mixture_has_two_blocks_per_expert_and_one_per_decoder(modalities):
    model = MMVAE(modalities)
    found = find_blocks(model.terms(torch.randn(modalities, 6, 4)), model)
    assert len(found) == 2 * modalities + modalities
    likelihoods = [b for b in found if b.kind == "features" and b.names[0].startswith("p")]
    experts = [b for b in found if b.kind == "features" and b.names[0].startswith("q")]
    decoders = [b for b in found if b.kind == "parameters"]
    everyone = range(modalities)
    assert {b.names for b in likelihoods} == {tuple(f"p(x{d}|z{a})" for d in everyone) for a in everyone}
    assert {b.names for b in experts} == {tuple(f"q{b}(z{a})" for b in everyone) for a in everyone}
    assert {b.names for b in decoders} == {tuple(f"p(x{d}|z{a})" for a in everyone) for d in everyone}
    assert {b.place for b in decoders} == {f"decoders.{d}" for d in everyone}
    assert all(len(b.shapes) == 4 for b in decoders)  # two weights and two biases
    assert all(b.shapes == ((3, 6, 2),) for b in likelihoods + experts)


def test_losses_per_modality_find_the_likelihood_blocks_alone():
    model = MMVAE()
    terms = model.terms(torch.randn(3, 6, 4))["log p"]
    losses = {f"x{d}": sum(t for name, t in terms.items() if f"(x{d}" in name) for d in range(3)}
    found = find_blocks(losses, model)
    assert len(found) == 3
    assert all(b.names == ("x0", "x1", "x2") and b.kind == "features" for b in found)


def test_a_decoder_block_reads_what_was_found():
    model = MMVAE()
    torch.manual_seed(2)
    found = find_blocks(model.terms(torch.randn(3, 6, 4)), model)
    (expected,) = [b for b in found if b.place == "decoders.1"]
    torch.manual_seed(2)
    xs = torch.randn(3, 6, 4)
    plain = copy.deepcopy(model)
    block = ParameterBlock(plain.decoders[1], MGDA())
    parameters = [encoder(x).chunk(2, -1) for encoder, x in zip(plain.encoders, xs, strict=True)]
    samples = [Normal(m, F.softplus(r) + 1e-3).rsample((3,)) for m, r in parameters]
    views = block(3)
    sum(Normal(v(z), 0.75).log_prob(xs[1]).sum() for v, z in zip(views, samples, strict=True)).backward()
    assert_close(block.last.gram, expected.reading.gram, 1e-9)


def test_nothing_is_touched():
    model = MultiHead(GradNorm())
    before = copy.deepcopy(model.state_dict())
    losses = {str(t): loss for t, loss in enumerate(model.losses(X))}
    find_blocks(losses, model)
    assert all(p.grad is None for p in model.parameters())
    after = model.state_dict()
    assert list(before) == list(after)
    assert all(torch.equal(before[k], after[k]) for k in before)
    with pytest.raises(RuntimeError, match="No backward pass"):
        _ = model.block.last
    sum(losses.values()).backward()  # the graph is still there
    assert model.block.method.steps.item() == 1


def test_a_nan_does_not_hide_a_place():
    model = VAE(fused=False)
    losses = model.losses(X)
    losses["x1"] = losses["x1"] * torch.nan
    (block,) = find_blocks(losses, model)
    assert block.reading.norms.isnan().tolist() == [False, True, False]


def test_rows_of_one_head_each_meet_at_the_parameters():
    """Heads that observe different rows share no features, only the parameters before them."""
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 4))
    y = model(X)
    losses = {str(t): (t + 1) * y[2 * t : 2 * t + 2].square().sum() for t in range(3)}
    found = find_blocks(losses, model)
    assert {b.kind for b in found} == {"parameters"}
    assert sum(len(b.shapes) for b in found) == 4


def test_models_without_conflict():
    first, second = nn.Linear(5, 1), nn.Linear(5, 1)
    losses = {"a": first(X).sum(), "b": second(X).sum()}
    assert find_blocks(losses) == []
    assert find_blocks({"a": first(X).sum()}) == []


def test_losses_that_share_a_way_are_one_head():
    trunk, head, other = nn.Linear(5, 4), nn.Linear(4, 2), nn.Linear(4, 1)
    y = trunk(X).tanh()
    eta = head(y)
    losses = {"mean": eta.mean(), "spread": eta.square().mean(), "other": other(y).sum()}
    found = {b.heads for b in find_blocks(losses)}
    assert (("mean",), ("spread",)) in found  # at eta
    assert (("mean", "spread"), ("other",)) in found  # at y


def test_a_block_says_what_it_is():
    model = VAE(fused=False)
    (block,) = find_blocks(model.losses(X), model)
    text = str(block)
    assert "Relu after decoder.0 (features [6, 8]): 3 heads" in text
    assert "'x2' has 0." in text
    assert 0 <= block.conflict <= 1


def lines(losses, model=None):
    return [block.at for block in find_blocks(losses, model)]


def two(y):
    return {"a": y.sum(), "b": y.square().sum()}


def test_the_line_to_type():
    model = VAE(fused=False)
    (block,) = find_blocks(model.losses(X), model)
    assert str(block).endswith("\n    backward(losses, at=Output(model.decoder), method=IMTLG())")
    with Output(model.decoder) as output:
        losses = model.losses(X)
        (found,) = find_blocks(losses, model)
        assert_close(backward(losses, at=output, method="sum").gram, found.reading.gram)


def test_the_line_for_parameters():
    model = MMVAE(2)
    found = lines(model.terms(torch.randn(2, 6, 4))["log p"], model)
    assert sorted(found) == ["model.decoders[0]", "model.decoders[1]", "place", "place"]
    names = nn.ModuleDict({"left": nn.Linear(5, 4)})
    losses = {"a": names["left"](X).sum(), "b": names["left"](X + 1).square().sum()}
    assert lines(losses, names) == ["model"]  # it has no other parameters
    names["right"] = nn.Linear(2, 2)
    assert lines(losses, names) == ["model['left']"]


def test_layers_whose_output_is_known():
    layer = nn.Sequential(nn.Linear(5, 4), nn.LayerNorm(4), nn.Tanh(), nn.ReLU())
    model = nn.ModuleDict({"trunk": layer})
    assert lines(two(layer(X)), model) == ["Output(model['trunk'])"]
    assert lines(two(layer[:3](X)), model) == ["Output(model['trunk'][2])"]
    assert lines(two(layer[:1](X)), model) == ["Output(model['trunk'][0])"]
    assert lines(two(layer(X)), layer) == ["Output(model)"]


def test_tensors_that_no_module_is_known_to_return():
    layer = nn.Sequential(nn.Linear(5, 4), nn.Tanh())
    assert lines(two(layer(X))) == ["place"]  # no model
    assert lines(two(layer(X).exp()), layer) == ["place"]  # something follows the module
    assert lines(two(layer[0](X).sigmoid()), layer) == ["place"]  # not what follows in the Sequential
    assert lines(two(layer(X) + 1), layer) == ["place"]
    y = layer(X)
    twice = {**two(y), "c": layer(X + 1).sum()}  # two outputs, of which an Output would know the last
    assert "Output(model)" not in lines(twice, layer)


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ({"a": torch.ones(3, requires_grad=True) * 2}, r"losses\['a'\] should be a tensor with one number"),
        ({"a": 3.0}, r"losses\['a'\] should be a tensor with one number. Found float"),
        ({"a": torch.tensor(1.0)}, r"losses\['a'\] should depend on parameters .* Found a constant"),
        ({"a": torch.tensor(1.0), "b": {}}, "Found a mixture of both"),
    ],
)
def test_mistakes_are_named(losses, message):
    with pytest.raises(ValueError, match=message):
        find_blocks(losses)


def test_losses_in_a_list_are_called_by_their_numbers():
    y = nn.Linear(3, 4)(torch.ones(2, 3)).tanh()
    (found,) = find_blocks([y.sum(), y.square().sum()])
    assert found.names == ("0", "1")
    with pytest.raises(ValueError, match="losses should have at least one loss"):
        find_blocks([])


def test_sparse_gradients():
    shared = nn.Embedding(5, 3, sparse=True)
    y = shared(torch.tensor([0, 2]))
    (place,) = find_blocks({"a": y[0].sum() + y[1].sum(), "b": 100 * (y[0] * y[1]).sum()}, nn.ModuleList([shared]))
    assert place.reading.norms.isfinite().all()


def test_complex_gradients():
    x = torch.randn(3, requires_grad=True)
    y = torch.complex(x, 2 * x)
    losses = {"a": y.abs().sum(), "b": 2 * (y * y.conj()).real.sum()}
    (place,) = [place for place in find_blocks(losses) if place.shapes == ((3,),)][:1]
    expected = [
        torch.autograd.grad(loss, y, retain_graph=True)[0].abs().square().sum().sqrt() for loss in losses.values()
    ]
    assert place.reading.norms.tolist() == pytest.approx([float(n) for n in expected])


@pytest.mark.parametrize("third", [1.0, 0.0])
def test_columns_of_one_layer_meet_beside_a_head_of_its_own(third):
    """a and b are columns of one linear layer, c is a head beside it; all three meet at the features."""
    generator = torch.Generator().manual_seed(0)
    encoder, joint, other = nn.Linear(5, 4), nn.Linear(4, 2), nn.Linear(4, 1)
    x = torch.randn(8, 5, generator=generator)
    y = encoder(x).tanh()
    columns = joint(y)
    losses = {"a": columns[:, 0].square().sum(), "b": 10 * columns[:, 1].square().sum()}
    (without,) = (place for place in find_blocks(losses) if place.kind == "features")
    assert without.heads == (("a",), ("b",))
    losses["c"] = third * other(y).square().sum()
    (place,) = (place for place in find_blocks(losses) if place.kind == "features")
    assert place.heads == (("a",), ("b",), ("c",))
    assert_close(place.reading.norms[:2], without.reading.norms)
    assert (place.reading.norms[2] > 0) == bool(third)
    assert len(backward(losses, at=place, method=IMTLG()).norms) == 3


def test_ways_are_joined_by_the_finer_of_two():
    assert _finer((), ((0,), (1, 2))) == ((0,), (1, 2))
    assert _finer(((0, 1), (2,)), ((0,), (1,))) == ((0,), (1,), (2,))
    assert _finer(((0, 1, 2), (3, 4)), ((0, 1), (2, 3), (4,))) == ((0, 1), (2,), (3,), (4,))
    assert _finer(((0, 1),), ((0, 1), (2, 3))) == ((0, 1), (2, 3))
