"""Pictures of what multimodal models generate; of pixels, so matplotlib draws them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ...modalities.inference import Subset, batches_given, checked_subsets, decode_in_parts, evaluating, some_rows
from ...modalities.likelihoods import Categorical, Likelihood
from ...modalities.models import MixtureVAE
from ...modalities.rows import Modalities

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = 0.55  # inches, the side of an item
PANELS_IN_A_ROW = 3


def sample_grid(
    network: MixtureVAE,
    data: Modalities,
    *,
    n_columns: int = 8,
    target: str | Sequence[str] | None = None,
    subsets: Iterable[Iterable[str]] | None = None,
    seed: int = 0,
) -> Figure:
    """A figure with a panel for every subset of modalities: what is given, and below it what is generated from it.

    Images are shown as expected, text and labels as their best guess.

    Args:
        network: The model.
        data: Rows to choose from; those that lack a modality are not used.
        n_columns: Number of rows of data, one in each column, the same in all panels.
        target: What to generate; everything by default.
        subsets: What is given; all subsets by default.
        seed: Of the choice and of the latent samples.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("sample_grid needs matplotlib: pip install 'evenhand[plot]'") from error
    targets = network.names if target is None else [target] if isinstance(target, str) else list(target)
    unknown = [name for name in targets if name not in network.names]
    if unknown or not targets:
        raise ValueError(f"target should be some of the modalities {network.names}. Found {target!r}.")
    chosen = checked_subsets(network, subsets)
    rows = _complete_rows(data, n_columns, seed)
    panels = _panels(network, rows, chosen, targets, n_columns, seed)
    wide = min(PANELS_IN_A_ROW, len(chosen))
    high = -(-len(chosen) // wide)
    heights = [max(len(panel) for panel in panels[i * wide : (i + 1) * wide]) for i in range(high)]
    size = (wide * (CELL * n_columns + 0.9), CELL * sum(heights) + 0.45 * high)
    figure = Figure(figsize=size, layout="constrained")
    places = figure.subfigures(high, wide, squeeze=False, height_ratios=heights).ravel()
    for place, subset, panel in zip(places, chosen, panels, strict=False):
        place.suptitle(f"given {', '.join(subset)}", fontsize="medium")
        lines = max(heights[chosen.index(subset) // wide], len(panel))
        axes = place.subplots(lines, 1, squeeze=False)[:, 0]
        for axis in axes[len(panel) :]:
            axis.set_axis_off()
        for axis, (title, cells, given) in zip(axes, panel, strict=False):
            _draw(axis, cells, title, given)
    return figure


# Inside


def _complete_rows(data: Modalities, n: int, seed: int) -> Modalities:
    if n < 1:
        raise ValueError(f"n_columns should be at least 1. Found {n}.")
    whole = data.complete()
    if not len(whole):
        raise ValueError("data should have rows with all modalities. Found none.")
    return some_rows(whole, None, n, seed)[0]


def _panels(
    network: MixtureVAE, rows: Modalities, subsets: Sequence[Subset], targets: Sequence[str], n: int, seed: int
) -> list[list[tuple[str, list[Any], bool]]]:
    """For every subset its lines: a title, the items, and whether they are given."""
    everything = Modalities(rows.values, rows.index)  # all rows are complete
    panels = []
    with evaluating(network):
        for batch in batches_given(network, everything, subsets, n, seed):
            lines = [(name, _items(network.likelihood(name), batch.prepared[name]), True) for name in batch.subset]
            for name in targets:
                likelihood, parameters = network.likelihood(name), decode_in_parts(network, batch.z[0], name)
                codes = isinstance(likelihood, Categorical)
                shown = likelihood.guess(parameters) if codes else likelihood.mean(parameters)
                lines.append((name, _items(likelihood, shown), False))
            panels.append(lines)
    return panels


def _items(likelihood: Likelihood, x: Tensor) -> list[Any]:
    """Every item as an image ``[H, W, C]`` or a text."""
    x = x.detach().cpu()
    if x.ndim == 4:
        pixels = x.float().clamp(0, 1).movedim(1, -1)
        return [*(pixels if pixels.shape[-1] == 3 else pixels[..., :1].expand(-1, -1, -1, 3)).numpy()]
    if isinstance(likelihood, Categorical):
        from ...datasets import ALPHABET, read_text

        if x.ndim == 2 and likelihood.n == len(ALPHABET):
            return [text.strip().replace("\n", " ") for text in read_text(x)]
        return [" ".join(map(str, row)) for row in x.reshape(len(x), -1).tolist()]
    return ["\n".join(f"{number:.2g}" for number in row[:4].tolist()) for row in x.reshape(len(x), -1).float()]


def _draw(axis: Axes, cells: Sequence[Any], title: str, given: bool) -> None:
    """A line of items in one axis."""
    n = len(cells)
    axis.set(xticks=[], yticks=[], xlim=(0, n), ylim=(0, 1))
    color = "black" if given else "tab:blue"
    axis.set_ylabel(title, rotation=0, ha="right", va="center", fontsize="small", color=color)
    for spine in axis.spines.values():
        spine.set_visible(given)
    for i, cell in enumerate(cells):
        if isinstance(cell, str):
            # generated text may hold dollar signs, which are no mathematics
            axis.text(
                i + 0.5, 0.5, cell, ha="center", va="center", fontsize="x-small", clip_on=True, parse_math=False
            )
        else:
            _show(axis, cell, i)


def _show(axis: Axes, image: np.ndarray, place: int) -> None:
    axis.imshow(image, extent=(place + 0.04, place + 0.96, 0.04, 0.96), aspect="auto", interpolation="nearest")
    axis.set(xlim=axis.get_xlim(), ylim=(0, 1))
