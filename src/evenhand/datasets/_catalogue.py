"""All public data sets by name: what is known of each before it is loaded. Needs neither torch nor pandas."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ._fetch import Place, place_of
from ._unpacked import is_unpacked

SPLITS = ("train", "test")


@dataclass(frozen=True)
class Entry:
    """What is known of a data set without importing its file.

    Attributes:
        name: Of the data set, of the function that loads it, and, after an underscore, of the file it is in.
        rows: How many, in all splits.
        columns: How many columns or modalities.
        licence: Under which terms.
        source: Where the data come from.
        splits: The arguments it is loaded with; a table has none.
        package: The package that brings it, if nothing has to be fetched.
        unpacked: Files and folders of a data set that a user unpacks by hand; such a one has no checksums.
    """

    name: str
    rows: int
    columns: int
    licence: str
    source: str
    splits: tuple[str, ...] = ()
    package: str = ""
    unpacked: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether `load` has it: a frame with a schema."""
        return not self.splits

    def read(self) -> list[Any]:
        """All that the data set has, a part for every split. What is not here is fetched, and everything checked."""
        loader = getattr(self._module(), self.name)
        return [loader(split) for split in self.splits] if self.splits else [loader()]

    @property
    def place(self) -> Place:
        """Where its files are."""
        if self.package:
            return "package"
        if self.unpacked:
            return "folder" if is_unpacked(self.name, self.unpacked) else "not here"
        return place_of(self.name, self._module().ALTERNATIVES)

    def _module(self) -> Any:
        return import_module(f"._{self.name}", __package__)


_UCI = "https://archive.ics.uci.edu/dataset"
_R = "https://vincentarelbundock.github.io/Rdatasets/doc"

_ENTRIES = (
    Entry("adult", 32_561, 12, "CC BY 4.0", f"{_UCI}/2/adult"),
    Entry("credit", 30_000, 24, "CC BY 4.0", f"{_UCI}/350/default+of+credit+card+clients"),
    Entry("wine", 6_497, 13, "CC BY 4.0", f"{_UCI}/186/wine+quality"),
    Entry("diamonds", 53_940, 10, "MIT", f"{_R}/ggplot2/diamonds.html"),
    Entry("bank", 41_188, 21, "CC BY 4.0", f"{_UCI}/222/bank+marketing"),
    Entry("imdb", 58_788, 23, "GPL-3", f"{_R}/ggplot2movies/movies.html"),
    Entry("hi", 22_272, 12, "GPL-2 or later", f"{_R}/Ecdat/HI.html"),
    Entry("rwm5yr", 19_609, 16, "GPL-2", f"{_R}/COUNT/rwm5yr.html"),
    Entry("labour", 15_992, 9, "GPL-3", f"{_R}/DAAG/cps1.html"),
    Entry("elnino", 178_080, 12, "CC BY 4.0", f"{_UCI}/122/el+nino"),
    Entry("magic", 19_020, 11, "CC BY 4.0", f"{_UCI}/159/magic+gamma+telescope"),
    Entry("miniboone", 130_064, 43, "CC BY 4.0", f"{_UCI}/199/miniboone+particle+identification"),
    Entry("mnist", 70_000, 1, "CC BY-SA 3.0", "http://yann.lecun.com/exdb/mnist/", SPLITS),
    Entry("fashion_mnist", 70_000, 3, "MIT", "https://github.com/zalandoresearch/fashion-mnist", SPLITS),
    Entry("svhn", 99_289, 1, "non-commercial use only", "http://ufldl.stanford.edu/housenumbers/", SPLITS),
    Entry(
        "digits_in_three",
        8_985,
        3,
        "CC BY 4.0",
        f"{_UCI}/80/optical+recognition+of+handwritten+digits",
        SPLITS,
        package="scikit-learn",
    ),
    Entry(
        "digits_in_five",
        3_594,
        5,
        "CC BY 4.0 (digits), CC BY 2.0 (photographs)",
        f"{_UCI}/80/optical+recognition+of+handwritten+digits",
        SPLITS,
        package="scikit-learn",
    ),
    Entry(
        "polymnist",
        70_000,
        5,
        "see its source",
        "https://zenodo.org/record/4899160",
        SPLITS,
        unpacked=SPLITS,
    ),
    Entry(
        "cub",
        117_880,
        2,
        "see its source",
        "http://www.robots.ox.ac.uk/~yshi/mmdgm/datasets/cub.zip",
        SPLITS,
        unpacked=(*SPLITS, "text_trainvalclasses.txt", "text_testclasses.txt"),
    ),
)

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
"""Every data set by its name."""

NAMES = tuple(entry.name for entry in _ENTRIES if entry.is_table)
"""The tables, which `load` takes."""
