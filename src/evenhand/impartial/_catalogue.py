"""All methods by name: one line each, for the shell, for tables and for searches. Needs no torch."""
# ruff: noqa: RUF001  # the paper's letter is α

from __future__ import annotations

import ast
from functools import reduce
from importlib import import_module
from operator import rshift
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from ._method import Method


class Entry(NamedTuple):
    """What is known of a method without importing it."""

    name: str
    """In the shell, in configs and in estimators."""
    module: str
    class_name: str
    label: str
    """In tables."""
    short: str
    """In the paper's table 7; as `label` for methods that the paper does not have."""
    kind: Literal["plain", "scale", "direction", "both"]
    """What it changes: nothing, the sizes of gradients, their directions, or both."""
    tried: Literal["paper", "thorough", ""] = ""
    """By whom: the paper and `method="thorough"`, `method="thorough"` alone, or neither."""
    arguments: tuple[float, ...] = ()
    """What the class is constructed with; the paper's α in short labels."""

    def make(self, *arguments: Any, **named: Any) -> Method:
        """A fresh method, with these arguments or its own."""
        method = getattr(import_module(f".{self.module}", __package__), self.class_name)
        return method(*(arguments if arguments or named else self.arguments), **named)


# fmt: off
_ENTRIES = (
    Entry("sum", "_sum", "Sum", "vanilla", "vanilla", "plain", "paper"),
    Entry("gradnorm", "_gradnorm", "GradNorm", "GradNorm 0", "GN", "scale", "paper", (0.0,)),
    Entry("gradnorm-1", "_gradnorm", "GradNorm", "GradNorm 1", "GN", "scale", "paper", (1.0,)),
    Entry("mgda", "_mgda", "MGDA", "MGDA", "MGDA", "scale", "paper"),
    Entry("imtlg", "_imtlg", "IMTLG", "IMTL-G", "IMTL-G", "scale", "paper"),
    Entry("cagrad", "_cagrad", "CAGrad", "CAGrad", "CG", "both", "thorough"),
    Entry("nash", "_nash_mtl", "NashMTL", "Nash-MTL", "Nash-MTL", "scale", "thorough"),
    Entry("fairgrad", "_fairgrad", "FairGrad", "FairGrad", "FairGrad", "scale"),
    Entry("dbmtl", "_dbmtl", "DBMTL", "DB-MTL", "DB-MTL", "scale"),
    Entry("mmpareto", "_mmpareto", "MMPareto", "MMPareto", "MMPareto", "scale"),
    Entry("aligned", "_aligned_mtl", "AlignedMTL", "Aligned-MTL", "Aligned-MTL", "both", "thorough"),
    Entry("upgrad", "_upgrad", "UPGrad", "UPGrad", "UPGrad", "direction", "thorough"),
    Entry("graddrop", "_graddrop", "GradDrop", "GradDrop", "GD", "direction", "paper"),
    Entry("pcgrad", "_pcgrad", "PCGrad", "PCGrad", "PG", "direction", "paper"),
)
# fmt: on

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
"""Every method by its name."""


def _named(tried: str, *kinds: str) -> tuple[str, ...]:
    return tuple(entry.name for entry in _ENTRIES if entry.tried == tried and entry.kind in kinds)


def _paper_methods() -> tuple[str, ...]:
    """Plain training, every method alone, and every scale-aware one before every direction-aware one."""
    directions = _named("paper", "direction")
    chains = ((scale, *(f"{scale}>>{direction}" for direction in directions)) for scale in _named("paper", "scale"))
    return *_named("paper", "plain"), *directions, *(name for chain in chains for name in chain)


PAPER_METHODS = _paper_methods()
"""The 15 choices that the paper cross-validates."""

THOROUGH_METHODS = (*PAPER_METHODS, *_named("thorough", "scale", "direction", "both"))
"""What `method="thorough"` tries."""


def method_of(name: str | Method) -> Method:
    """A method from its name, such as "imtlg" or "gradnorm>>pcgrad", or as it is printed; a method stays as it is.

    Example:
        >>> method_of("gradnorm-1>>pcgrad")
        GradNorm(alpha=1.0) >> PCGrad()
        >>> method_of("GradNorm(alpha=0.5) >> PCGrad()")
        GradNorm(alpha=0.5) >> PCGrad()
    """
    from ._method import Method

    if isinstance(name, Method):
        return name
    steps = [step.strip() for step in name.split(">>")] if isinstance(name, str) else []
    made = [CATALOGUE[step].make() if step in CATALOGUE else _printed(step) for step in steps]
    if not made or None in made:
        raise ValueError(
            f"method should be 'auto', a method of evenhand.impartial, one of {', '.join(CATALOGUE)}, or a chain "
            f"such as 'imtlg>>pcgrad'. Found {name!r}."
        )
    return reduce(rshift, made)


def _printed(text: str) -> Any:
    """A method of the catalogue from what it prints, such as "CAGrad(c=0.4)"; None if it is no such text."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        entry = next((entry for entry in _ENTRIES if entry.class_name == call.func.id), None)
        named = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
        given = [ast.literal_eval(argument) for argument in call.args]
        return None if entry is None else entry.make(*given, **named)
    except (SyntaxError, TypeError, ValueError):
        return None


def method_label(method: str) -> str:
    """What tables call a method or chain; a name that is not in the catalogue stays as it is.

    Example:
        >>> method_label("gradnorm-1>>pcgrad")
        'GradNorm 1 >> PCGrad'
    """
    return " >> ".join(entry.label for entry in _steps(method))


def short_method_label(method: str, alpha: float | None = None) -> str:
    """What the paper's table 7 calls a method or chain.

    Args:
        method: Its name.
        alpha: Its parameter, where it is not in the name.

    Example:
        >>> short_method_label("imtlg>>graddrop"), short_method_label("gradnorm-1>>pcgrad")
        ('IMTL-G-GD', 'GN-PG (α=1)')
    """
    steps = _steps(method)
    alphas = [a for entry in steps for a in entry.arguments] if alpha is None else [alpha]
    return "-".join(entry.short for entry in steps) + "".join(f" (α={a:g})" for a in alphas)


def _steps(method: str) -> list[Entry]:
    names = [step.strip() for step in method.split(">>")]
    return [CATALOGUE.get(name) or Entry(name, "", "", name, name, "both") for name in names]
