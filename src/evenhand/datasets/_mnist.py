"""MNIST: handwritten digits, 28 x 28 grey pixels.

Source: http://yann.lecun.com/exdb/mnist/, fetched from its mirror https://ossci-datasets.s3.amazonaws.com/mnist/.
Licence: CC BY-SA 3.0 (Y. LeCun and C. Cortes).
sha256 of the decompressed files:
train-images-idx3-ubyte: ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
train-labels-idx1-ubyte: 65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5
t10k-images-idx3-ubyte: 0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7
t10k-labels-idx1-ubyte: ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2
"""

from __future__ import annotations

from torch import Tensor

from ._fetch import File, read_bytes
from ._idx import idx_images, idx_labels
from ._labelled import Split, check_split

MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FILES = {
    what: File(name, sha256, f"{MIRROR}{name}.gz")
    for what, name, sha256 in (
        (
            "train images",
            "train-images-idx3-ubyte",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        (
            "train labels",
            "train-labels-idx1-ubyte",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        (
            "test images",
            "t10k-images-idx3-ubyte",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        (
            "test labels",
            "t10k-labels-idx1-ubyte",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    )
}
ALTERNATIVES = (tuple(FILES.values()),)


def mnist(split: Split) -> tuple[Tensor, Tensor]:
    """MNIST: 60000 images for training, 10000 for tests.

    Returns:
        The images, bytes ``[N, 1, 28, 28]``, and their digits, ``[N]``.
    """
    check_split(split)
    return idx_images(read_bytes("mnist", FILES[f"{split} images"])), mnist_labels(split)


def mnist_labels(split: Split) -> Tensor:
    """The digits alone, ``[N]``."""
    return idx_labels(read_bytes("mnist", FILES[f"{split} labels"]))
