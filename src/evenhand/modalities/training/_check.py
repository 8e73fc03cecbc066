"""What a training cannot be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._loop import Loop


def check_training(loop: Loop) -> None:
    """Refuse what can only be judged with the rows and the processes at hand."""
    if loop.steps_per_epoch == 0:
        raise ValueError(f"data should have rows for every process. Found {len(loop.data)}.")
    if loop.batch_size < loop.fabric.world_size:
        raise ValueError(
            f"batch_size should be at least 1 for each of {loop.fabric.world_size} processes. "
            f"Found {loop.batch_size}."
        )
    if loop.fabric.strategy.precision.precision in ("bf16-true", "16-true"):
        raise ValueError("precision should be 'bf16-mixed' or '16-mixed' for half precision: densities need more.")
    if loop.checkpoint_every and loop.folder is None:
        raise ValueError("folder should be given with checkpoint_every: it is where checkpoints go.")
    if loop.kl_warm_up and loop.model.target_rate is not None:
        raise ValueError(f"kl_warm_up should be 0 where kl_weight holds a rate. Found {loop.kl_warm_up}.")
    for name, what in (("kl_warm_up", "KL weight"), ("learning_rate_warm_up", "learning rate")):
        if not 0 <= (found := getattr(loop, name)) <= loop.epochs:
            raise ValueError(
                f"{name} should be from 0 to the {loop.epochs} epochs of the training, else the full {what} "
                f"is never reached. Found {found}."
            )
