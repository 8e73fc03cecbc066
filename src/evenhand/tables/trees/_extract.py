"""The trees of a model of scikit-learn, in the columns and categories of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._boosted import Boosted

Seen = Mapping[int, NDArray[np.intp]]


def extract(model: Any, column: int, size: int, features: Sequence[int], seen: Seen) -> Boosted:
    """The trees of a fitted `HistGradientBoostingRegressor` or `HistGradientBoostingClassifier`.

    scikit-learn has no public name for them. What a model needs to guess is taken out of it at once, so that nothing
    that is stored depends on a version of scikit-learn; a test compares the guesses with scikit-learn's own.

    Args:
        model: What was fitted.
        column: What it guesses.
        size: The number of categories of that column; 0 for numbers.
        features: The columns that it looks at, in its order.
        seen: For columns of categories, the codes that the model knows as 0, 1, 2 and so on.
    """
    start, codes = _start(model, size)
    trees = [(code, tree) for step in model._predictors for code, tree in zip(codes, step, strict=True)]
    nodes = np.concatenate([tree.nodes for _, tree in trees])
    sizes = [len(tree.nodes) for _, tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    leaf, first, own = nodes["is_leaf"] > 0, np.repeat(roots, sizes), np.arange(len(nodes))
    categorical = (nodes["is_categorical"] > 0) & ~leaf
    groups = [group for _, tree in trees for group in _groups(tree, features, seen)]
    return Boosted(
        column=column,
        start=start,
        roots=_places(roots),
        outputs=_places([code for code, _ in trees]),
        feature=_places(np.asarray(features)[np.where(leaf, 0, nodes["feature_idx"])]),
        threshold=nodes["num_threshold"].astype(np.float64),
        left=_places(np.where(leaf, own, first + nodes["left"])),
        right=_places(np.where(leaf, own, first + nodes["right"])),
        missing_left=nodes["missing_go_to_left"] > 0,
        group=_places(np.where(categorical, np.cumsum(categorical) - 1, -1)),
        groups=np.stack(groups) if groups else np.zeros((0, 32), np.uint8),
        value=nodes["value"].astype(np.float64),
    )


def _start(model: Any, size: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """What sums start from, and which category every tree of a step is for."""
    classes = model.classes_.astype(np.intp) if size else np.zeros(1, np.intp)
    codes = classes[1:] if len(classes) == 2 else classes  # two classes share one sum, the log-odds of the second
    start = np.full(max(size, 1), -np.inf)
    start[classes] = 0.0
    start[codes] = np.ravel(model._baseline_prediction)
    return start, codes


def _groups(tree: Any, features: Sequence[int], seen: Seen) -> list[NDArray[np.uint8]]:
    """The categories that go left at every node that looks at some; those that the model never saw go as missing."""
    groups = []
    for node in tree.nodes[(tree.nodes["is_categorical"] > 0) & (tree.nodes["is_leaf"] == 0)]:
        known = seen[features[node["feature_idx"]]]
        words = np.ascontiguousarray(tree.raw_left_cat_bitsets[node["bitset_idx"]]).view(np.uint8)
        left = np.full(256, bool(node["missing_go_to_left"]))
        left[known] = np.unpackbits(words, bitorder="little")[: len(known)] > 0
        groups.append(np.packbits(left, bitorder="little"))
    return groups


def _places(numbers: Any) -> NDArray[np.int32]:
    return np.asarray(numbers).astype(np.int32)
