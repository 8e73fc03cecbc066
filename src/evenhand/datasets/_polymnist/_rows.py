"""PolyMNIST: five images of the same digit of MNIST, each on a piece of another background.

Source: https://zenodo.org/record/4899160 (Sutter, Daunhawer and Vogt, Generalized Multimodal ELBO, 2021).
Licence: see its source; the digits are those of MNIST.
No checksum is stored, because the archive could not be had when this was written. What is checked: names, how many
images there are, that the five folders show the same digits, and the size of every image.

The files are train/m0/0.0.png to test/m4/1134.1.png: by split and modality, a running number and the digit.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch

from ...modalities.rows import Modalities
from .._catalogue import CATALOGUE
from .._labelled import LabelledModalities, Split, check_split
from .._pictures import read_pictures
from .._unpacked import unpacked_folder

NAMES = ("m0", "m1", "m2", "m3", "m4")
SIDE = 28
ROWS = {"train": 60_000, "test": 10_000}
FILE = re.compile(r"(\d+)\.(\d)\.png")
Name = tuple[int, int]
"""The digit and the running number of a file."""


def polymnist(split: Split = "train", *, seed: int = 0) -> LabelledModalities:
    """PolyMNIST: 60000 rows for training, 10000 for tests, from the folder ``$EVENHAND_DATA/polymnist/``.

    The modalities are ``"m0"`` to ``"m4"``, bytes ``[N, 3, 28, 28]``. The images of a row have the same name in the
    five folders of the split. The rows are ordered by digit. In memory the training rows take 0.7 GB.

    Args:
        split: Which images.
        seed: Changes nothing: the rows are published.
    """
    check_split(split)
    entry = CATALOGUE["polymnist"]
    folder = unpacked_folder(entry.name, entry.unpacked, entry.source) / split
    files = {name: _files(folder / name) for name in NAMES}
    rows = _shared_names(files, folder, ROWS[split])
    return LabelledModalities(
        Modalities({name: read_pictures([found[row] for row in rows], SIDE) for name, found in files.items()}),
        torch.tensor([digit for digit, _ in rows]),
        name=entry.name,
        source=entry.source,
        licence=entry.licence,
    )


def _files(folder: Path) -> dict[Name, Path]:
    """The images of a folder, by what their names say."""
    found = {path: FILE.fullmatch(path.name) for path in folder.glob("*.png")}
    wrong = next((path for path, name in found.items() if name is None), None)
    if wrong is not None:
        raise ValueError(f"Images of PolyMNIST should be called NUMBER.DIGIT.png. Found {wrong}.")
    return {(int(name[2]), int(name[1])): path for path, name in found.items() if name is not None}


def _shared_names(files: dict[str, dict[Name, Path]], folder: Path, n: int) -> list[Name]:
    """The names that all modalities have, of which there should be n."""
    for name, found in files.items():
        if len(found) != n:
            raise ValueError(f"{folder / name} should hold {n} images. Found {len(found)}: unpack it again.")
    rows = sorted(files[NAMES[0]])
    for name, found in files.items():
        if found.keys() != files[NAMES[0]].keys():
            raise ValueError(f"{folder / name} should hold images of the same names as {NAMES[0]}. Found others.")
    return rows
