"""Numbers around a location: what normal, log-normal and Laplace densities share."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from ...common import check_number
from ._likelihood import Likelihood, Shape, full_precision, several

# of a scale that is learnt: the rounding error of a pixel of 8 bits, 1 / (255 * sqrt(12)), is hardly above it, so
# finer scales would only reward a constant background without end
FLOOR = 1e-3


class LocationScale(Likelihood):
    r"""Elements with a location and a scale, which is fixed, or learnt as :math:`\mathrm{softplus}(r) + 0.001`.

    Args:
        scale: The scale of all elements; None to learn it, and the parameters are ``[*shape, 2]``: locations and r.
    """

    def __init__(self, scale: float | None = None) -> None:
        super().__init__()
        if scale is not None:
            check_number("scale", scale, above=True)
        self.scale = None if scale is None else float(scale)

    def parameter_shape(self, shape: Shape) -> Shape:
        """Those of the items; an axis of two behind them if the scale is learnt."""
        return tuple(shape) if self.scale is not None else (*shape, 2)

    def item_shape(self, parameter_shape: Shape) -> Shape:
        """The inverse of `parameter_shape`."""
        if self.scale is not None:
            return tuple(parameter_shape)
        return several(parameter_shape, 2, "because the scale is learnt: a location and a raw scale")

    def location_and_scale(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """Locations ``[..., B, *shape]``, and scales of this shape or of none."""
        parameters = full_precision(parameters)
        if self.scale is not None:
            return parameters, parameters.new_full((), self.scale)
        location, raw = parameters.unbind(-1)
        return location, F.softplus(raw) + FLOOR

    def mean(self, parameters: Tensor) -> Tensor:
        """The locations."""
        return self.location_and_scale(parameters)[0]

    def extra_repr(self) -> str:
        """The scale."""
        return f"scale={self.scale}"
