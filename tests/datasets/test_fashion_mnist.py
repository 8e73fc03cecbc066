"""Fashion-MNIST in three modalities, from small files that are made here."""

import gzip
import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from evenhand import MultimodalVAE, datasets
from evenhand.datasets import CATALOGUE
from evenhand.datasets._fashion_mnist import _rows
from evenhand.datasets._fashion_mnist._rows import WORDS

N = 40


def idx(kind, array):
    """An array in the format of MNIST, and its checksum."""
    content = np.array([kind, *array.shape], ">i4").tobytes() + array.tobytes()
    return content, hashlib.sha256(content).hexdigest()


@pytest.fixture
def system(tmp_path, monkeypatch):
    """40 images, four of every class, where a package of the system would put them; the first pixel tells which."""
    images = np.random.default_rng(0).integers(256, size=(N, 28, 28), dtype=np.uint8)
    images[:, 0, 0] = np.arange(N)
    labels = np.arange(N, dtype=np.uint8)[::-1] % 10
    (tmp_path / "system").mkdir()
    monkeypatch.delenv("EVENHAND_DATA", raising=False)
    files = {}
    for what, kind, array in (("images", 2051, images), ("labels", 2049, labels)):
        content, sha256 = idx(kind, array)
        for split in ("train", "test"):
            old = _rows.FILES[f"{split} {what}"]
            files[f"{split} {what}"] = replace(old, sha256=sha256, system=str(tmp_path / "system"))
            (tmp_path / "system" / f"{old.name}.gz").write_bytes(gzip.compress(content))
    monkeypatch.setattr(_rows, "FILES", files)
    monkeypatch.setattr(datasets._fashion_mnist, "ALTERNATIVES", (tuple(files.values()),))
    return tmp_path


@pytest.mark.usefixtures("system")
def test_a_row_has_two_articles_of_a_class_and_its_name():
    rows = datasets.fashion_mnist("test", seed=3, repeats=2)
    assert len(rows) == 2 * N
    batch = rows.data.rows(torch.arange(len(rows)))
    assert {name: (x.dtype, *x.shape[1:]) for name, x in batch.values.items()} == {
        "article": (torch.uint8, 1, 28, 28),
        "other": (torch.uint8, 1, 28, 28),
        "text": (torch.int64, 16),
    }
    which, other = (batch.values[name][:, 0, 0, 0].long() for name in ("article", "other"))
    classes = torch.arange(N).flip(0) % 10
    assert torch.equal(classes[which], rows.labels)
    assert torch.equal(classes[other], rows.labels)
    assert (which != other).all()  # never an article with itself
    assert which.bincount().tolist() == other.bincount().tolist() == [2] * N
    assert [text.strip() for text in datasets.read_text(batch.values["text"])] == [WORDS[y] for y in rows.labels]
    assert (rows.source, rows.licence) == (CATALOGUE["fashion_mnist"].source, "MIT")


@pytest.mark.usefixtures("system")
def test_rows_belong_to_the_seed():
    one, same, other = (datasets.fashion_mnist(seed=seed).data for seed in (0, 0, 1))
    assert torch.equal(one.index["other"], same.index["other"])
    assert torch.equal(one.values["text"], same.values["text"])
    assert not torch.equal(one.index["other"], other.index["other"])
    assert not torch.equal(one.values["text"], other.values["text"])


def test_files_are_those_of_the_system_unless_the_folder_has_them(system, monkeypatch):
    entry = CATALOGUE["fashion_mnist"]
    assert entry.place == "package"
    folder = system / "data" / "fashion_mnist"
    folder.mkdir(parents=True)
    monkeypatch.setenv("EVENHAND_DATA", str(system / "data"))
    assert entry.place == "package"
    for path in (system / "system").iterdir():
        path.rename(folder / path.name)
    assert entry.place == "folder"
    assert len(datasets.fashion_mnist("test")) == N
    path = folder / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-1] + b"\7"))
    with pytest.raises(ValueError, match="t10k-labels-idx1-ubyte.gz should have the sha256"):
        datasets.fashion_mnist("test")


def test_every_checksum_is_told():
    for file in _rows.FILES.values():
        assert file.sha256 in _rows.__doc__
        assert file.url.endswith(f"{file.name}.gz")


@pytest.mark.usefixtures("system")
def test_it_trains_with_default_networks():
    dataset = datasets.multimodal("fashion_mnist")
    parts = dataset.modalities(dataset.n_latent, n_layers=1, seed=0)
    assert all(part.encoder is part.decoder is None for part in parts.values())
    model = MultimodalVAE(parts, n_latent=4, objective="siwae", n_samples=2)
    model.fit(dataset.load("train", seed=0).data, epochs=1, batch_size=20, device="cpu", verbose=False)
    assert model.core.expert_names == ["article", "other", "text"]
    assert 1 <= model.history[-1]["effective_experts"] <= 3
    with pytest.raises(ValueError, match="n_layers should be 1"):
        dataset.modalities(4, n_layers=2, seed=0)
