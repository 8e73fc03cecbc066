"""Methods one after the other."""

from __future__ import annotations

from torch import nn

from ._gradients import Gradients
from ._method import Method


class Compose(Method):
    r"""Apply methods one after the other, :math:`f_\psi = f_k \circ \dots \circ f_1`.

    The paper chains a scale-aware method and a direction-aware one. Mixing matrices multiply,
    :math:`C = C_k \cdots C_1`, so a chain costs no more passes over the gradients than one method.

    Example:
        >>> from evenhand.impartial import Compose, IMTLG, PCGrad
        >>> Compose(IMTLG(), PCGrad())
        IMTLG() >> PCGrad()
        >>> IMTLG() >> PCGrad()
        IMTLG() >> PCGrad()
    """

    def __init__(self, *steps: Method) -> None:
        super().__init__()
        for position, step in enumerate(steps):
            if not isinstance(step, Method):
                raise ValueError(f"steps[{position}] should be a method such as PCGrad(). Found {step!r}.")
        # a chain of chains is one chain
        flat: list[Method] = []
        for step in steps:
            flat += step.chain()
        self.steps: nn.ModuleList = nn.ModuleList(flat)
        self.uses_input = any(step.uses_input for step in flat)
        self.learns = any(step.learns for step in flat)
        self.is_random = any(step.is_random for step in flat)
        self.is_identity = all(step.is_identity for step in flat)

    def settle(self, gradients: Gradients, /) -> Gradients:
        for step in self.steps:
            gradients = step.settle(gradients.unmasked())  # type: ignore[operator]
        return gradients

    def check_heads(self, n: int, /) -> None:
        for step in self.steps:
            step.check_heads(n)  # type: ignore[operator]

    def chain(self) -> list[Method]:
        return list(self.steps)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.steps)) or "Compose()"
