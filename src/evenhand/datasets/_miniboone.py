"""MiniBooNE: electron neutrinos among muon neutrinos.

Source: https://archive.ics.uci.edu/dataset/199/miniboone+particle+identification, file MiniBooNE_PID.txt: a line with
two numbers of events, then 130064 events with 50 measurements. Licence: CC BY 4.0.
sha256 of MiniBooNE_PID.txt: 577ab8bcb612199a0386cef1725058295df9a18b778a003a6a4349bbd51abd48 (as published with
https://huggingface.co/datasets/MurrellLab/GenBench)
sha256 of maf_val_test.npz: 8900f56d5ebd03f676252ab6075122a1798c8f5c308d222f9edff76ace22e105

The paper keeps 43 columns without saying which: those that masked autoregressive flows (Papamakarios et al., 2017)
keep, which leave out seven with a spike at one value. It says 130065 events, which counts the first line. If the
folder has maf_val_test.npz instead, that part of the data is read: 6932 events of one class, standardised.
"""

from __future__ import annotations

import io

import numpy as np

from ._columns import real
from ._dataset import Dataset, dataset
from ._fetch import File, find, need, read_bytes, read_csv

FILE = File(
    "MiniBooNE_PID.txt",
    "577ab8bcb612199a0386cef1725058295df9a18b778a003a6a4349bbd51abd48",
    "https://archive.ics.uci.edu/static/public/199/miniboone+particle+identification.zip",
    member="MiniBooNE_PID.txt",
)
PART = File("maf_val_test.npz", "8900f56d5ebd03f676252ab6075122a1798c8f5c308d222f9edff76ace22e105")
ALTERNATIVES = ((FILE,), (PART,))
ALL = [f"m{j}" for j in range(50)]
SPIKED = ("m5", "m13", "m22", "m26", "m34", "m44", "m45")
NAMES = [name for name in ALL if name not in SPIKED]


def miniboone() -> Dataset:
    """MiniBooNE: 130064 events, 43 columns."""
    if find("miniboone", FILE) is None and find("miniboone", PART) is not None:
        return _part()
    frame = read_csv("miniboone", FILE, sep=r"\s+", skiprows=1, names=ALL)
    note = "130064 rows, where the paper's table counts the first line of the file too. Its 43 columns are a guess."
    return dataset("miniboone", frame, real(*NAMES), note=note)


def _part() -> Dataset:
    with np.load(io.BytesIO(read_bytes("miniboone", PART))) as parts:
        values = np.concatenate([parts["val"], parts["test"]]).astype(np.float64)
    frame = need("pandas").DataFrame(values, columns=NAMES)
    note = "A part of the data: 6932 events of one class, standardised, in place of 130064."
    return dataset("miniboone", frame, real(*NAMES), rows=6932, note=note)
