"""Networks for images, texts and vectors: shapes, published sizes, and layouts that change no value."""

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from evenhand.datasets import MNISTDecoder, MNISTEncoder, SVHNDecoder, SVHNEncoder, TextDecoder, TextEncoder
from evenhand.datasets.judges import ImageClassifier, TextClassifier
from evenhand.modalities.networks import default_decoder, default_encoder

L = 5
IMAGES = [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 16, 16), (1, 9, 11), (2, 13, 40), (1, 8, 100), (3, 64, 64)]
SEQUENCES = [(8, 71), (9, 4), (33, 30), (3, 5), (1, 7), (100, 2)]
VECTORS = [(), (1,), (2,), (17,)]
PAIRED = [(4, 2), (40, 2), (8, 6, 2), (3, 6, 2), (1, 8, 8, 2), (1, 28, 28, 2), (3, 9, 11, 2)]

PAPER = {
    "mnist": (MNISTEncoder, MNISTDecoder, (1, 28, 28), (330_040, 322_784)),
    "svhn": (SVHNEncoder, SVHNDecoder, (3, 32, 32), (247_560, 206_563)),
    "text": (TextEncoder, TextDecoder, (8, 71), (145_704, 143_175)),
}
ENCODERS = {
    **{f"default {shape}": (lambda shape=shape: default_encoder(shape, L), shape) for shape in IMAGES},
    **{f"default {shape}": (lambda shape=shape: default_encoder(shape, L), shape) for shape in SEQUENCES + VECTORS},
    **{name: (lambda kind=kind: kind(L), shape) for name, (kind, _, shape, _) in PAPER.items()},
    "mnist, 3 layers": (lambda: MNISTEncoder(L, 30, 3), (1, 28, 28)),
}
DECODERS = {
    **{f"default {shape}": (lambda shape=shape: default_decoder(L, shape), shape) for shape in IMAGES},
    **{f"default {shape}": (lambda shape=shape: default_decoder(L, shape), shape) for shape in SEQUENCES + VECTORS},
    **{f"default {shape}": (lambda shape=shape: default_decoder(L, shape), shape) for shape in PAIRED},
    **{name: (lambda kind=kind: kind(L), shape) for name, (_, kind, shape, _) in PAPER.items()},
    "mnist, 3 layers": (lambda: MNISTDecoder(L, 30, 3), (1, 28, 28)),
}


def every(networks):
    return pytest.mark.parametrize(("make", "shape"), networks.values(), ids=networks.keys())


def parts(output):
    return output if isinstance(output, tuple) else (output,)


def n_parameters(network):
    return sum(p.numel() for p in network.parameters())


def assert_same_rows(network, x):
    """A batch, its rows one by one, and its rows in another order."""
    whole = parts(network(x))
    single = [parts(network(row.unsqueeze(0))) for row in x]
    flipped = parts(network(x.flip(0)))
    for i, found in enumerate(whole):
        torch.testing.assert_close(torch.cat([output[i] for output in single]), found)
        torch.testing.assert_close(flipped[i].flip(0), found)


def assert_gradients_reach(network, output):
    sum((part * torch.randn_like(part)).sum() for part in parts(output)).backward()
    for name, p in network.named_parameters():
        assert p.grad is not None, name
        assert p.grad.isfinite().all(), name
        assert p.grad.abs().sum() > 0, name


def channels_are_last(x):
    return x.is_contiguous(memory_format=torch.channels_last) and x.stride(1) == 1


def outputs_of_layers(network, x):
    """What every layer gives, with the layer; one that computes in its own way stands for the layer inside it."""
    found = []
    own = ("_FromPoint", "_ToPoint", "_Twice")
    leaves = [module for module in network.modules() if not [*module.children()] or type(module).__name__ in own]
    handles = [module.register_forward_hook(lambda m, a, y: found.append((m, y))) for module in leaves]
    network(x)
    for handle in handles:
        handle.remove()
    return found


# The contract


@every(ENCODERS)
def test_an_encoder_gives_means_and_scales(make, shape):
    encoder = make()
    for rows in (4, 1):
        outputs = parts(encoder(torch.rand(rows, *shape)))
        if len(outputs) == 1:
            assert outputs[0].shape == (rows, 2 * L)
        else:
            assert [output.shape for output in outputs] == [(rows, L), (rows, L)]
            assert (outputs[1] > 0).all()
        assert all(output.dtype == torch.float64 for output in outputs)


@every(DECODERS)
def test_a_decoder_gives_parameters_of_the_shape(make, shape):
    decoder = make()
    for rows in (4, 1):
        output = decoder(torch.randn(rows, L))
        assert output.shape == (rows, *shape)
        assert output.dtype == torch.float64


@every(ENCODERS)
def test_an_encoder_knows_one_row_at_a_time(make, shape):
    assert_same_rows(make(), torch.rand(3, *shape))


@every(DECODERS)
def test_a_decoder_knows_one_row_at_a_time(make, shape):
    assert_same_rows(make(), torch.randn(3, L))


@every(ENCODERS)
def test_gradients_reach_all_of_an_encoder(make, shape):
    encoder = make()
    assert_gradients_reach(encoder, encoder(torch.rand(4, *shape)))


@every(DECODERS)
def test_gradients_reach_all_of_a_decoder(make, shape):
    decoder = make()
    assert_gradients_reach(decoder, decoder(torch.randn(4, L)))


@every({**ENCODERS, **{f"{name}, decoder": value for name, value in DECODERS.items()}})
def test_training_and_evaluation_are_the_same(make, shape):
    network = make()
    assert not [m for m in network.modules() if isinstance(m, nn.Dropout | nn.modules.batchnorm._BatchNorm)]
    assert network.state_dict().keys() == dict(network.named_parameters()).keys()


@pytest.mark.parametrize("shape", IMAGES)
def test_the_layout_of_an_image_does_not_matter(shape):
    encoder, x = default_encoder(shape, L), torch.rand(3, *shape)
    torch.testing.assert_close(encoder(x.contiguous(memory_format=torch.channels_last)), encoder(x))
    transposed = torch.rand(3, shape[0], shape[2], shape[1]).mT
    torch.testing.assert_close(encoder(transposed), encoder(transposed.contiguous()))


def test_the_same_numbers_in_single_precision():
    for make, shape in ENCODERS.values():
        encoder, x = make(), torch.rand(3, *shape)
        expected = parts(encoder(x))
        for found, target in zip(parts(encoder.float()(x.float())), expected, strict=True):
            torch.testing.assert_close(found.double(), target, rtol=1e-4, atol=1e-5)


# Defaults


@pytest.mark.parametrize("shape", [*IMAGES, (8, 71), (33, 30), (100,), (3, 224, 224)])
def test_defaults_are_small(shape):
    for network in (default_encoder(shape, 20), default_decoder(20, shape)):
        assert 90_000 < n_parameters(network) < 400_000


@pytest.mark.parametrize("shape", IMAGES)
def test_every_entry_of_an_input_is_seen(shape):
    x = torch.rand(2, *shape, requires_grad=True)
    encoder = default_encoder(shape, L)
    (encoder(x) * torch.randn(2, 2 * L)).sum().backward()
    assert (x.grad != 0).all()


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 28, 28), (1, 9, 11), (3, 16, 16, 2)])
def test_default_images_have_channels_last(shape):
    decoder = default_decoder(L, shape)
    images = [y for m, y in outputs_of_layers(decoder, torch.randn(3, L)) if y.ndim == 4]
    assert len(images) >= 2
    assert all(channels_are_last(y) for y in images if y.shape[1] > 1)
    encoder = default_encoder(shape[:3], L)
    images = [y for m, y in outputs_of_layers(encoder, torch.rand(3, *shape[:3])) if y.ndim == 4]
    assert len(images) >= 2
    assert all(channels_are_last(y) for y in images)


def test_a_pair_of_an_entry_stands_last():
    decoder, z = default_decoder(L, (3, 9, 11, 2)), torch.randn(4, L)
    image = decoder.network(z)
    for channel in range(3):
        for which in range(2):
            torch.testing.assert_close(decoder(z)[:, channel, ..., which], image[:, 2 * channel + which])


@pytest.mark.parametrize("shape", [(1, 8, 8), (8, 5), (6,)])
def test_a_default_pair_learns(shape):
    torch.manual_seed(1)
    x = torch.rand(8, *shape)
    encoder, decoder = default_encoder(shape, L), default_decoder(L, shape)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 2e-3)
    losses = []
    for _ in range(150):
        loss = functional.mse_loss(decoder(encoder(x)[:, :L]), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * x.var().item()


@pytest.mark.parametrize("shape", [(1, 7, 8), (1, 8, 7), (3, 4, 4), (1, 2, 3, 4), (1, 8, 8, 8, 8)])
def test_unsupported_shapes(shape):
    with pytest.raises(ValueError, match=r"input_shape should be .* at least 8.* Found \(.*\)\."):
        default_encoder(shape, L)
    with pytest.raises(ValueError, match=r"parameter_shape should be .* at least 8.* Found \(.*\)\."):
        default_decoder(L, shape)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (1.5,), (True,), (1, -8, 8)])
def test_shapes_hold_positive_integers(shape):
    with pytest.raises(ValueError, match="input_shape should hold integers >= 1. Found"):
        default_encoder(shape, L)
    with pytest.raises(ValueError, match="parameter_shape should hold integers >= 1. Found"):
        default_decoder(L, shape)


@pytest.mark.parametrize("shape", [5, None, "28"])
def test_shapes_are_tuples(shape):
    with pytest.raises(ValueError, match="input_shape should be a tuple of integers. Found"):
        default_encoder(shape, L)


@pytest.mark.parametrize("n", [0, -1, 2.0, None, True])
def test_the_number_of_latent_variables_is_checked(n):
    expected = f"n_latent should be an integer >= 1. Found {n!r}."
    for make in (lambda: default_encoder((3,), n), lambda: default_decoder(n, (3,))):
        with pytest.raises(ValueError, match=expected):
            make()
    for encoder, decoder, *_ in PAPER.values():
        for kind in (encoder, decoder):
            with pytest.raises(ValueError, match=expected):
                kind(n)


def test_shapes_of_tensors_are_shapes():
    x = torch.rand(2, 1, 8, 8)
    assert default_encoder(x.shape[1:], L)(x).shape == (2, 2 * L)


# The paper's networks, against torch's layers in their plain form


@pytest.mark.parametrize("name", PAPER)
def test_published_numbers_of_parameters(name):
    encoder, decoder, _, counts = PAPER[name]
    assert (n_parameters(encoder()), n_parameters(decoder())) == counts


def plain_svhn_encoder(encoder, x):
    for layer in (m for m in encoder.hidden if isinstance(m, nn.Conv2d)):
        x = functional.conv2d(x, layer.weight.contiguous(), layer.bias, 2, 1).relu()
    mean, raw = (
        functional.conv2d(x, head.convolution.weight.contiguous(), head.convolution.bias).flatten(1)
        for head in (encoder.mean, encoder.scale)
    )
    return mean, raw.softmax(-1) * L + 1e-6


def plain_svhn_decoder(decoder, z):
    first, *rest = (m for m in decoder.modules() if isinstance(m, nn.ConvTranspose2d))
    h = functional.conv_transpose2d(z[..., None, None], first.weight.contiguous(), first.bias)
    for layer in rest:
        h = functional.conv_transpose2d(h.relu(), layer.weight.contiguous(), layer.bias, 2, 1)
    return h.sigmoid()


def plain_text_encoder(encoder, x):
    second, third = (m for m in encoder.hidden.modules() if isinstance(m, nn.Conv2d))
    h = functional.conv1d(x.mT, encoder.embedding.weight.unsqueeze(-1), encoder.embedding.bias).relu()
    h = functional.conv1d(h, second.weight.squeeze(2), second.bias, 2, 1).relu()
    h = functional.conv1d(h, third.weight.squeeze(2), third.bias, 2).relu().flatten(1)
    return encoder.mean(h), functional.softplus(encoder.scale(h)) + 1e-6


def plain_text_decoder(decoder, z):
    first, second = (m for m in decoder.modules() if isinstance(m, nn.ConvTranspose2d))
    h = decoder.hidden[0](z).unsqueeze(-1)
    h = functional.conv_transpose1d(h, first.weight.squeeze(2), first.bias).relu()
    h = functional.conv_transpose1d(h, second.weight.squeeze(2), second.bias, 2, 1).relu()
    return functional.conv1d(h, decoder.symbols.weight.unsqueeze(-1), decoder.symbols.bias).mT


PLAIN = {
    "svhn encoder": (SVHNEncoder, plain_svhn_encoder, (3, 32, 32)),
    "svhn decoder": (SVHNDecoder, plain_svhn_decoder, (L,)),
    "text encoder": (TextEncoder, plain_text_encoder, (8, 71)),
    "text decoder": (TextDecoder, plain_text_decoder, (L,)),
}


@pytest.mark.parametrize(("kind", "plain", "shape"), PLAIN.values(), ids=PLAIN.keys())
@pytest.mark.parametrize("rows", [1, 6])
def test_the_layout_changes_no_value_and_no_gradient(kind, plain, shape, rows):
    network, x = kind(L), torch.randn(rows, *shape, requires_grad=True)
    found, expected = parts(network(x)), parts(plain(network, x))
    cotangents = [torch.randn_like(part) for part in found]
    variables = [x, *network.parameters()]
    gradients = [torch.autograd.grad(outputs, variables, cotangents) for outputs in (found, expected)]
    for a, b in zip((*found, *gradients[0]), (*expected, *gradients[1]), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(("kind", "plain", "shape"), PLAIN.values(), ids=PLAIN.keys())
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_channels_stay_last_from_layer_to_layer(kind, plain, shape, dtype):
    network, x = kind(L).to(dtype), torch.randn(6, *shape, dtype=dtype)
    images = [(m, y) for m, y in outputs_of_layers(network, x) if y.ndim == 4]
    assert len(images) >= (8 if kind is SVHNDecoder else 2)
    for module, y in images:
        assert channels_are_last(y), module
    if kind is SVHNDecoder:
        assert channels_are_last(network(x))
    if kind is TextDecoder:
        assert network(x).is_contiguous()


def test_channels_stay_last_in_copies_and_after_loading():
    decoder = SVHNDecoder(L)
    decoder.load_state_dict({name: p.contiguous() for name, p in SVHNDecoder(L).state_dict().items()})
    for network in (decoder, copy.deepcopy(decoder), copy.deepcopy(decoder).float()):
        assert all(channels_are_last(p) for p in network.parameters() if p.ndim == 4)


def test_text_is_copied_nowhere_between_its_layers():
    assert TextDecoder(L).hidden(torch.randn(6, L)).squeeze(2).mT.is_contiguous()


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: SVHNEncoder(L), (3, 32, 32)),
        (lambda: default_encoder((3, 16, 16), L), (3, 16, 16)),
        (lambda: default_encoder((9, 4), L), (9, 4)),
        (lambda: TextEncoder(L), (8, 71)),
    ],
)
def test_the_first_convolution_sees_channels_last(make, shape):
    encoder, taken = make(), []
    first = next(m for m in encoder.modules() if isinstance(m, nn.Conv2d))
    handle = first.register_forward_pre_hook(lambda m, inputs: taken.extend(inputs))
    encoder(torch.rand(6, *shape))
    handle.remove()
    assert channels_are_last(taken[0])


@pytest.mark.parametrize("layers", [1, 2])
def test_mnist_is_a_plain_network(layers):
    encoder, decoder = MNISTEncoder(L, 30, layers), MNISTDecoder(L, 30, layers)
    x, z = torch.rand(4, 1, 28, 28), torch.randn(4, L)
    assert len([m for m in encoder.modules() if isinstance(m, nn.Linear)]) == layers + 2
    assert len([m for m in decoder.modules() if isinstance(m, nn.Linear)]) == layers + 1
    h = x.flatten(1)
    for layer in (m for m in encoder.hidden if isinstance(m, nn.Linear)):
        h = layer(h).relu()
    mean, scale = encoder(x)
    torch.testing.assert_close(mean, encoder.mean(h))
    torch.testing.assert_close(scale, encoder.scale(h).softmax(-1) * L + 1e-6)
    h = z
    for layer in (m for m in decoder.hidden if isinstance(m, nn.Linear)):
        h = layer(h).relu()
    torch.testing.assert_close(decoder(z), decoder.pixels(h).sigmoid().view(4, 1, 28, 28))


@pytest.mark.parametrize(("kind", "shape"), [(MNISTEncoder, (1, 28, 28)), (SVHNEncoder, (3, 32, 32))])
def test_scales_of_images_sum_to_their_number(kind, shape):
    _, scale = kind(7)(10 * torch.randn(5, *shape))
    torch.testing.assert_close(scale.sum(-1), torch.full((5,), 7 * (1 + 1e-6)))


def test_images_lie_between_zero_and_one_and_logits_anywhere():
    z = 100 * torch.randn(50, L)
    for kind in (MNISTDecoder, SVHNDecoder):
        assert ((kind(L)(z) >= 0) & (kind(L)(z) <= 1)).all()
    logits = TextDecoder(L)(z)
    assert logits.min() < 0 < 1 < logits.max()


@pytest.mark.parametrize(
    ("layer", "fan"),
    [
        (lambda: SVHNDecoder().layers[0].convolution, 128 * 16),
        (lambda: SVHNEncoder().mean.convolution, 128 * 16),
        (lambda: TextEncoder().embedding, 71),
        (lambda: TextEncoder().hidden[0], 128 * 4),
        (lambda: TextDecoder().hidden[1].convolution, 128 * 4),
        (lambda: TextDecoder().symbols, 128),
    ],
)
def test_weights_start_as_those_of_the_published_layers(layer, fan):
    bound = 1 / math.sqrt(fan)  # torch's rule, by the inputs of the layer (its outputs if transposed)
    weight = layer().weight
    assert 0.99 * bound < weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_other_alphabets():
    assert TextDecoder(L, 30)(torch.randn(2, L)).shape == (2, 8, 30)
    assert TextEncoder(L, 30)(torch.rand(2, 8, 30))[0].shape == (2, L)
    with pytest.raises(ValueError, match="n_symbols should be an integer >= 1. Found 0."):
        TextEncoder(L, 0)
    with pytest.raises(ValueError, match="n_layers should be an integer >= 1. Found 0."):
        MNISTDecoder(n_layers=0)


# Classifiers


@pytest.mark.parametrize(
    ("shape", "n_features", "count"), [((1, 28, 28), 320, 21_840), ((3, 32, 32), 500, 31_340)], ids=["mnist", "svhn"]
)
def test_published_classifiers_of_images(shape, n_features, count):
    classifier, x = ImageClassifier(shape).eval(), torch.rand(4, *shape)
    first, second = (m for m in classifier.layers if isinstance(m, nn.Conv2d))
    third, fourth = (m for m in classifier.layers if isinstance(m, nn.Linear))
    assert n_parameters(classifier) == count
    assert third.in_features == n_features
    h = functional.max_pool2d(functional.conv2d(x, first.weight, first.bias), 2).relu()
    h = functional.max_pool2d(functional.conv2d(h, second.weight, second.bias), 2).relu()
    torch.testing.assert_close(classifier(x), fourth(third(h.flatten(1)).relu()).log_softmax(-1))


@pytest.mark.parametrize("shape", [*IMAGES, (1, 27, 28), (3, 29, 31)])
def test_classifiers_of_other_images(shape):
    classifier, x = ImageClassifier(shape, 7), torch.rand(4, *shape)
    output = classifier(x)
    torch.testing.assert_close(output.exp().sum(-1), torch.ones(4))
    assert output.shape == (4, 7)
    assert_gradients_reach(classifier, output)
    assert_same_rows(classifier.eval(), x)


def test_the_published_classifier_of_texts():
    classifier, x = TextClassifier().eval(), torch.rand(4, 8, 71).softmax(-1)
    h = classifier.embedding(x.mT)
    assert h.shape == (4, 128, 8)
    for block, shape in zip(classifier.blocks, [(4, 192, 4), (4, 128, 1)], strict=True):
        h = block.shortcut(h) + 0.3 * block.branch(h)
        assert h.shape == shape
    torch.testing.assert_close(classifier(x), classifier.head[1](h.squeeze(-1)).log_softmax(-1))


@pytest.mark.parametrize("length", [8, 9, 20])
def test_classifiers_of_texts(length):
    classifier, x = TextClassifier(30, 7), torch.rand(4, length, 30)
    output = classifier(x)
    torch.testing.assert_close(output.exp().sum(-1), torch.ones(4))
    assert output.shape == (4, 7)
    assert_gradients_reach(classifier, output)
    assert_same_rows(classifier.eval(), x)


def test_a_classifier_learns_words():
    x = functional.one_hot(torch.randint(6, (10, 8)), 6).double()
    classifier, target = TextClassifier(6), torch.arange(10)
    optimizer = torch.optim.Adam(classifier.parameters(), 1e-3)
    for _ in range(40):
        optimizer.zero_grad()
        functional.nll_loss(classifier(x), target).backward()
        optimizer.step()
    assert (classifier.eval()(x).argmax(-1) == target).all()


@pytest.mark.parametrize("shape", [(1, 7, 8), (28, 28), (0, 8, 8), (1, 1, 8, 8), (1, 8.0, 8)])
def test_classifiers_refuse_shapes(shape):
    with pytest.raises(ValueError, match=r"shape should .* Found \(.*\)\."):
        ImageClassifier(shape)


@pytest.mark.parametrize("shape", [(4, 7, 30), (4, 8, 29), (8, 30), (1, 4, 8, 30)])
def test_classifiers_refuse_texts(shape):
    with pytest.raises(ValueError, match=r"x should be \[B, T, 30\] with T of at least 8\. Found \["):
        TextClassifier(30)(torch.rand(shape))


def test_numbers_of_classes_are_checked():
    for make in (lambda: ImageClassifier((1, 8, 8), 0), lambda: TextClassifier(5, 0)):
        with pytest.raises(ValueError, match="n_classes should be an integer >= 1. Found 0."):
            make()


def test_a_doubled_line_as_a_product():
    layer = TextDecoder(L).hidden[3]
    x = torch.randn(3, 128, 1, 4, requires_grad=True)
    _same_with_gradients(layer.as_product(x), layer(x), (x, *layer.parameters()))


@pytest.mark.parametrize("way", ["in_squares", "as_product"])
@pytest.mark.parametrize(("place", "n_channels"), [(2, 128), (6, 32)])
def test_a_doubled_image_in_other_ways(place, n_channels, way):
    """What the SVHN decoder computes on a GPU, and last on a CPU, is the transposed convolution, and its backward."""
    layer = SVHNDecoder(L).layers[place]
    x = torch.randn(3, n_channels, 4, 7, requires_grad=True)
    tensors = (x, *layer.parameters())
    expected, found = layer.convolution(x), getattr(layer, way)(x.contiguous(memory_format=torch.channels_last))
    assert found.is_contiguous(memory_format=torch.channels_last)
    _same_with_gradients(found, expected, tensors)


def _same_with_gradients(found, expected, tensors):
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(found)
    pairs = (torch.autograd.grad((y * weights).sum(), tensors) for y in (found, expected))
    for a, b in zip(*pairs, strict=True):
        torch.testing.assert_close(a, b)
