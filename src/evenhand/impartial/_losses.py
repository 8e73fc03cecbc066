"""Losses with names, as users give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor


def named_losses(losses: Mapping[str, Tensor] | Sequence[Tensor]) -> dict[str, Tensor]:
    """The losses by name; those of a list are called by their numbers."""
    if isinstance(losses, Mapping):
        named = dict(losses)
    elif isinstance(losses, Sequence):
        named = {str(number): loss for number, loss in enumerate(losses)}
    else:
        raise ValueError(
            f"losses should be a dictionary or a list of tensors with one number each. Found {type(losses).__name__}."
        )
    if not named:
        raise ValueError("losses should have at least one loss. Found none.")
    for name, loss in named.items():
        check_loss(name if isinstance(losses, Mapping) else int(name), loss)
    return named


def check_learning(losses: Mapping[str, Tensor]) -> None:
    """One of the losses at least must have gradients."""
    if not any(loss.requires_grad for loss in losses.values()):
        names = ", ".join(map(repr, losses))
        raise ValueError(f"losses should have one that requires gradients. Found that none of {names} does.")


def check_loss(name: str | int, loss: object) -> Tensor:
    """A loss is a tensor with one number."""
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        found = list(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
        raise ValueError(f"losses[{name!r}] should be a tensor with one number. Found {found}.")
    return loss
