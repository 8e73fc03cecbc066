"""SVHN: digits of house numbers in photographs, 32 x 32 coloured pixels, cropped ("format 2").

Source: http://ufldl.stanford.edu/housenumbers/ (Netzer et al., 2011). Licence: for non-commercial use only.
sha256 of train_32x32.mat: 435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8
sha256 of test_32x32.mat: cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b

If the folder has the chunks train_00 ... train_07, test_00 ... test_02 and labels.npz instead, these are read:
format 2 rebuilt from format 1, that is from the full photographs and the official boxes. Of 5000 test images
compared, 4979 equal the originals at every pixel, the others are within one grey level in a few pixels.
sha256 of labels.npz: 398a754bfbf636859120fb036fd98ee3c4e1c8e2eb097c780be4c87229578b49
sha256 of all images, [N, 32, 32, 3]:
train: 0b3ef515f72414d92f82164219593913b05c193413206fc91695fc927aecdf9c
test: d79dab0f650a9087726b7e04539959c2fb6af4291c527ba2b144ec90b9178c65
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ._fetch import File, find, need, read_bytes
from ._labelled import Split, check_split

URL = "http://ufldl.stanford.edu/housenumbers/"
FILES = {
    "train": File(
        "train_32x32.mat",
        "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
        f"{URL}train_32x32.mat",
    ),
    "test": File(
        "test_32x32.mat",
        "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
        f"{URL}test_32x32.mat",
    ),
}
LABELS = File("labels.npz", "398a754bfbf636859120fb036fd98ee3c4e1c8e2eb097c780be4c87229578b49")
ALTERNATIVES = (tuple(FILES.values()), (LABELS,))
REBUILT = {
    "train": "0b3ef515f72414d92f82164219593913b05c193413206fc91695fc927aecdf9c",
    "test": "d79dab0f650a9087726b7e04539959c2fb6af4291c527ba2b144ec90b9178c65",
}
CHUNKS = {
    "train": (
        "af1c1b85fb8f82055cfb941aeb4f206569d945cceed86d3be396002d64c52464",
        "ef6c8849accda93341342de0af80eea3cc2acadc7b1ef29111a8033b2efe337d",
        "c431e8dd8911ed83c94f90a43d9f952a09a7c84fd009af50cfd6816c61367e59",
        "4bcc7c513f606061b3d16b9da879af02e3ed7daab5cfa4be0d23dd97e87eaaee",
        "d1f0fb81fb6560685ad5dbf6d76b995ccb8fa237ff731fc0bf412e66b91160c4",
        "6620a5db823e14e28c526f4b2f2ea87cac4196f4c946994f47def5bb0b8c6814",
        "da2be63b92f6a8a353787e9940e8ad5cba0f98cb226f3ea83b6cc0d7614df27e",
        "f0df411efc6587bf8dbfe156fe6f875b0f4071799d68d4bdadc6fd3132437d8c",
    ),
    "test": (
        "2be7c1188b1ef66ecd8fb3ddb436fbdee7f111f312576af0ba9c75d0d1941db5",
        "75e1892e9234d0a1031f9b1b0c01398e08fcd90993f3750b4dc04e8bd6174c08",
        "dfbc8983d596fc607be242466a4de2cefa96a504e000fe5d87cc867ca6d47dec",
    ),
}
NOTE = "SVHN is format 2 rebuilt from format 1: in 4 of 1000 images a few pixels are off by one grey level."


def svhn(split: Split) -> tuple[Tensor, Tensor]:
    """SVHN: 73257 images for training, 26032 for tests. For non-commercial use only.

    Read from the original ``train_32x32.mat``, ``test_32x32.mat``, or from chunks if the folder has those: format 2
    rebuilt from format 1 (see `is_rebuilt`). What the chunks decode to is kept in the cache of the user.

    Returns:
        The images, bytes ``[N, 3, 32, 32]``, and their digits, ``[N]``.
    """
    check_split(split)
    if is_rebuilt(split):
        images, labels = _cached(split), _rebuilt_labels(split)
    else:
        images, labels = _original(split)
    planes = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    return torch.from_numpy(planes), torch.from_numpy(labels.astype(np.int64))


def is_rebuilt(split: Split) -> bool:
    """Whether the folder has the chunks in place of the original file."""
    return find("svhn", FILES[split]) is None and find("svhn", LABELS) is not None


def _original(split: Split) -> tuple[np.ndarray, np.ndarray]:
    content = need("scipy.io").loadmat(io.BytesIO(read_bytes("svhn", FILES[split])))
    return content["X"].transpose(3, 0, 1, 2), content["y"].ravel() % 10  # the label 10 is the digit 0


def _rebuilt_labels(split: Split) -> np.ndarray:
    with np.load(io.BytesIO(read_bytes("svhn", LABELS))) as labels:
        return labels[split]


def _cached(split: Split) -> np.ndarray:
    """The rebuilt images, [N, 32, 32, 3], from the cache or else decoded and put there."""
    path = need("pooch").os_cache("evenhand") / "svhn" / f"{split}_rebuilt.npy"
    images = _load(path)
    if images is None or _digest(images) != REBUILT[split]:
        images = _decoded(split)
        _store(path, images)
    return images


def _decoded(split: Split) -> np.ndarray:
    chunks = [File(f"{split}_{i:02d}", sha256) for i, sha256 in enumerate(CHUNKS[split])]
    images = np.concatenate([_decode(read_bytes("svhn", chunk)) for chunk in chunks])
    digest = _digest(images)
    if digest != REBUILT[split]:
        raise ValueError(f"The {split} images of SVHN should have the sha256 {REBUILT[split]}. Found {digest}.")
    return images


def _decode(content: bytes) -> np.ndarray:
    """A chunk has differences down and to the right, of green, red - green and blue - green, modulo 256."""
    differences = np.frombuffer(content, np.uint8).reshape(3, -1, 32, 32)
    green, red, blue = differences.cumsum(2, dtype=np.uint8).cumsum(3, dtype=np.uint8)
    return np.stack([red + green, green, blue + green], -1)


def _digest(images: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(images).data).hexdigest()


def _load(path: Path) -> np.ndarray | None:
    try:
        images = np.load(path)
    except Exception:  # not there, or damaged in whatever way: it is made again
        return None
    return images if images.dtype == np.uint8 and images.shape[1:] == (32, 32, 3) else None


def _store(path: Path, images: np.ndarray) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            np.save(Path(folder, path.name), images)
            os.replace(Path(folder, path.name), path)  # whoever reads sees the whole file or none
    except OSError:  # a full or protected disk: then it is decoded each time
        return
