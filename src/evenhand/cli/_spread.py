"""Options that several verbs have, written once: a verb takes them as one object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, get_type_hints


def spread(group: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let the command line see a verb's argument of type `group`, a dataclass, as the fields of that class.

    Args:
        group: A dataclass whose fields are annotated as options, each with a default.
    """
    hints = get_type_hints(group, include_extras=True)
    option = inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(f.name, option, default=f.default, annotation=hints[f.name]) for f in fields(group)]

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(verb, eval_str=True).parameters.values()
        (place,) = (parameter.name for parameter in own if parameter.annotation is group)

        @wraps(verb)
        def spread_verb(**given: Any) -> None:
            made = group(**{parameter.name: given.pop(parameter.name) for parameter in options})
            verb(**given, **{place: made})

        before = [p.replace(kind=option) for p in own if p.name != place]
        spread_verb.__signature__ = inspect.Signature([*before, *options])  # type: ignore[attr-defined]
        return spread_verb

    return decorate
