"""PolyMNIST, from small folders that are made here in the published layout."""

import numpy as np
import pytest
import torch
from PIL import Image

from evenhand import MultimodalVAE, datasets
from evenhand.datasets import CATALOGUE
from evenhand.datasets._polymnist import _rows

FILES = [(number, digit) for digit in range(10) for number in range(2)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two images of every digit; the first pixel tells modality, digit and number."""
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    monkeypatch.setattr(_rows, "ROWS", {"train": len(FILES), "test": len(FILES)})
    rng = np.random.default_rng(0)
    for split in ("train", "test"):
        for i in range(5):
            place = tmp_path / "polymnist" / split / f"m{i}"
            place.mkdir(parents=True)
            for number, digit in FILES:
                pixels = rng.integers(256, size=(28, 28, 3), dtype=np.uint8)
                pixels[0, 0] = i, digit, number
                Image.fromarray(pixels).save(place / f"{number}.{digit}.png")
    return tmp_path / "polymnist"


@pytest.mark.usefixtures("folder")
def test_images_of_the_same_name_are_a_row():
    rows = datasets.polymnist("train")
    assert rows.labels.tolist() == sorted(digit for _, digit in FILES)
    for i, (name, x) in enumerate(rows.data.values.items()):
        assert (name, x.dtype, *x.shape) == (f"m{i}", torch.uint8, 20, 3, 28, 28)
        assert x[:, :, 0, 0].tolist() == [[i, digit, number] for digit in range(10) for number in range(2)]
    assert (rows.name, rows.source) == ("polymnist", CATALOGUE["polymnist"].source)


def test_where_it_is(folder, monkeypatch):
    entry = CATALOGUE["polymnist"]
    assert entry.place == "folder"
    (folder / "test").rename(folder / "elsewhere")
    assert entry.place == "not here"
    with pytest.raises(
        FileNotFoundError, match=r"polymnist should be in the folder \$EVENHAND_DATA/polymnist, with "
    ):
        datasets.polymnist("test")
    monkeypatch.delenv("EVENHAND_DATA")
    assert entry.place == "not here"
    with pytest.raises(FileNotFoundError, match=r"Found that EVENHAND_DATA is not set.*zenodo.org"):
        datasets.polymnist("test")


def test_a_missing_image_is_told(folder):
    (folder / "test" / "m3" / "1.7.png").unlink()
    with pytest.raises(ValueError, match="m3 should hold 20 images. Found 19: unpack it again."):
        datasets.polymnist("test")


def test_modalities_that_show_other_digits_are_refused(folder):
    (folder / "test" / "m3" / "1.7.png").rename(folder / "test" / "m3" / "2.7.png")
    with pytest.raises(ValueError, match="m3 should hold images of the same names as m0. Found others."):
        datasets.polymnist("test")


def test_strange_files_are_named(folder):
    (folder / "test" / "m2" / "0.0.png").rename(folder / "test" / "m2" / "zero.png")
    with pytest.raises(ValueError, match="should be called NUMBER.DIGIT.png. Found .*zero.png"):
        datasets.polymnist("test")


def test_images_of_another_size_are_refused(folder):
    Image.new("RGB", (32, 28)).save(folder / "test" / "m0" / "0.0.png")
    with pytest.raises(ValueError, match=r"0.0.png should have 28 x 28 pixels. Found 32 x 28."):
        datasets.polymnist("test")


def test_damaged_images_are_named(folder):
    path = folder / "test" / "m0" / "0.0.png"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"0.0.png is damaged .*; unpack the data set again."):
        datasets.polymnist("test")


def test_the_published_numbers_of_rows():
    assert sum(_rows.ROWS.values()) == CATALOGUE["polymnist"].rows
    assert "No checksum is stored" in _rows.__doc__


@pytest.mark.usefixtures("folder")
def test_it_trains_with_default_networks():
    dataset = datasets.multimodal("polymnist")
    model = MultimodalVAE(dataset.make_modalities(), n_latent=4, objective="siwae", n_samples=2)
    model.fit(dataset.load("train", seed=0).data, epochs=1, batch_size=20, device="cpu", verbose=False)
    assert model.core.expert_names == ["m0", "m1", "m2", "m3", "m4"]
    with pytest.raises(ValueError, match="n_layers should be 1"):
        dataset.make_modalities(n_layers=2)
