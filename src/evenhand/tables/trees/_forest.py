"""All boosted models of a table: what they guess together, and a few arrays to store them as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ._boosted import Boosted

Array = NDArray[np.float64]
PARTS = tuple(field.name for field in fields(Boosted) if field.name != "column")


@dataclass(frozen=True)
class Forest:
    """Boosted models, perhaps several for a column: guesses are the mean of theirs.

    Attributes:
        models: In any order; columns that could not be learnt have none.

    Example:
        >>> import numpy as np
        >>> from evenhand.tables import Schema
        >>> from evenhand.tables.frames import read
        >>> from evenhand.tables.trees import grow
        >>> x = np.random.default_rng(0).normal(size=500)
        >>> frame = np.stack([x, x**2], 1)
        >>> schema = Schema.infer(frame)
        >>> forest = Forest([*grow(read(frame, schema), schema, seed=0)])
        >>> bool(abs(forest.guess(np.array([[1.0, np.nan]]), 1) - 1) < 0.2)
        True
    """

    models: Sequence[Boosted]

    @property
    def columns(self) -> set[int]:
        """The columns that can be guessed."""
        return {model.column for model in self.models}

    def guess(self, cells: Array, column: int) -> Array:
        """Expected numbers ``[n, 1]`` or probabilities of categories ``[n, size]``, from rows ``[n, D]`` with NaN."""
        return np.mean([model.guess(cells) for model in self.models if model.column == column], axis=0)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All models as a few arrays: every part of one after that of another, and how long each is."""
        parts = {name: [getattr(model, name) for model in self.models] for name in PARTS}
        lengths = np.array([[len(part) for part in parts[name]] for name in PARTS], np.int64)
        columns = np.array([model.column for model in self.models], np.int64)
        return {name: np.concatenate(part) for name, part in parts.items()} | {"columns": columns, "lengths": lengths}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Forest:
        """What `arrays` was made of."""
        ends = np.cumsum(arrays["lengths"], axis=1)[:, :-1]
        parts = [np.split(arrays[name], ends[i]) for i, name in enumerate(PARTS)]
        models = zip(arrays["columns"].tolist(), *parts, strict=True)
        return cls([Boosted(column, *of_model) for column, *of_model in models])
