"""Objectives of tables, one file each: pure functions of log-probabilities, and the losses made of them."""

from typing import Literal, get_args

from ._dreg import DReG, dreg
from ._elbo import ELBO, elbo
from ._iwae import IWAE, iwae
from ._objective import BatchOfRows, Bound, Objective

__all__ = [
    "ELBO",
    "IWAE",
    "OBJECTIVES",
    "BatchOfRows",
    "Bound",
    "DReG",
    "Objective",
    "ObjectiveName",
    "dreg",
    "elbo",
    "iwae",
    "make_objective",
]

ObjectiveName = Literal["elbo", "iwae", "dreg"]
"""The objectives by name. "dreg" is the bound of "iwae" with the doubly reparametrised gradient."""

OBJECTIVES: tuple[str, ...] = get_args(ObjectiveName)


def make_objective(name: ObjectiveName, *, analytic_kl: bool = True) -> Objective:
    """An objective from its name.

    Args:
        name: The name.
        analytic_kl: Whether the ELBO has the KL term in closed form, instead of that of the samples.
    """
    made: tuple[Objective, ...] = (ELBO(analytic_kl), IWAE(), DReG())
    return next(objective for objective in made if objective.name == name)
