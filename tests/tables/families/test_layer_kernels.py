"""Fused layers give what torch gives, on a CUDA device or in Triton's interpreter."""

import pytest
import torch

from evenhand.tables.families import _layer_kernels, _layers

from ...impartial._on_a_gpu import DEVICE, INTERPRETED, MARKS

needs_kernels = [*MARKS]
ACTIVATIONS = ["linear", "relu", "tanh"]
SHAPES = [  # replicas, rows, inputs, outputs
    (2, 5, 3, 4),
    (2, 64, 6, 50),
    (1, 70, 50, 17),
    (3, 300, 20, 10),  # several parts of rows
    (1, 40, 150, 6),  # several cuts of inputs
    (1, 66, 9, 100),
]


def problem(replicas, rows, n_in, n_out):
    g = torch.Generator().manual_seed(rows)
    shapes = (replicas, rows, n_in), (replicas, n_out, n_in), (replicas, n_out), (replicas, rows, n_out)
    return [torch.randn(shape, generator=g, dtype=torch.float32).to(DEVICE) for shape in shapes]


def of_torch(x, weight, bias, activation):
    y = _layer_kernels.activate(torch.baddbmm(bias.unsqueeze(1), x, weight.mT), activation)
    return y


def gradients(call, tensors, incoming, activation, frozen=False, fixed_inputs=False):
    learn = [not fixed_inputs, not frozen, not frozen]
    x, weight, bias = (t.clone().requires_grad_(needs) for t, needs in zip(tensors, learn, strict=True))
    out = call(x, weight, bias, activation)
    out.backward(incoming)
    return [out.detach(), x.grad, weight.grad, bias.grad]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        if other is None:
            assert one is None
        else:
            assert one.shape == other.shape
            torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5 * float(other.abs().max()))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
class TestKernels:
    pytestmark = needs_kernels

    def test_forward_and_backward(self, shape, activation):
        *tensors, incoming = problem(*shape)
        found = gradients(_layer_kernels.layer, tensors, incoming, activation)
        assert_same(found, gradients(of_torch, tensors, incoming, activation))

    def test_only_what_is_needed(self, shape, activation):
        *tensors, incoming = problem(*shape)
        for needs in ({"frozen": True}, {"fixed_inputs": True}):
            found = gradients(_layer_kernels.layer, tensors, incoming, activation, **needs)
            assert_same(found, gradients(of_torch, tensors, incoming, activation, **needs))


class TestSingleReplicas:
    pytestmark = needs_kernels

    @pytest.mark.parametrize("activation", ACTIVATIONS)
    def test_what_is_not_finite_stays_in_its_replica(self, activation):
        *tensors, incoming = problem(2, 70, 6, 20)
        tensors[0][1, 3, 2] = float("nan")
        out, _, of_weight, _ = gradients(_layer_kernels.layer, tensors, incoming, activation)
        assert out[0].isfinite().all()
        assert of_weight[0].isfinite().all()
        assert out[1, 3].isnan().all()
        assert out[1, :3].isfinite().all()
        assert of_weight[1, :, 2].isnan().all()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_where_triton_does_not_work(activation, monkeypatch):
    monkeypatch.setattr(_layer_kernels, "kernels_work", lambda _: False)
    *tensors, incoming = problem(2, 70, 6, 20)
    assert_same(
        gradients(_layer_kernels.layer, tensors, incoming, activation),
        gradients(of_torch, tensors, incoming, activation),
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_compiled_as_one_graph(activation, monkeypatch):
    if DEVICE == "cpu" and not INTERPRETED:
        monkeypatch.setattr(_layer_kernels, "kernels_work", lambda _: False)
    *tensors, incoming = problem(2, 70, 6, 20)
    compiled = torch.compile(_layer_kernels.layer, fullgraph=True, backend="aot_eager")
    assert_same(
        gradients(compiled, tensors, incoming, activation), gradients(of_torch, tensors, incoming, activation)
    )


def test_which_layers_are_fused():
    x, weight, *_ = (t.cpu() for t in problem(8, 5, 3, 4))
    assert not _layer_kernels.fits(x, weight), "the CPU has faster products"
    with torch.device("meta"):
        on_gpu = type("", (), {"is_cuda": True, "ndim": 3, "dtype": torch.float32, "shape": (8, 5, 3)})()
    assert _layer_kernels.fits(on_gpu, weight)
    assert not _layer_kernels.fits(on_gpu, weight[:7]), "too few replicas"
    assert not _layer_kernels.fits(on_gpu, weight.double())
    assert not _layer_kernels.fits(on_gpu, torch.zeros(8, 129, 3, dtype=torch.float32)), "too wide"


def test_hidden_layers_are_those_of_a_sequence():
    draws = [torch.Generator().manual_seed(seed) for seed in (0, 1)]
    layers = _layers.HiddenLayers([3, 5, 4], draws, "tanh")
    x = torch.randn(2, 7, 3)
    expected = x
    for module in layers:
        expected = module(expected)
    torch.testing.assert_close(layers(x), expected)
    assert sorted(layers.state_dict()) == ["0.bias", "0.weight", "2.bias", "2.weight"]
