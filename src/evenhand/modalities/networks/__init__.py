"""Networks made from the shape of an item."""

from ._architecture import architecture, architecture_text, difference
from ._defaults import (
    SMALLEST_IMAGE,
    checked_shape,
    default_decoder,
    default_encoder,
    is_image,
    with_channels_last,
)

__all__ = [
    "SMALLEST_IMAGE",
    "architecture",
    "architecture_text",
    "checked_shape",
    "default_decoder",
    "default_encoder",
    "difference",
    "is_image",
    "with_channels_last",
]
