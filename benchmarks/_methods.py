"""The methods that are measured: those of the catalogue with their usual arguments, and a chain."""

from __future__ import annotations

from collections.abc import Callable

from evenhand.impartial import CATALOGUE, Method, method_of

METHODS: dict[str, Callable[[], Method]] = {}
for _entry in CATALOGUE.values():
    METHODS.setdefault(_entry.class_name, _entry.make)  # the first entry of a class has its usual arguments
METHODS["IMTLG >> PCGrad"] = lambda: method_of("imtlg>>pcgrad")
