"""MGDA where gradients conflict, the plain sum where they do not."""

from __future__ import annotations

from torch import Tensor
from torch.linalg import vecdot

from ._gradients import Gradients, rescaling
from ._method import Scaling
from ._mgda import MGDA
from ._solvers import correlation, times


class MMPareto(Scaling):
    r"""The plain sum as long as gradients agree; else the direction of MGDA, as long as the sum.

    .. math:: h = \begin{cases} \sum_t g_t & \text{if } \langle g_s, g_t \rangle \ge 0 \text{ for all } s, t \\
              \sum_t \alpha_t g_t \text{ of least norm}, \alpha \ge 0, \sum_t \alpha_t = 1 & \text{else} \end{cases}
              \qquad \tilde g = \gamma \, \frac{\|\sum_t g_t\|}{\|h\|} \, h

    Made for a classifier of several modalities: the gradients of the joint loss and of the loss of one modality alone
    meet at the encoder of that modality, so T = 2. For more heads, one pair that conflicts is enough for MGDA. The
    combination of least norm is short, and short steps were found to generalise worse, hence the length of the sum.

    Wei and Hu, "MMPareto: Boosting Multimodal Learning with Innocent Unimodal Assistance", ICML 2024.

    Args:
        gamma: How much longer than the sum the result is; 1.5 in the published code. A block that restores the norm
            undoes it, so it needs ``preserve_norm=False``.
    """

    def __init__(self, gamma: float = 1.0) -> None:
        super().__init__()
        if not gamma > 0:
            raise ValueError(f"gamma should be a number > 0. Found {gamma!r}.")
        self.gamma = gamma

    def settle(self, gradients: Gradients, /) -> Gradients:
        return gradients.scale(self.weights(gradients.gram(), dependent=gradients.dependent))

    def weights(self, gram: Tensor, /, *, dependent: bool = True) -> Tensor:
        conflict = (correlation(gram).matrix < 0).any(-1).any(-1, keepdim=True)
        alpha = MGDA().weights(gram, dependent=dependent)
        square = vecdot(alpha, times(gram, alpha))
        lifted = alpha * rescaling(gram.sum((-2, -1)), square, gram, alpha, None)
        return self.gamma * lifted.where(conflict, 1.0)

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}"
