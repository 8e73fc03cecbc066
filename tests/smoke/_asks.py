"""What is not installed is asked for by name."""

from collections.abc import Callable
from typing import Any


def asks_for(extra: str, use: Callable[[], Any]) -> None:
    """Fail unless the use of something names the extra that it needs."""
    said = ""
    try:
        use()
    except ImportError as error:
        said = str(error)
    assert f"pip install 'evenhand[{extra}]'" in said, f"evenhand[{extra}] should be asked for. Found: {said!r}"
