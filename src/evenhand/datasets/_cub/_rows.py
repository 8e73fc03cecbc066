"""CUB image-captions: photographs of birds of 200 species, ten captions each.

Source: http://www.robots.ox.ac.uk/~yshi/mmdgm/datasets/cub.zip, as Shi et al. (2019) prepared them; photographs of
CUB-200-2011 (Wah et al., 2011), captions of Reed et al. (2016). Licence: see its source.
No checksum is stored, because the archive could not be had when this was written. What is checked: that there are
ten captions for every photograph, and that every photograph can be read.

The files are train/CLASS/*.jpg and text_trainvalclasses.txt, test/CLASS/*.jpg and text_testclasses.txt. Captions
stand in lines, ten for each photograph, in the order of the names of folders and files.
"""

from __future__ import annotations

from pathlib import Path

import torch

from ...modalities.rows import Modalities
from .._catalogue import CATALOGUE
from .._labelled import LabelledModalities, Split, check_split
from .._pictures import read_pictures
from .._unpacked import unpacked_folder
from ._captions import Vocabulary

SIDE = 64
CAPTIONS = 10  # of every photograph
TEXTS = {"train": "text_trainvalclasses.txt", "test": "text_testclasses.txt"}
SUFFIXES = (".jpg", ".jpeg", ".png")
NOTE = (
    "The species of the test photographs are none of those for training, so rows have no labels. Words are found by "
    "a regular expression and the most frequent ones kept; published is the tokenizer of NLTK with all words that "
    "occur more than three times."
)


def cub(split: Split = "train", *, seed: int = 0) -> LabelledModalities:
    """CUB image-captions, a row for every caption, from the folder ``$EVENHAND_DATA/cub/``.

    The modalities are ``"image"``, bytes ``[M, 3, 64, 64]``, photographs made that small whatever their shape was,
    and ``"caption"``, codes of words ``[N, 32]``, which `cub_vocabulary` reads. Every photograph is kept once and is
    in ten rows.

    Args:
        split: Which photographs.
        seed: Changes nothing: the rows are published.
    """
    check_split(split)
    entry, folder = CATALOGUE["cub"], _folder()
    photographs = _photographs(folder / split)
    captions = _lines(folder / TEXTS[split])
    if not photographs or len(captions) != CAPTIONS * len(photographs):
        raise ValueError(
            f"{folder / TEXTS[split]} should have {CAPTIONS} lines for each of the {len(photographs)} photographs in "
            f"{folder / split}. Found {len(captions)}: unpack the data set again."
        )
    values = {"image": read_pictures(photographs, SIDE, resize=True), "caption": cub_vocabulary().codes(captions)}
    which = torch.arange(len(photographs)).repeat_interleave(CAPTIONS)
    return LabelledModalities(
        Modalities(values, {"image": which}),
        None,
        name=entry.name,
        source=entry.source,
        licence=entry.licence,
        note=NOTE,
    )


def cub_vocabulary() -> Vocabulary:
    """The words of the training captions, for both splits."""
    return Vocabulary.of(_lines(_folder() / TEXTS["train"]))


def _folder() -> Path:
    entry = CATALOGUE["cub"]
    return unpacked_folder(entry.name, entry.unpacked, entry.source)


def _photographs(folder: Path) -> list[Path]:
    """In the order of species and names."""
    return sorted(path for path in folder.glob("*/*") if path.suffix.lower() in SUFFIXES)


def _lines(file: Path) -> list[str]:
    """The lines of a file that are not blank."""
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
