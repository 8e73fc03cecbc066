"""States of stacks: copies of tensors and numbers, checked against the stack that resumes from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def check_keys(state: Mapping[str, Any], keys: Sequence[str], of: str, optional: Sequence[str] = ()) -> None:
    """Raise ValueError if something is not a state at all; those of older versions lack what is optional."""
    if not isinstance(state, Mapping) or set(state) | set(optional) != set(keys):
        found = list(state) if isinstance(state, Mapping) else type(state).__name__
        raise ValueError(f"state should be what {of}.state_dict() gives, with {', '.join(keys)}. Found {found}.")


def check_tensors(saved: Mapping[str, Tensor], here: Mapping[str, Tensor]) -> None:
    """Raise ValueError if saved tensors differ from those here in name, shape or type."""
    for name in dict.fromkeys([*here, *saved]):
        wanted, found = (
            f"{list(t[name].shape)} of {t[name].dtype}" if name in t else "missing" for t in (here, saved)
        )
        if wanted != found:
            raise ValueError(
                f"{name} of the state should be {wanted}, as in this stack. Found {found}. Build the stack as it was "
                "when the state was saved."
            )


def copies(values: Mapping[str, Any], device: torch.device | None = None) -> dict[str, Any]:
    return {k: v.detach().to(device, copy=True) if isinstance(v, Tensor) else v for k, v in values.items()}


def numbered(runs: Iterable[Any]) -> dict[str, Any]:
    return {f"runs[{r}]": run for r, run in enumerate(runs)}


def check_settings(saved: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise ValueError if a state was saved under other settings."""
    for name, found in here.items():
        if saved.get(name) != found:
            raise ValueError(
                f"{name} should be {saved.get(name)!r}, as it was when the state was saved. Found {found!r}. Go on "
                "with the old settings, or start anew."
            )
