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

WIDEST = 128  # outputs: more of them do not fit in the registers of a program
FEWEST = 8  # replicas: with fewer, torch's products keep more processors busy
ROWS = 64  # of a tile
INPUTS = 64  # of a tile, at most
PROGRAMS = 256  # that keep a GPU busy
FEW_ROWS = 256  # which are added up by one program


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
            x, weight, bias, out, rows, n_in, n_out, activation, _precision(), ROWS, _inputs(n_in), _power(n_out)
        )
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
    (replicas, rows, n_in), n_out = x.shape, weight.shape[1]
    of_x = torch.empty_like(x) if needs_x else x.new_empty(0)
    if not kernels_work(x.device):
        g = _slope(incoming, out, activation)
        of_x = g @ weight if needs_x else of_x
        return (of_x, g.mT @ x, g.sum(1)) if needs_weight else (of_x, x.new_empty(0), x.new_empty(0))
    width = _inputs(n_in)
    cuts = -(-n_in // width)
    parts = 1 if rows <= FEW_ROWS else max(1, min(-(-PROGRAMS // (replicas * cuts)), -(-rows // ROWS)))
    each = -(-rows // (parts * ROWS)) * ROWS
    parts = -(-rows // each)
    shape = (replicas, parts, n_out) if needs_weight else (0,)
    of_weight = torch.empty(*shape, n_in, dtype=x.dtype, device=x.device)
    of_bias = torch.empty(*shape, dtype=x.dtype, device=x.device)
    with torch.cuda.device_of(x):
        _backward[(parts, replicas, cuts)](
            incoming, x, weight, out, of_x, of_weight, of_bias, rows, each, n_in, n_out, activation, _precision(),
            needs_x, needs_weight, ROWS, width, _power(n_out),
        )  # fmt: skip
    if not needs_weight:
        return of_x, x.new_empty(0), x.new_empty(0)
    return (of_x, of_weight.squeeze(1), of_bias.squeeze(1)) if parts == 1 else (of_x, of_weight.sum(1), of_bias.sum(1))


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
def _backward(
    incoming: tl.tensor,
    xs: tl.tensor,
    weights: tl.tensor,
    outs: tl.tensor,
    of_xs: tl.tensor,
    of_weights: tl.tensor,
    of_biases: tl.tensor,
    rows: tl.int32,
    each: tl.int32,
    N_IN: tl.constexpr,
    N_OUT: tl.constexpr,
    ACTIVATION: tl.constexpr,
    PRECISION: tl.constexpr,
    NEEDS_X: tl.constexpr,
    NEEDS_WEIGHT: tl.constexpr,
    ROWS: tl.constexpr,
    IN: tl.constexpr,
    OUT: tl.constexpr,
) -> None:
    """Gradients of a part of the rows of a replica, for some of its inputs."""
    replica, part, cut = tl.program_id(1).to(tl.int64), tl.program_id(0), tl.program_id(2)
    unit, number = tl.arange(0, OUT), cut * IN + tl.arange(0, IN)
    real = (unit < N_OUT)[:, None] & (number < N_IN)[None, :]
    entries = unit[:, None] * N_IN + number[None, :]
    weight = tl.load(weights + replica * N_OUT * N_IN + entries, mask=real, other=0.0)
    of_weight = tl.zeros([OUT, IN], tl.float32)
    of_bias = tl.zeros([OUT], tl.float32)
    for first in range(part * each, min(rows, (part + 1) * each), ROWS):
        row = first + tl.arange(0, ROWS)
        at_out = replica * rows * N_OUT + row[:, None] * N_OUT + unit[None, :]
        out_there = (row < rows)[:, None] & (unit < N_OUT)[None, :]
        slope = tl.load(incoming + at_out, mask=out_there, other=0.0)
        if ACTIVATION == "relu":
            slope = tl.where(tl.load(outs + at_out, mask=out_there, other=0.0) <= 0, 0.0, slope)
        elif ACTIVATION == "tanh":
            out = tl.load(outs + at_out, mask=out_there, other=0.0)
            slope = slope * (1.0 - out * out)
        at_in = replica * rows * N_IN + row[:, None] * N_IN + number[None, :]
        in_there = (row < rows)[:, None] & (number < N_IN)[None, :]
        if NEEDS_X:
            tl.store(of_xs + at_in, tl.dot(slope, weight, input_precision=PRECISION), mask=in_there)
        if NEEDS_WEIGHT:
            x = tl.load(xs + at_in, mask=in_there, other=0.0)
            of_weight += tl.dot(tl.trans(slope), x, input_precision=PRECISION)
            of_bias += tl.sum(slope, 0)
    if NEEDS_WEIGHT:
        place = replica * tl.num_programs(0) + part
        tl.store(of_weights + place * N_OUT * N_IN + entries, of_weight, mask=real)
        if cut == 0:
            tl.store(of_biases + place * N_OUT + unit, of_bias, mask=unit < N_OUT)
