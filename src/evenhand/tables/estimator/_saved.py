"""What the files of all fitted estimators share: who wrote them, and what the frames looked like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from ... import __version__
from ...common import check_format, read_tensors, write_tensors
from ..frames import Form
from ..schema import Column, Schema
from ._template import describe_template, make_template

Estimator = TypeVar("Estimator")
About = dict[str, Any]
Tensors = dict[str, Tensor]


def plain_schema(schema: Any) -> Any:
    """The argument `schema` of an estimator as JSON can hold it."""
    if schema is None or isinstance(schema, Schema):
        return schema and schema.to_toml()
    fields = ("kind", "categories", "zero_offset", "unit", "reason")
    return {k: {f: getattr(v, f) for f in fields} if isinstance(v, Column) else v for k, v in schema.items()}


def given_schema(plain: Any) -> Any:
    """The inverse of `plain_schema`."""
    return Schema.from_toml(plain) if isinstance(plain, str) else plain


def write_estimator(
    path: Path,
    estimator: Any,
    format: int,
    frames: tuple[Any, Mapping[str, Form]],
    tensors: Tensors,
    about: About,
) -> None:
    """Write a fitted estimator to one file; an existing one is replaced only by a whole one.

    Args:
        path: The file.
        estimator: Whose class and number of columns are noted.
        format: The number of the format, which grows when older versions could not read it.
        frames: An empty frame like that it was fitted to, and what the values of its columns look like.
        tensors: Numbers.
        about: Everything else, as JSON can hold it.
    """
    template, forms = frames
    head = {
        "format": format,
        "version": __version__,
        "class": type(estimator).__name__,
        "n_features_in": int(estimator.n_features_in_),
        "template": describe_template(template),
        "forms": {name: asdict(form) for name, form in forms.items()},
    }
    write_tensors(path, tensors, head | about)


def read_estimator(
    cls: type[Estimator], path: Path, newest: int, restore: Callable[[type[Estimator], About, Tensors], Estimator]
) -> Estimator:
    """Read what `write_estimator` wrote.

    Args:
        cls: The class of the estimator.
        path: The file.
        newest: The newest format that can be read.
        restore: Makes the estimator of what the file holds.
    """
    tensors, about = read_tensors(path)
    if not isinstance(about, dict) or not isinstance(about.get("format"), int) or "class" not in about:
        raise ValueError(f"{path} should be a file that save() of {cls.__name__} wrote. Found something else.")
    if about["class"] != cls.__name__:
        raise ValueError(f"{path} holds a {about['class']}. Load it with {about['class']}.load.")
    check_format(path, about, newest)
    try:
        estimator: Any = restore(cls, about, tensors)
        estimator.n_features_in_ = about["n_features_in"]
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ImportError) as error:
        raise ValueError(f"{path} should hold what save() wrote. Its parts do not fit: {error}") from error
    found: Estimator = estimator
    return found


def frames_of(about: About) -> tuple[Any, dict[str, Form]]:
    """The empty frame and the forms of its columns that a file describes."""
    return make_template(about["template"]), {name: Form(**form) for name, form in about["forms"].items()}


def part_of(tensors: Mapping[str, Tensor], name: str) -> Tensors:
    """The tensors ``name.x`` as ``x``."""
    return {key.removeprefix(f"{name}."): x for key, x in tensors.items() if key.startswith(f"{name}.")}
