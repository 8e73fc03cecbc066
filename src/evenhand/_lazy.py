"""Names that are imported when they are used: some need more packages than torch, and `--help` not even that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], extras: Mapping[str, str] | str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package whose names are imported at first use.

    Args:
        package: The package.
        homes: For every public name, the module or folder inside of the package that has it.
        extras: The extra whose packages a name needs, for all names or by name.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        extra = extras if isinstance(extras, str) else extras.get(name, "")
        try:
            value = getattr(import_module(f"{package}.{homes[name]}"), name)
        except ModuleNotFoundError as error:
            if not extra or (error.name or "").startswith("evenhand"):
                raise
            raise ImportError(f"{name} needs the package {error.name}: pip install 'evenhand[{extra}]'") from error
        setattr(sys.modules[package], name, value)  # the next time it is there
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *homes})
