"""What is not installed is asked for by name."""

from collections.abc import Callable
from typing import Any


def asks_for(extra: str, use: Callable[[], Any]) -> None:
    """Fail unless the use of something names the extra that it needs."""
    try:
        use()
    except ImportError as error:
        assert f"pip install 'evenhand[{extra}]'" in str(error), error
    else:
        raise AssertionError(f"this should need evenhand[{extra}]")
