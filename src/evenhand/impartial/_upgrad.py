"""Every gradient projected so that it opposes no other one."""

from __future__ import annotations

from torch import Tensor

from ._gradients import Gradients
from ._method import Mixing
from ._solvers import correlation, solve_complementarity


class UPGrad(Mixing):
    r"""Project every gradient onto the cone of directions that oppose none of them.

    .. math:: \tilde g_t = \arg\min_{d} \|d - g_t\|^2
              \quad \text{with } \langle d, g_s \rangle \ge 0 \text{ for all } s

    Unlike PCGrad the projections are orthogonal ones onto the whole cone, so no order matters and the
    sum conflicts with no head. The T quadratic programs are solved together, exactly.

    Quinton and Rey, "Jacobian Descent for Multi-Objective Optimization", 2024.
    """

    def settle(self, gradients: Gradients, /) -> Gradients:
        return gradients.mix(self.mixing(gradients.gram(), dependent=gradients.dependent))

    def mixing(self, gram: Tensor, /, *, dependent: bool = True) -> Tensor:
        r = correlation(gram)
        # d = g_t + sum_s x_s g_s with x >= 0 and R x + R_t >= 0, for every t at once
        matrix = r.matrix.unsqueeze(-3).expand(*r.matrix.shape[:-2], *[r.matrix.shape[-1]] * 3)
        x = solve_complementarity(matrix, -r.matrix, r.ridge, dependent=dependent)
        mixing = x * r.norms.unsqueeze(-1) * r.inverse.unsqueeze(-2)
        mixing.diagonal(dim1=-2, dim2=-1).add_(1)
        return mixing.to(gram.dtype)
