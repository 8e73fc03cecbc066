"""Exported programs: the plain network in eval mode, words in training."""

import pytest
import torch
from torch import nn

from evenhand.impartial import IMTLG, MGDA, Block, LinearBlock, ParameterBlock, impartial_sum

from ._asserts import assert_close

pytestmark = [
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit.*:DeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore::FutureWarning", "ignore:.*:DeprecationWarning"
    ),  # of the exporters themselves
]


class WithBlocks(nn.Module):
    """Two heads with a block of every kind, or with none."""

    def __init__(self, *, blocks: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout())
        self.heads = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.decoder = nn.Linear(4, 2)
        self.last = nn.Linear(4, 3)
        self.features = Block(MGDA()) if blocks else None
        self.parameters_ = ParameterBlock(self.decoder, MGDA()) if blocks else None
        self.linear = LinearBlock(MGDA(), [0, 1, 1]) if blocks else None

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.encoder(x)
        if self.features is None:
            views, calls, last = [y, y], [self.decoder] * 2, self.last(y)
        else:
            views, calls = self.features(y, 2), self.parameters_(2)
            last = self.linear(y, self.last.weight, self.last.bias)
        decoded = [call(head(view)) for call, head, view in zip(calls, self.heads, views, strict=True)]
        return *decoded, last


X = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))


def by_export(model, x):
    return torch.export.export(model, (x,)).module()(x)


def by_trace(model, x):
    return torch.jit.trace(model, (x,))(x)


def by_onnx(model, x):
    from onnx.reference import ReferenceEvaluator

    program = torch.onnx.export(model, (x,), dynamo=True, verbose=False)
    (name,) = (i.name for i in program.model_proto.graph.input)
    return [torch.from_numpy(out) for out in ReferenceEvaluator(program.model_proto).run(None, {name: x.numpy()})]


EXPORTERS = pytest.mark.parametrize("export", [by_export, by_trace, by_onnx])


@EXPORTERS
def test_the_plain_network_in_eval_mode(export):
    torch.set_default_dtype(torch.float32)
    if export is by_onnx:
        pytest.importorskip("onnxscript")
    found = export(WithBlocks(blocks=True).eval(), X)
    expected = WithBlocks(blocks=False).eval()(X)
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, 1e-6)


def test_the_very_operations_of_the_plain_network():
    """No view, no detachment: an exported network can be fine-tuned like any other."""
    torch.set_default_dtype(torch.float32)
    graphs = [torch.export.export(WithBlocks(blocks=b).eval(), (X,)).graph_module for b in (True, False)]
    found, expected = ([node.target for node in g.graph.nodes if node.op == "call_function"] for g in graphs)
    assert found == expected


@EXPORTERS
@pytest.mark.filterwarnings("ignore:Exporting a model while it is in training mode")
def test_words_in_training(export):
    torch.set_default_dtype(torch.float32)
    if export is by_onnx:
        pytest.importorskip("onnxscript")
    with pytest.raises(Exception, match="Export for inference, after model.eval") as error:
        export(WithBlocks(blocks=True).train(), X)
    if export is not by_onnx:  # which wraps the errors of others
        assert error.type is RuntimeError


@pytest.mark.parametrize("export", [by_export, by_trace])
def test_an_impartial_sum_is_not_exported(export):
    class Loss(nn.Linear):
        def forward(self, x):
            y = super().forward(x)
            return impartial_sum([y.sum(), y.square().sum()], at=y, method=IMTLG())

    torch.set_default_dtype(torch.float32)
    with pytest.raises(RuntimeError, match="keep the forward pass alone"):
        export(Loss(3, 2).eval(), X)


def test_blocks_work_in_eval_mode_as_before():
    """Some train with dropout switched off."""
    block, y = Block(MGDA()).eval(), torch.ones(2, 3, requires_grad=True)
    first, second = block(y, 2)
    (first[:, 0].sum() + 100 * second[:, 1].sum()).backward()
    assert block.last.weights[0] > block.last.weights[1]
