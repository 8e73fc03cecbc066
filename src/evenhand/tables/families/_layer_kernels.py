"""A layer of all replicas on a GPU in one launch each way: product, bias and activation together.

Layers of tables are small. Torch has a launch for the product and one for what follows; and on the way back one for
the activation, two products, and a sum over rows, each of which reads and writes all rows again. Here a program keeps
the rows of one replica in its registers for all of that. Products are as exact as those of single precision: three
of TF32 for each, unless torch is told that one will do (``torch.backends.cuda.matmul.fp32_precision = "tf32"``).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import torch
from torch import Tensor

from ...impartial import kernels_work, triton_kernel

with suppress(ImportError):  # without it no kernel is ever launched
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]

Activation = Literal["linear", "relu", "tanh"]

WIDEST = 64  # outputs: more of them do not fit in the registers of a program
FEWEST = 8  # replicas: with fewer, torch's products keep more processors busy
ROWS = 64  # of a tile
SUMMED = 32  # rows of a tile that are added up: more would need more registers than there are
INPUTS = 64  # of a tile, at most
PROGRAMS = 256  # that keep a GPU busy
FEW_ROWS = 256  # which are added up by one program
WARPS = 4


def fits(x: Tensor, weight: Tensor) -> bool:
    """Whether the kernels can serve R layers: inputs ``[R, rows, n_in]`` and weights ``[R, n_out, n_in]``."""
    return (
        x.is_cuda
        and x.ndim == 3
        and x.dtype == weight.dtype == torch.float32
        and len(weight) >= FEWEST
        and weight.shape[-2] <= WIDEST
        and x.shape[1] > 0
    )


def activate(x: Tensor, activation: Activation) -> Tensor:
    """The activation, by torch."""
    if activation == "linear":
        return x
    return torch.relu(x) if activation == "relu" else torch.tanh(x)


@torch.library.custom_op("evenhand::layer", mutates_args=())
def layer(x: Tensor, weight: Tensor, bias: Tensor, activation: str) -> Tensor:
    """R layers a(x W' + b): outputs ``[R, rows, n_out]``.

    Opaque to torch.compile, so that whether Triton works here is found out when it runs.
    """
    if not kernels_work(x.device):
        return activate(torch.baddbmm(bias.unsqueeze(1), x, weight.mT), activation).clone()  # type: ignore[arg-type]
    x, weight, bias = x.contiguous(), weight.contiguous(), bias.contiguous()
    (replicas, rows, n_in), n_out = x.shape, weight.shape[1]
    out = torch.empty(replicas, rows, n_out, dtype=x.dtype, device=x.device)
    with torch.cuda.device_of(x):
        _forward[(-(-rows // ROWS), replicas)](
            x, weight, bias, out, rows, n_in, n_out, activation, _precision(), ROWS, _inputs(n_in), _power(n_out),
            num_warps=WARPS,
        )  # fmt: skip
    return out


@layer.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor, activation: str) -> Tensor:
    return x.new_empty(*x.shape[:2], weight.shape[1])


@torch.library.custom_op("evenhand::layer_backward", mutates_args=())
def layer_backward(
    incoming: Tensor, x: Tensor, weight: Tensor, out: Tensor, activation: str, needs_x: bool, needs_weight: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of x, W and b; an empty tensor for what is not needed."""
    incoming, x, weight = incoming.contiguous(), x.contiguous(), weight.contiguous()
    nothing = [x.new_empty(0) for _ in range(3)]
    if not kernels_work(x.device):
        g = _slope(incoming, out, activation)
        of_x = g @ weight if needs_x else nothing[0]
        return (of_x, g.mT @ x, g.sum(1)) if needs_weight else (of_x, *nothing[1:])
    with torch.cuda.device_of(x):
        of_x = _of_inputs(incoming, x, weight, out, activation) if needs_x else nothing[0]
        return of_x, *(_of_parameters(incoming, x, weight, out, activation) if needs_weight else nothing[1:])


def _of_inputs(incoming: Tensor, x: Tensor, weight: Tensor, out: Tensor, activation: str) -> Tensor:
    (replicas, rows, n_in), n_out = x.shape, weight.shape[1]
    of_x = torch.empty_like(x)
    _backward_to_inputs[(-(-rows // ROWS), replicas)](
        incoming, weight, out, of_x, rows, n_in, n_out, activation, _precision(), ROWS, _inputs(n_in), _power(n_out),
        num_warps=WARPS,
    )  # fmt: skip
    return of_x


def _of_parameters(
    incoming: Tensor, x: Tensor, weight: Tensor, out: Tensor, activation: str
) -> tuple[Tensor, Tensor]:
    (replicas, rows, n_in), n_out, width = x.shape, weight.shape[1], _inputs(x.shape[-1])
    cuts = -(-n_in // width)
    parts = 1 if rows <= FEW_ROWS else max(1, min(-(-PROGRAMS // (replicas * cuts)), -(-rows // SUMMED)))
    each = -(-rows // (parts * SUMMED)) * SUMMED
    parts = -(-rows // each)
    of_weight = torch.empty(replicas, parts, n_out, n_in, dtype=x.dtype, device=x.device)
    of_bias = torch.empty(replicas, parts, n_out, dtype=x.dtype, device=x.device)
    _backward_to_parameters[(parts, replicas, cuts)](
        incoming, x, out, of_weight, of_bias, rows, each, n_in, n_out, activation, _precision(), SUMMED, width,
        _power(n_out), num_warps=WARPS,
    )  # fmt: skip
    return (of_weight.squeeze(1), of_bias.squeeze(1)) if parts == 1 else (of_weight.sum(1), of_bias.sum(1))


@layer_backward.register_fake
def _(
    incoming: Tensor, x: Tensor, weight: Tensor, out: Tensor, activation: str, needs_x: bool, needs_weight: bool
) -> tuple[Tensor, Tensor, Tensor]:
    nothing = x.new_empty(0)
    of_x = x.new_empty(x.shape) if needs_x else nothing
    if not needs_weight:
        return of_x, nothing, x.new_empty(0)
    return of_x, weight.new_empty(weight.shape), weight.new_empty(weight.shape[:2])


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, str], output: Tensor) -> None:
    x, weight, _, activation = inputs
    ctx.save_for_backward(x, weight, output)
    ctx.activation = activation


def _gradients(ctx: Any, incoming: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
    x, weight, out = ctx.saved_tensors
    needs_x, needs_weight, needs_bias, _ = ctx.needs_input_grad
    learns = needs_weight or needs_bias
    of_x, of_weight, of_bias = layer_backward(incoming, x, weight, out, ctx.activation, needs_x, learns)
    return of_x if needs_x else None, of_weight if needs_weight else None, of_bias if needs_bias else None, None


layer.register_autograd(_gradients, setup_context=_keep)


def _slope(incoming: Tensor, out: Tensor, activation: str) -> Tensor:
    """The gradient before the activation; all of these have a slope that their output tells."""
    if activation == "relu":
        return torch.where(out <= 0, 0.0, incoming)
    return incoming * (1 - out * out) if activation == "tanh" else incoming


def _precision() -> str:
    return "tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "tf32x3"


def _inputs(n_in: int) -> int:
    return min(INPUTS, _power(n_in))


def _power(n: int) -> int:
    """The side of the tile: a power of two, as small as products may be."""
    return max(16, 1 << (n - 1).bit_length())


@triton_kernel
def _forward(
    xs: tl.tensor,
    weights: tl.tensor,
    biases: tl.tensor,
    outs: tl.tensor,
    rows: tl.int32,
    N_IN: tl.constexpr,
    N_OUT: tl.constexpr,
    ACTIVATION: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    IN: tl.constexpr,
    OUT: tl.constexpr,
) -> None:
    """Outputs of some rows of a replica."""
    replica = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    unit = tl.arange(0, OUT)
    total = tl.zeros([ROWS, OUT], tl.float32)
    for first in range(0, N_IN, IN):
        number = first + tl.arange(0, IN)
        real = number < N_IN
        x = tl.load(
            xs + replica * rows * N_IN + row[:, None] * N_IN + number[None, :],
            mask=(row < rows)[:, None] & real[None, :],
            other=0.0,
        )
        weight = tl.load(
            weights + replica * N_OUT * N_IN + unit[None, :] * N_IN + number[:, None],
            mask=(unit < N_OUT)[None, :] & real[:, None],
            other=0.0,
        )
        total += tl.dot(x, weight, input_precision=PRECISION)
    total += tl.load(biases + replica * N_OUT + unit, mask=unit < N_OUT, other=0.0)[None, :]
    if ACTIVATION == "relu":
        total = tl.where(total < 0, 0.0, total)  # NaN stays
    elif ACTIVATION == "tanh":
        small = tl.exp(-2.0 * tl.abs(total))
        size = (1.0 - small) / (1.0 + small)
        total = tl.where(total < 0, -size, size)
    places = outs + replica * rows * N_OUT + row[:, None] * N_OUT + unit[None, :]
    tl.store(places, total, mask=(row < rows)[:, None] & (unit < N_OUT)[None, :])


@triton_kernel
def _slopes(
    incoming: tl.tensor,
    outs: tl.tensor,
    replica: tl.tensor,
    row: tl.tensor,
    rows: tl.int32,
    N_OUT: tl.constexpr,
    OUT: tl.constexpr,
    ACTIVATION: tl.constexpr,
) -> tl.tensor:
    """Gradients of some rows before the activation."""
    unit = tl.arange(0, OUT)
    places = replica * rows * N_OUT + row[:, None] * N_OUT + unit[None, :]
    there = (row < rows)[:, None] & (unit < N_OUT)[None, :]
    slope = tl.load(incoming + places, mask=there, other=0.0)
    if ACTIVATION == "relu":
        slope = tl.where(tl.load(outs + places, mask=there, other=0.0) <= 0, 0.0, slope)
    elif ACTIVATION == "tanh":
        out = tl.load(outs + places, mask=there, other=0.0)
        slope = slope * (1.0 - out * out)
    return slope


@triton_kernel
def _backward_to_inputs(
    incoming: tl.tensor,
    weights: tl.tensor,
    outs: tl.tensor,
    of_xs: tl.tensor,
    rows: tl.int32,
    N_IN: tl.constexpr,
    N_OUT: tl.constexpr,
    ACTIVATION: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    IN: tl.constexpr,
    OUT: tl.constexpr,
) -> None:
    """Gradients of some rows of inputs of a replica."""
    replica = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    unit = tl.arange(0, OUT)
    slope = _slopes(incoming, outs, replica, row, rows, N_OUT, OUT, ACTIVATION)
    for first in range(0, N_IN, IN):
        number = first + tl.arange(0, IN)
        weight = tl.load(
            weights + replica * N_OUT * N_IN + unit[:, None] * N_IN + number[None, :],
            mask=(unit < N_OUT)[:, None] & (number < N_IN)[None, :],
            other=0.0,
        )
        of_x = tl.dot(slope, weight, input_precision=PRECISION)
        places = of_xs + replica * rows * N_IN + row[:, None] * N_IN + number[None, :]
        tl.store(places, of_x, mask=(row < rows)[:, None] & (number < N_IN)[None, :])


@triton_kernel
def _backward_to_parameters(
    incoming: tl.tensor,
    xs: tl.tensor,
    outs: tl.tensor,
    of_weights: tl.tensor,
    of_biases: tl.tensor,
    rows: tl.int32,
    each: tl.int32,
    N_IN: tl.constexpr,
    N_OUT: tl.constexpr,
    ACTIVATION: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    IN: tl.constexpr,
    OUT: tl.constexpr,
) -> None:
    """Gradients of weights and biases of a replica, summed over a part of the rows, for some of its inputs."""
    replica, part, cut = tl.program_id(1).to(tl.int64), tl.program_id(0), tl.program_id(2)
    unit, number = tl.arange(0, OUT), cut * IN + tl.arange(0, IN)
    of_weight = tl.zeros([OUT, IN], tl.float32)
    of_bias = tl.zeros([OUT], tl.float32)
    for first in range(part * each, min(rows, (part + 1) * each), ROWS):
        row = first + tl.arange(0, ROWS)
        slope = _slopes(incoming, outs, replica, row, rows, N_OUT, OUT, ACTIVATION)
        x = tl.load(
            xs + replica * rows * N_IN + row[:, None] * N_IN + number[None, :],
            mask=(row < rows)[:, None] & (number < N_IN)[None, :],
            other=0.0,
        )
        of_weight += tl.dot(tl.trans(slope), x, input_precision=PRECISION)
        of_bias += tl.sum(slope, 0)
    place = replica * tl.num_programs(0) + part
    real = (unit < N_OUT)[:, None] & (number < N_IN)[None, :]
    tl.store(of_weights + place * N_OUT * N_IN + unit[:, None] * N_IN + number[None, :], of_weight, mask=real)
    if cut == 0:
        tl.store(of_biases + place * N_OUT + unit, of_bias, mask=unit < N_OUT)
