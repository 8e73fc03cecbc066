"""The shortest vector among the convex combinations of the gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from . import _settle_kernel
from ._gradients import Gradients
from ._method import Scaling
from ._settle_kernel import KernelStep
from ._solvers import correlation, solve_complementarity


class MGDA(Scaling):
    r"""The convex combination of least norm, a direction in which no head gets worse.

    .. math:: w = \arg\min_w \|\textstyle\sum_t w_t g_t\|^2 \quad \text{with } w \ge 0, \sum_t w_t = 1

    Solved exactly. At the features of a block this is the paper's MGDA-UB. The smallest gradients
    get the largest weights, so one head that has converged can hold back all others; chosen alone,
    MGDA is often worse than plain training.

    Sener and Koltun, "Multi-Task Learning as Multi-Objective Optimization", NeurIPS 2018;
    Désidéri, "Multiple-gradient descent algorithm", 2012.
    """

    def settle(self, gradients: Gradients, /) -> Gradients:
        return gradients.scale(self.weights(gradients.gram(), dependent=gradients.dependent))

    def kernel_step(self, like: Tensor, /) -> KernelStep:
        return KernelStep(_settle_kernel.MGDA)

    def weights(self, gram: Tensor, /, *, dependent: bool = True) -> Tensor:
        r = correlation(gram)
        # The KKT conditions G w >= c, w >= 0, w (G w - c) = 0, in u = S w, for the common value c = 1
        inverse = r.relative_inverse()
        w = solve_complementarity(r.matrix, inverse, r.ridge, dependent=dependent) * inverse
        total = w.sum(-1, keepdim=True)
        return (w / total.clamp(min=torch.finfo(total.dtype).tiny)).to(gram.dtype)
