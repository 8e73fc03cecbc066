"""The plain sum."""

from __future__ import annotations

from torch import Tensor

from ._method import Scaling


class Sum(Scaling):
    r"""Leave the gradients as they are, :math:`\tilde g_t = g_t`: ordinary back-propagation.

    A block with `Sum` changes nothing and can still be read, so it shows which heads are neglected
    before anything is done about it.
    """

    is_identity = True

    def weights(self, gram: Tensor, /) -> Tensor:
        return gram.new_ones(gram.shape[:-1])
