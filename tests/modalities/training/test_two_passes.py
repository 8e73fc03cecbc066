"""A step in two passes: the same gradients with all samples, and right on average with few."""

import pytest
import torch

from evenhand.impartial import IMTLG, CAGrad
from evenhand.modalities.objectives import Balanced, Defensive, LooseToTight, PartlyTight, Tempered
from evenhand.modalities.training import Options, _selection
from evenhand.modalities.training._selection import rows_at_once

from .._linear import core, draw, gradients, holes, network, vector

N, K = 8, 4
CASES = [
    ("elbo", None),
    ("iwae", None),
    ("siwae", None),
    ("siwae", Tempered(0.2)),
    ("siwae", Balanced(0.6)),
    ("siwae", LooseToTight(100)),
    ("siwae", Defensive(0.1)),
]
BLOCKS = {"LI": IMTLG(), "EEI": CAGrad(0.4), "DEI": IMTLG()}


def both(objective, tightness, gradient="stl", impartial=None, missing=False, micro_batch=None, choice="mixture"):
    """Gradients in one pass, and in two with all samples."""
    net, values, observed = network(choice), draw(N), holes(N) if missing else None
    options = {"objective": objective, "tightness": tightness, "gradient": gradient, "impartial": impartial}
    one = core(net, **options, n_samples=K)
    two = core(net, **options, n_samples=K, n_backward=K, micro_batch=micro_batch)
    noise = two.noise(N)
    return (
        gradients(one, values, observed, noise[..., :2], progress=30.0),
        gradients(two, values, observed, noise, progress=30.0),
    )


@pytest.mark.parametrize(("objective", "tightness"), CASES, ids=str)
@pytest.mark.parametrize("gradient", ["stl", "plain"])
@pytest.mark.parametrize("impartial", [None, BLOCKS], ids=["plain", "blocks"])
@pytest.mark.parametrize("missing", [False, True])
def test_with_all_samples_it_is_the_same_step(objective, tightness, gradient, impartial, missing):
    one, two = both(objective, tightness, gradient, impartial, missing)
    assert one.keys() == two.keys()
    for name, g in one.items():
        torch.testing.assert_close(two[name], g, msg=name)


def test_it_can_be_decoded_in_parts():
    one, two = both("siwae", Balanced(0.6), impartial=BLOCKS, micro_batch=8)
    torch.testing.assert_close(vector(two), vector(one))


def called_with(net):
    """How many rows decoders are called with, and whether for gradients, from now on."""
    calls = []
    for decoder in net.decoders:
        decoder.register_forward_pre_hook(lambda _, inputs: calls.append((len(inputs[0]), torch.is_grad_enabled())))
    return calls


@pytest.mark.parametrize("gradient", ["stl", "dreg"])
@pytest.mark.parametrize("impartial", [None, BLOCKS], ids=["plain", "blocks"])
@pytest.mark.parametrize("samples", [1, 3])  # 3 of 4 leave a smaller last part
def test_samples_are_weighed_in_parts(monkeypatch, gradient, impartial, samples):
    net, values, observed = network("mixture"), draw(N), holes(N)
    model = core(
        net,
        objective="siwae",
        tightness=Balanced(0.6),
        gradient=gradient,
        impartial=impartial,
        n_samples=K,
        n_backward=2,
    )
    noise = model.noise(N)
    whole = gradients(model, values, observed, noise)
    monkeypatch.setattr(_selection, "FITS_A_CACHE", samples * N)
    calls = called_with(net)
    parts = gradients(model, values, observed, noise)
    weighed = [rows for rows, graded in calls if not graded]
    assert max(weighed) == samples * N
    assert sum(weighed) == 3 * 3 * K * N  # every sample once by every decoder
    assert sum(rows for rows, graded in calls if graded) == 3 * 3 * 2 * N
    torch.testing.assert_close(vector(parts), vector(whole), rtol=1e-12, atol=1e-14)


@pytest.mark.filterwarnings("ignore")  # what torch says while it compiles is not ours
def test_the_step_compiles_as_one_graph(monkeypatch):
    """Nothing in it looks at numbers, so that it can also be captured as a CUDA graph."""
    monkeypatch.setattr(_selection, "FITS_A_CACHE", 2 * N)
    values, options = draw(N), {"objective": "siwae", "tightness": Balanced(0.6), "n_samples": K, "n_backward": 2}
    model = core(network("mixture"), **options, impartial=BLOCKS)
    noise = model.noise(N)
    expected = gradients(model, values, None, noise)
    model.network.zero_grad(set_to_none=True)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=False)
    compiled(values, None, noise).loss.backward()
    for name, parameter in model.network.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], msg=name)


def test_a_gpu_weighs_all_samples_at_once():
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    few = Options(n_samples=30, n_backward=5)
    assert rows_at_once(gpu, few) is None
    assert rows_at_once(cpu, few) == 256
    assert [rows_at_once(d, Options(n_samples=30, micro_batch=100)) for d in (gpu, cpu)] == [100, 100]


def test_samples_are_drawn_and_encoded_once():
    net, values = network("mixture"), draw(N)
    model = core(net, objective="siwae", n_samples=K, n_backward=2)
    counts = [0, 0, 0]
    for d, encoder in enumerate(net.encoders):
        encoder.register_forward_pre_hook(lambda *_, d=d: counts.__setitem__(d, counts[d] + 1))
    model(values).loss.backward()
    assert counts == [1, 1, 1]


@pytest.mark.parametrize("choice", ["product", "mixture-of-products"])
def test_it_works_for_all_experts(choice):
    one, two = both("siwae", None, impartial=BLOCKS, choice=choice)
    torch.testing.assert_close(vector(two), vector(one))


@pytest.mark.parametrize(
    ("objective", "tightness"), [("siwae", None), ("siwae", Balanced(0.6)), ("iwae", None)], ids=str
)
@pytest.mark.parametrize("gradient", ["stl", "dreg"])
@pytest.mark.parametrize("number", [1, 2])
def test_gradients_of_few_samples_are_right_on_average(objective, tightness, gradient, number):
    """Over all that chance can be; the samples themselves stay the same."""
    net, values, n = network("mixture"), draw(N), 200
    options = {"objective": objective, "tightness": tightness, "gradient": gradient, "n_samples": K}
    all_of_them, few = core(net, **options, n_backward=K), core(net, **options, n_backward=number)
    noise = few.noise(N)
    expected = vector(gradients(all_of_them, values, None, noise))
    total = torch.zeros_like(expected)
    for i in range(n):
        noise[..., -1] = torch.special.ndtri(torch.tensor((i + 0.5) / n))
        total += vector(gradients(few, values, None, noise))
    torch.testing.assert_close(total / n, expected, atol=2e-2 * expected.abs().max().item(), rtol=2e-2)


def test_the_value_is_that_of_the_bound():
    net, values = network("mixture"), draw(N)
    one, two = core(net, objective="siwae", n_samples=K), core(net, objective="siwae", n_samples=K, n_backward=1)
    noise = two.noise(N)
    torch.testing.assert_close(two(values, None, noise).loss, one(values, None, noise[..., :2]).loss)
    with torch.no_grad():
        torch.testing.assert_close(two(values, None, noise).loss, one(values, None, noise[..., :2]).loss)


def test_encoders_of_a_dead_expert_learn_again():
    """One modality is told far better than the others: its expert has all the weight of the tight bound."""
    net, values = network("mixture"), draw(N)
    with torch.no_grad():
        net.encoders[2].mean.bias.fill_(60.0)  # its samples explain nothing
    size = {}
    for name, rule in {"tight": None, "partly": PartlyTight(), "balanced": Balanced(0.7)}.items():
        model = core(net, objective="siwae", tightness=rule, n_samples=K)
        found = gradients(model, values, None, model.noise(N))
        size[name] = vector(found, "encoders.2").norm().item()
    assert size["tight"] < 1e-30
    assert size["partly"] > 1e-3
    assert size["balanced"] > 1e-3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_backward": 4}, "n_backward should be at most n_samples=3. Found 4"),
        ({"n_backward": 0}, "n_backward should be an integer >= 1 or None. Found 0"),
        ({"objective": "mmjsd", "n_backward": 1}, "n_backward should be None with objective='mmjsd'"),
        ({"objective": "iwae", "tightness": Balanced(0.5)}, "tightness should be None with objective='iwae'"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        core(network("mixture"), **options)
