"""One modality of a multimodal model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..likelihoods import Likelihood, Normal
from ..networks import default_decoder, default_encoder


@dataclass(frozen=True, eq=False)
class Modality:
    """How a modality is encoded and decoded, and how probable its items are.

    Args:
        encoder: Any module from inputs ``[B, ...]`` (numbers; categories one-hot) to mean and raw scale ``[B, 2 L]``,
            or to a pair of mean and positive scale; None for one that is made from the shape.
        decoder: Any module from latent samples ``[N, L]`` to the likelihood's parameters ``[N, ...]``; None for one
            that is made from the shape.
        likelihood: One of `evenhand.modalities`, or your own.
        shape: The shape of an item, without the axis of rows: ``(3, 32, 32)`` for images, ``()`` for a label. May be
            left out for a `Table`, and where a decoder is given.

    Example:
        >>> from evenhand.modalities import Categorical, Laplace
        >>> image = Modality(likelihood=Laplace(), shape=(3, 16, 16))
        >>> label = Modality(likelihood=Categorical(10), shape=())
    """

    encoder: nn.Module | None = None
    decoder: nn.Module | None = None
    likelihood: Likelihood | None = None
    shape: tuple[int, ...] | None = None

    def build(self, name: str, n_latent: int) -> BuiltModality:
        """The modality with everything that was left out, checked."""
        likelihood = Normal() if self.likelihood is None else self.likelihood
        if not isinstance(likelihood, Likelihood):
            raise ValueError(
                f"The likelihood of {name!r} should be one of evenhand.modalities, or derive from Likelihood. "
                f"Found {likelihood!r}."
            )
        for what, network in (("encoder", self.encoder), ("decoder", self.decoder)):
            if network is not None and not isinstance(network, nn.Module):
                raise ValueError(f"The {what} of {name!r} should be a torch.nn.Module. Found {network!r}.")
        shape = self._shape(name, likelihood, n_latent)
        try:
            encoder = (
                default_encoder(likelihood.input_shape(shape), n_latent) if self.encoder is None else self.encoder
            )
            decoder = (
                default_decoder(n_latent, likelihood.parameter_shape(shape)) if self.decoder is None else self.decoder
            )
        except ValueError as error:
            raise ValueError(f"{name!r} needs networks of its own, or another shape: {error}") from error
        _check_decoder(name, decoder, likelihood, shape, n_latent)
        _check_encoder(name, encoder, likelihood, shape, n_latent)
        return BuiltModality(encoder, decoder, likelihood, shape)

    def _shape(self, name: str, likelihood: Likelihood, n_latent: int) -> tuple[int, ...]:
        if likelihood.known_shape is not None:
            return likelihood.known_shape
        if isinstance(self.shape, Sequence) and not isinstance(self.shape, str):
            return tuple(self.shape)
        if self.shape is not None:
            raise ValueError(f"The shape of {name!r} should be a tuple, such as (3, 32, 32). Found {self.shape!r}.")
        if self.decoder is None:
            raise ValueError(f"{name!r} should have a shape, such as (3, 32, 32), or a decoder. Found neither.")
        try:
            return likelihood.item_shape(_probe_decoder(name, self.decoder, n_latent))
        except ValueError as error:
            raise ValueError(f"The decoder of {name!r} does not fit its likelihood: {error}") from error


@dataclass(frozen=True, eq=False)
class BuiltModality:
    """A modality with nothing left out."""

    encoder: nn.Module
    decoder: nn.Module
    likelihood: Likelihood
    shape: tuple[int, ...]


def _check_decoder(
    name: str, decoder: nn.Module, likelihood: Likelihood, shape: tuple[int, ...], n_latent: int
) -> None:
    given, expected = _probe_decoder(name, decoder, n_latent), likelihood.parameter_shape(shape)
    if given != expected:
        raise ValueError(
            f"The decoder of {name!r} should give parameters of shape {[2, *expected]} for 2 latent samples, as "
            f"{likelihood} of items {list(shape)} needs. Found {[2, *given]}."
        )


def _check_encoder(
    name: str, encoder: nn.Module, likelihood: Likelihood, shape: tuple[int, ...], n_latent: int
) -> None:
    output = _probe(name, "encoder", encoder, _example(likelihood, shape))
    shapes = [_shape_of(part) for part in output] if isinstance(output, tuple | list) else _shape_of(output)
    pair = shapes == [[2, n_latent]] * 2
    if not (pair or shapes == [2, 2 * n_latent]):
        raise ValueError(
            f"The encoder of {name!r} should give mean and raw scale as one tensor {[2, 2 * n_latent]}, or mean and "
            f"scale as two of {[2, n_latent]}, for 2 rows and n_latent={n_latent}. Found {shapes}."
        )
    if pair and not (output[1] > 0).all():
        raise ValueError(f"The encoder of {name!r} should give positive scales. Found {output[1].min().item():.3g}.")


def _example(likelihood: Likelihood, shape: tuple[int, ...]) -> Tensor:
    """Something like what an encoder sees of 2 rows: zeros, which are integers where it sees codes."""
    try:
        seen = likelihood.inputs(likelihood.prepare(torch.zeros(2, *shape))).dtype
    except Exception:  # zero may be no item of a likelihood of a user's own
        seen = torch.get_default_dtype()
    return torch.zeros(2, *likelihood.input_shape(shape), dtype=seen)


def _probe_decoder(name: str, decoder: nn.Module, n_latent: int) -> tuple[int, ...]:
    output = _probe(name, "decoder", decoder, torch.zeros(2, n_latent))
    if not isinstance(output, Tensor) or output.ndim < 1 or len(output) != 2:
        raise ValueError(
            f"The decoder of {name!r} should give one tensor with a row per latent sample. Found {_shape_of(output)}."
        )
    return tuple(output.shape[1:])


def _shape_of(output: object) -> list[int] | str:
    return list(output.shape) if isinstance(output, Tensor) else type(output).__name__


def _probe(name: str, what: str, network: nn.Module, example: Tensor) -> Any:
    """What a network gives for an example, without leaving a trace in it."""
    parameter = next(network.parameters(), example)
    modes = [(module, module.training) for module in network.modules()]
    try:
        with torch.no_grad():
            number = parameter.dtype if example.is_floating_point() else example.dtype
            return network.eval()(example.to(parameter.device, number))
    except Exception as error:
        raise ValueError(
            f"The {what} of {name!r} should take a tensor of shape {list(example.shape)}. It failed: {error}"
        ) from error
    finally:
        for module, training in modes:
            module.training = training
