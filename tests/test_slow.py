"""The list of slow tests follows the tests when they move."""

from pathlib import Path

import pytest

from .conftest import SLOW


@pytest.mark.parametrize("name", SLOW)
def test_what_is_slow_is_there(name):
    path, _, start = name.partition("::")
    assert f"def {start}" in (Path(__file__).parent / path).read_text()
