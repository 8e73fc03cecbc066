"""The report page: one HTML file about a run, or about several."""

from ._answer import lead
from ._page import write_page

__all__ = [
    "lead",
    "write_page",
]
