"""Images and labels from the files of MNIST, Fashion-MNIST and SVHN, as they lie in a folder."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

Part = Literal["train", "test"]
DEBIAN = Path("/usr/share/datasets")  # where Debian's package dataset-fashion-mnist puts its files


class Labelled(NamedTuple):
    """Images ``[N, channels, height, width]`` as bytes, and their classes ``[N]``."""

    images: Tensor
    labels: Tensor

    def part(self, rows: slice) -> Labelled:
        return Labelled(self.images[rows], self.labels[rows])


def mnist_like(name: str, part: Part, folder: Path) -> Labelled:
    """MNIST or Fashion-MNIST: four gzip files in ``folder/name``."""
    place = next((f / name for f in (folder, DEBIAN) if (f / name).is_dir()), None)
    if place is None:
        raise FileNotFoundError(
            f"The folder {folder} should have a folder {name!r} with the four gzip files of that data set. Found "
            "none. Set EVENHAND_DATA or --data, or install Debian's dataset-fashion-mnist for Fashion-MNIST."
        )
    stem = "train" if part == "train" else "t10k"
    images = _unzipped(place / f"{stem}-images-idx3-ubyte.gz")[16:]  # after kind and three sizes
    labels = _unzipped(place / f"{stem}-labels-idx1-ubyte.gz")[8:]
    return Labelled(images.reshape(-1, 1, 28, 28), labels.long())


def _unzipped(path: Path) -> Tensor:
    return torch.frombuffer(bytearray(gzip.decompress(path.read_bytes())), dtype=torch.uint8)


def svhn(part: Part, folder: Path) -> Labelled:
    """As many chunks of SVHN as ``folder/svhn`` has, from the first on; 10,000 images each."""
    chunks = []
    while (path := folder / "svhn" / f"{part}_{len(chunks):02d}.xz").is_file():
        chunks.append(_decoded(lzma.decompress(path.read_bytes())))
    if not chunks:
        raise FileNotFoundError(f"The folder {folder / 'svhn'} should have {part}_00.xz and so on. Found none.")
    images = torch.from_numpy(np.concatenate(chunks))
    with np.load(folder / "svhn" / "labels.npz") as labels:
        return Labelled(images, torch.from_numpy(labels[part][: len(images)].astype(np.int64)))


def _decoded(content: bytes) -> np.ndarray:
    """A chunk has differences down and to the right, of green, red - green and blue - green, modulo 256."""
    differences = np.frombuffer(content, np.uint8).reshape(3, -1, 32, 32)
    green, red, blue = differences.cumsum(2, dtype=np.uint8).cumsum(3, dtype=np.uint8)
    return np.stack([red + green, green, blue + green], 1)
