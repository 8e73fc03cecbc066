"""The names of objectives: the one place that has them."""

from __future__ import annotations

from typing import Literal, get_args

Bound = Literal["elbo", "iwae", "siwae"]
"""Lower bounds of the evidence that are functions of importance weights alone; see `mixture_bound`."""

Objective = Literal[Bound, "mmjsd", "contrastive"]
"""All that can be maximised."""

BOUNDS: tuple[Bound, ...] = get_args(Bound)
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
