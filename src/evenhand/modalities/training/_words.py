"""What a training says while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def what_is_trained(names: Sequence[str], n_rows: int, epochs: int, steps: int) -> str:
    """The beginning of a line, before anything is known."""
    parts = [_count(len(names), "modality", "modalities"), _count(n_rows, "row"), _count(epochs, "epoch")]
    return f"training {parts[0]} on {parts[1]}, {parts[2]} of {_count(steps, 'step')}"


def how_it_goes(readings: Mapping[str, float], experts: Sequence[str]) -> str:
    """The bound, how many experts count, and whoever learns least: an expert that dies shows here first."""
    if "bound" not in readings:
        return ""
    words = f"bound {readings['bound']:.2f}"
    if len(experts) < 2:
        return words
    words += f", {readings['effective_experts']:.1f} of {len(experts)} experts count"
    norms = {name: readings[f"gradient_norm/{name}"] for name in experts if f"gradient_norm/{name}" in readings}
    if not norms:
        return words
    least = min(norms, key=norms.__getitem__)
    share = readings[f"share/{least}"]
    return f"{words}, {least} learns least ({share:.0%} of the weights, gradient {norms[least]:.2g})"


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
