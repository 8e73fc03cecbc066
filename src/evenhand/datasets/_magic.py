"""Magic: simulated showers of gamma particles and hadrons in a telescope.

Source: https://archive.ics.uci.edu/dataset/159/magic+gamma+telescope, file magic04.data. Licence: CC BY 4.0.
sha256 of the decompressed file: b07bb5bcbb55d0cd762aaea99eb52655668412899c5936632fa3877cf7b109d6

Ten features and the class, 1 for gamma and 0 for hadron, all real as in the paper.
"""

from __future__ import annotations

from ._columns import real
from ._dataset import Dataset, dataset
from ._fetch import File, read_csv

FILE = File(
    "magic04.data",
    "b07bb5bcbb55d0cd762aaea99eb52655668412899c5936632fa3877cf7b109d6",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/magic/magic04.data",
)
ALTERNATIVES = ((FILE,),)
NAMES = ["fLength", "fWidth", "fSize", "fConc", "fConc1", "fAsym", "fM3Long", "fM3Trans", "fAlpha", "fDist", "class"]


def magic() -> Dataset:
    """Magic: 19020 showers, 11 columns."""
    frame = read_csv("magic", FILE, names=NAMES)
    frame["class"] = (frame["class"] == "g").astype(float)
    return dataset("magic", frame, real(*NAMES))
