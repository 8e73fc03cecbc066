"""Names that can be completed and suggested without importing what they name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

# Rows, columns, licence, source: what the data sets say of themselves once they are loaded.
DATASETS = {
    "adult": (32_561, 12, "CC BY 4.0", "https://archive.ics.uci.edu/dataset/2/adult"),
    "credit": (
        30_000,
        24,
        "CC BY 4.0",
        "https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients",
    ),
    "wine": (6_497, 13, "CC BY 4.0", "https://archive.ics.uci.edu/dataset/186/wine+quality"),
    "diamonds": (53_940, 10, "MIT", "https://vincentarelbundock.github.io/Rdatasets/doc/ggplot2/diamonds.html"),
    "bank": (41_188, 21, "CC BY 4.0", "https://archive.ics.uci.edu/dataset/222/bank+marketing"),
    "imdb": (58_788, 23, "GPL-3", "https://vincentarelbundock.github.io/Rdatasets/doc/ggplot2movies/movies.html"),
    "hi": (22_272, 12, "GPL-2 or later", "https://vincentarelbundock.github.io/Rdatasets/doc/Ecdat/HI.html"),
    "rwm5yr": (19_609, 16, "GPL-2", "https://vincentarelbundock.github.io/Rdatasets/doc/COUNT/rwm5yr.html"),
    "labour": (15_992, 9, "GPL-3", "https://vincentarelbundock.github.io/Rdatasets/doc/DAAG/cps1.html"),
    "elnino": (178_080, 12, "CC BY 4.0", "https://archive.ics.uci.edu/dataset/122/el+nino"),
    "magic": (19_020, 11, "CC BY 4.0", "https://archive.ics.uci.edu/dataset/159/magic+gamma+telescope"),
    "miniboone": (
        130_064,
        43,
        "CC BY 4.0",
        "https://archive.ics.uci.edu/dataset/199/miniboone+particle+identification",
    ),
}
IMAGES = {
    "mnist": (70_000, 1, "CC BY-SA 3.0", "http://yann.lecun.com/exdb/mnist/"),
    "svhn": (99_289, 1, "non-commercial use only", "http://ufldl.stanford.edu/housenumbers/"),
    "digits_in_three": (
        8_985,
        3,
        "CC BY 4.0",
        "https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    ),
}

# What is made of the runs of section 5.1, on tables, and of section 5.2, on images and text.
OF_TABLES = (
    "table1", "table2", "table6", "table7", "table8", "controls", "equal-rate", "figure4", "rate-distortion",
)  # fmt: skip
OBJECTIVES = ("elbo", "iwae", "siwae")
OF_MODALITIES = {
    "table3": ("siwae",), "table4": ("siwae",), "table5": OBJECTIVES, "table9": OBJECTIVES,
    "table10": ("elbo",), "table11": ("iwae",), "table12": ("siwae",),
    "table13": ("elbo",), "table14": ("iwae",), "table15": ("siwae",), "figure5": OBJECTIVES,
}  # fmt: skip
FIGURES = ("figure4", "figure5", "rate-distortion")
REPRODUCIBLE = tuple(
    sorted((*OF_TABLES, *OF_MODALITIES), key=lambda name: (not name.startswith("table"), len(name), name))
)
RESULTS = (*REPRODUCIBLE, "overhead")

MODELS = ("vae-elbo", "vae-iwae", "vae-dreg", "hivae")
EXPERTS = ("mvae", "mmvae", "mopoe")
KINDS = ("real", "positive", "count", "binary", "categorical", "ordinal")


def closest(name: str, known: Sequence[str]) -> str:
    """Advice for somebody who mistyped a name; empty if nothing is close."""
    found = difflib.get_close_matches(name.lower(), known, n=1)
    return f" Did you mean {found[0]!r}?" if found else ""


def complete_data(incomplete: str) -> list[str]:
    """Data sets; shells add files themselves."""
    return [name for name in DATASETS if name.startswith(incomplete)]


def complete_any_data(incomplete: str) -> list[str]:
    """Data sets, those of images too."""
    return [name for name in (*DATASETS, *IMAGES) if name.startswith(incomplete)]


def complete_reproducible(incomplete: str) -> list[str]:
    """Tables and figures that `reproduce` knows."""
    return [name for name in REPRODUCIBLE if name.startswith(incomplete)]


def complete_results(incomplete: str) -> list[str]:
    """Tables and figures that `results` knows."""
    return [name for name in RESULTS if name.startswith(incomplete)]


def complete_methods(incomplete: str) -> list[str]:
    """Methods: the last one of a list with commas, or of a chain."""
    from ..impartial import CATALOGUE

    return _complete_last(incomplete, tuple(CATALOGUE))


def complete_datasets(incomplete: str) -> list[str]:
    """Data sets: the last one of a list with commas."""
    return _complete_last(incomplete, tuple(DATASETS))


def complete_models(incomplete: str) -> list[str]:
    """Models: the last one of a list with commas."""
    return _complete_last(incomplete, (*MODELS, *EXPERTS))


def _complete_last(incomplete: str, known: Sequence[str]) -> list[str]:
    start = max(incomplete.rfind(","), incomplete.rfind(">")) + 1
    return [incomplete[:start] + name for name in known if name.startswith(incomplete[start:])]
