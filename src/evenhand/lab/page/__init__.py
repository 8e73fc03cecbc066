"""The report page: one HTML file about a run, or about several."""

from ._answer import lead
from ._page import write_page
from ._verdict import taken

__all__ = [
    "lead",
    "taken",
    "write_page",
]
