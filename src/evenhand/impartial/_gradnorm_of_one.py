"""GradNorm for one problem on the CPU, in Python's numbers.

Torch takes a few microseconds for every operation on a dozen numbers, and there are forty of them: more than all
else that a block does in a small model. The formulas are those of `GradNorm`, which has them for any leading axes.
"""

from __future__ import annotations

from math import exp, isfinite, sqrt

FLOOR = 1e-5
TINY = 1e-30
BETAS, EPSILON = (0.9, 0.999), 1e-8
LARGEST = 700.0  # number whose exponential Python can hold

Numbers = list[float]


def weights_of(logits: Numbers) -> Numbers:
    """T softmax(a), with a floor."""
    positive = [max(exp(min(a, LARGEST)), FLOOR) for a in logits]
    scale = len(positive) / sum(positive)
    return [p * scale for p in positive]


def in_mean_norms(norms: Numbers) -> Numbers:
    """Norms in units of their mean; a head without gradient takes no part."""
    unit = _active(norms) / (sum(norms) + TINY)
    return [n * unit for n in norms]


def slope_of(norms: Numbers, weights: Numbers, reference: Numbers, alpha: float) -> Numbers | None:
    """The gradient of L / mean norm with respect to a; None if a norm is NaN or infinite."""
    number = _active(norms)
    weighted = [w * n for w, n in zip(weights, norms, strict=True)]
    targets = [sum(weighted) / number] * len(norms)
    if alpha:
        ratios = [n / max(r, FLOOR) for n, r in zip(norms, reference, strict=True)]
        mean = max(sum(ratios) / number, FLOOR)
        targets = [t * (r / mean) ** alpha for t, r in zip(targets, ratios, strict=True)]
    pull = [n * ((x > t) - (x < t)) for n, x, t in zip(norms, weighted, targets, strict=True)]
    # through the softmax over the heads that are there: dw_s / da_t = w_s (delta_st - w_t / their sum)
    there = sum(w for w, n in zip(weights, norms, strict=True) if n != 0)
    common = sum(p * w for p, w in zip(pull, weights, strict=True)) / (there or 1.0)
    slope = [w * (p - common) if n != 0 else 0.0 for w, p, n in zip(weights, pull, norms, strict=True)]
    return slope if isfinite(sum(slope)) else None


def adam(
    logits: Numbers, mean: Numbers, square: Numbers, slope: Numbers, norms: Numbers, step: int, lr: float
) -> Numbers:
    """Logits, and then moments, after the Adam step of that number; a head without gradient stays where it is."""
    first, second = BETAS
    steps = list(zip(slope, norms, strict=True))
    mean = [first * m + (1 - first) * s if n != 0 else m for m, (s, n) in zip(mean, steps, strict=True)]
    square = [second * q + (1 - second) * s * s if n != 0 else q for q, (s, n) in zip(square, steps, strict=True)]
    rate, unbias = lr / (1 - first**step), 1 / (1 - second**step)
    moves = [rate * m / (sqrt(q * unbias) + EPSILON) for m, q in zip(mean, square, strict=True)]
    moved = zip(logits, moves, norms, strict=True)
    return [a - move if n != 0 else a for a, move, n in moved] + mean + square


def _active(norms: Numbers) -> int:
    return max(len(norms) - norms.count(0.0), 1)
