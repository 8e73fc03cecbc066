"""Finds a multimodal data set by its name: one of ours, or one of the user's own."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from ..common import ArgumentError
from ._cub import CUB
from ._digits_in_five import DIGITS_IN_FIVE
from ._digits_in_three import DIGITS_IN_THREE
from ._fashion_mnist import FASHION_MNIST
from ._mnist_svhn_text import MNIST_SVHN_TEXT
from ._multimodal_dataset import MultimodalDataset
from ._polymnist import POLYMNIST

_OURS = (MNIST_SVHN_TEXT, DIGITS_IN_THREE, FASHION_MNIST, DIGITS_IN_FIVE, POLYMNIST, CUB)
MULTIMODAL = {dataset.name: dataset for dataset in _OURS}
"""Ours, by name."""

EXPECTED = (
    f"be one of {', '.join(map(repr, MULTIMODAL))}, or name your own: 'my_module:my_dataset', or "
    "'path/to/file.py:my_dataset'"
)


def multimodal(name: str) -> MultimodalDataset:
    """The data set of a name.

    Args:
        name: One of `MULTIMODAL`; or a module that can be imported and what the data set is called in it,
            "my_module:my_dataset"; or a Python file in the same way, "path/to/file.py:my_dataset".
    """
    if name in MULTIMODAL:
        return MULTIMODAL[name]
    place, inside = own_place(name)
    module = _import_file(place) if isinstance(place, Path) else _import_module(place)
    dataset = getattr(module, inside, None)
    if not isinstance(dataset, MultimodalDataset):
        seen = f"no {inside!r} in it" if dataset is None else f"{inside!r} of type {type(dataset).__name__}"
        raise ArgumentError(
            "data.name",
            f"name an evenhand.datasets.MultimodalDataset in {place}",
            seen,
            f"Write {inside} = MultimodalDataset(name, load=..., modalities=...) there.",
        )
    return dataset


def own_place(name: str) -> tuple[Path | str, str]:
    """Where a user's own data set is, a Python file or the name of a module, and what it is called there."""
    place, colon, inside = name.rpartition(":")
    if not colon or not place or not inside.isidentifier():
        raise ArgumentError("data.name", EXPECTED, repr(name))
    if place.endswith(".py"):
        return Path(place), inside
    if not all(part.isidentifier() for part in place.split(".")):
        raise ArgumentError("data.name", EXPECTED, repr(name))
    return place, inside


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _failed(name, error) from error  # it is there, and imports something that is not
        raise ArgumentError(
            "data.name",
            f"name a module that can be imported, not {name!r}",
            f"none: {error}",
            "Install it, or name its file: 'path/to/file.py:my_dataset'.",
        ) from error
    except Exception as error:
        raise _failed(name, error) from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"data.name should name a Python file that exists. Found none at {path}.")
    # by content, because a file may change while Python runs
    name = f"evenhand_own_{path.stem}_{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise _failed(str(path), error) from error
    return module


def _failed(place: str, error: Exception) -> ValueError:
    return ValueError(f"{place}, which data.name names, could not be imported. {type(error).__name__}: {error}")
