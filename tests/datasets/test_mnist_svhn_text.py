import gzip
import hashlib
import lzma
import sys

import numpy as np
import pytest
import torch

from evenhand import datasets
from evenhand.datasets import LabelledModalities, _mnist, _svhn, split_pairs
from evenhand.datasets._digits_in_three import _rows as in_three
from evenhand.datasets._fetch import File
from evenhand.datasets._mnist_svhn_text._pairs import ALPHABET, WORDS, pair, read_text, text_codes
from evenhand.datasets._small_digits import small_digits
from evenhand.modalities.rows import Modalities

from .test_tables import Pooch


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


# --- text


def test_the_alphabet_has_71_symbols_one_of_them_twice():
    assert len(ALPHABET) == 71
    assert len(set(ALPHABET)) == 70
    assert ALPHABET.count("-") == 2
    assert set("abcdefghijklmnopqrstuvwxyz0123456789 \n") <= set(ALPHABET)


def test_words_stand_at_every_place_that_is_allowed():
    labels = torch.arange(10).repeat(300)
    codes = text_codes(labels, seeded())
    assert codes.shape == (3000, 8)
    assert codes.dtype == torch.int64
    texts = read_text(codes)
    assert [text.strip() for text in texts] == [WORDS[label] for label in labels]
    assert all(text[-1] == " " for text in texts)
    starts = {(len(text.strip()), len(text) - len(text.lstrip())) for text in texts}
    assert starts == {(3, s) for s in range(4)} | {(4, s) for s in range(3)} | {(5, s) for s in range(2)}


def test_places_are_equally_likely():
    starts = [text.index("o") for text in read_text(text_codes(torch.ones(8000, dtype=torch.long), seeded()))]
    assert np.bincount(starts) == pytest.approx(2000, abs=150)


def test_text_is_determined_by_the_seed_whatever_the_default_dtype():
    labels = torch.arange(10).repeat(10)
    codes = text_codes(labels, seeded())
    torch.set_default_dtype(torch.float32)
    assert torch.equal(codes, text_codes(labels, seeded()))
    assert not torch.equal(codes, text_codes(labels, seeded(1)))


# --- pairs

FIRST = torch.tensor([1, 0, 1, 2, 1, 1, 0, 2, 2])
SECOND = torch.tensor([0, 0, 2, 2, 1, 2, 1, 2, 0, 2, 3])


def test_pairs_have_equal_labels_and_use_the_first_of_each():
    left, right = pair(FIRST, SECOND, repeats=20, limit=100, generator=seeded())
    assert torch.equal(FIRST[left], SECOND[right])
    assert len(left) == len(right) == 20 * (2 + 2 + 3)
    assert left.dtype == right.dtype == torch.int64
    used = {0: ([1, 6], [0, 1]), 1: ([0, 2], [4, 6]), 2: ([3, 7, 8], [2, 3, 5])}  # neither 3's nor the last ones
    for label, (one, other) in used.items():
        rows = FIRST[left] == label
        for items, side in ((one, left), (other, right)):
            rounds = side[rows].reshape(20, -1)  # in every round, each item once
            assert torch.equal(rounds.sort(1).values, torch.tensor(items).expand(20, -1))
            assert len(rounds.unique(dim=0)) > 1  # and the orders differ
        assert len(torch.stack([left[rows], right[rows]]).unique(dim=1).T) == len(one) * len(other)


def test_pairs_are_limited():
    left, right = pair(FIRST, SECOND, repeats=3, limit=1, generator=seeded())
    assert left.tolist() == [1] * 3 + [0] * 3 + [3] * 3
    assert right.tolist() == [0] * 3 + [4] * 3 + [2] * 3


def test_pairs_are_determined_by_the_seed():
    labels = torch.arange(10).repeat(20)
    one, same, other = (pair(labels, labels, repeats=2, limit=99, generator=seeded(s)) for s in (0, 0, 1))
    assert torch.equal(torch.stack(one), torch.stack(same))
    for a, b in zip(one, other, strict=True):
        assert not torch.equal(a, b)


# --- rows with labels


@pytest.fixture
def labelled():
    values = torch.arange(40)
    data = Modalities({"a": values, "b": values.flip(0)}, {"b": values.flip(0)})
    return LabelledModalities(data, values % 10, "toy", "somewhere", "free", "a note")


def test_splits_share_the_items_but_no_row(labelled):
    train, validation = split_pairs(labelled, 0.25)
    assert (len(train), len(validation)) == (30, 10)
    for part in (train, validation):
        rows = part.data.rows(torch.arange(len(part)))
        assert torch.equal(rows.values["a"] % 10, part.labels)
        assert torch.equal(rows.values["a"], rows.values["b"])  # the pairs stay together
        assert part.data.values["a"] is labelled.data.values["a"]
        assert (part.name, part.source, part.licence, part.note) == ("toy", "somewhere", "free", "a note")
    rows = torch.cat([part.data.index["a"] for part in (train, validation)])
    assert torch.equal(rows.sort().values, torch.arange(40))
    assert not torch.equal(rows, torch.arange(40))


def test_splits_are_determined_by_the_seed(labelled):
    rows = [split_pairs(labelled, seed=seed)[1].data.index["a"] for seed in (0, 0, 1)]
    assert len(rows[0]) == 4
    assert torch.equal(rows[0], rows[1])
    assert not torch.equal(rows[0], rows[2])


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.999, 1.0, -0.5])
def test_splits_should_have_two_parts(labelled, fraction):
    with pytest.raises(ValueError, match=f"fraction should leave rows for both parts of 40. Found {fraction}"):
        split_pairs(labelled, fraction)


def test_every_row_should_have_a_label(labelled):
    with pytest.raises(ValueError, match=r"labels should have one entry for each of 40 rows. Found the shape \[39\]"):
        LabelledModalities(labelled.data, torch.zeros(39), "toy", "", "")


# --- files, small ones made here


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for data, and one for the cache."""
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", Pooch(tmp_path / "cache", None))
    for name in ("mnist", "svhn"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def digits(folder, monkeypatch):
    """20 images in the format of MNIST, for tests; the first pixel tells the image."""
    images = np.random.default_rng(0).integers(256, size=(20, 28, 28), dtype=np.uint8)
    images[:, 0, 0] = np.arange(20)
    labels = np.arange(20, dtype=np.uint8) % 10
    for what, magic, array in (("images", 2051, images), ("labels", 2049, labels)):
        content = np.array([magic, *array.shape], ">i4").tobytes() + array.tobytes()
        file = File(f"t10k-{what}", sha256(content))
        (folder / "mnist" / f"{file.name}.gz").write_bytes(gzip.compress(content))
        monkeypatch.setitem(_mnist.FILES, f"test {what}", file)
    return images, labels


@pytest.fixture
def chunks(folder, monkeypatch):
    """30 images in two chunks in the format of the shared folder, for tests."""
    images = np.random.default_rng(1).integers(256, size=(30, 32, 32, 3), dtype=np.uint8)
    labels = np.arange(30, dtype=np.uint8)[::-1] % 10
    sums = []
    for i, part in enumerate((images[:20], images[20:])):
        r, g, b = np.moveaxis(part, -1, 0)
        planes = np.stack([g, r - g, b - g])
        content = np.diff(np.diff(planes, axis=2, prepend=np.uint8(0)), axis=3, prepend=np.uint8(0)).tobytes()
        (folder / "svhn" / f"test_{i:02d}.xz").write_bytes(lzma.compress(content))
        sums.append(sha256(content))
    np.savez(folder / "svhn" / "labels.npz", test=labels)
    monkeypatch.setitem(_svhn.CHUNKS, "test", tuple(sums))
    monkeypatch.setitem(_svhn.REBUILT, "test", sha256(images.tobytes()))
    monkeypatch.setattr(_svhn, "LABELS", File("labels.npz", sha256((folder / "svhn" / "labels.npz").read_bytes())))
    return images, labels


def test_mnist_is_read(digits):
    images, labels = datasets.mnist("test")
    assert (images.dtype, labels.dtype) == (torch.uint8, torch.int64)
    assert images.shape == (20, 1, 28, 28)
    assert (images[:, 0].numpy() == digits[0]).all()
    assert labels.tolist() == digits[1].tolist()


def test_rebuilt_svhn_is_read_and_cached(chunks, folder, monkeypatch):
    images, labels = datasets.svhn("test")
    assert (images.dtype, labels.dtype) == (torch.uint8, torch.int64)
    assert (images.numpy() == chunks[0].transpose(0, 3, 1, 2)).all()
    assert images.is_contiguous()
    assert labels.tolist() == chunks[1].tolist()
    cache = folder / "cache" / "evenhand" / "svhn"
    assert [path.name for path in cache.iterdir()] == ["test_rebuilt.npy"]
    monkeypatch.setattr(_svhn, "_decode", None)  # not called again
    assert torch.equal(datasets.svhn("test")[0], images)


@pytest.mark.parametrize("damage", [
    lambda content: content[:-1],
    lambda content: b"",
    lambda content: b"no such format",
    lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    lambda content: content.replace(b"(30, 32, 32, 3)", b"(10, 96, 32, 3)"),
    lambda content: content.replace(b"|u1", b"|i1"),
])  # fmt: skip
def test_a_damaged_cache_is_made_again(chunks, folder, damage):
    expected, _ = datasets.svhn("test")
    path = folder / "cache" / "evenhand" / "svhn" / "test_rebuilt.npy"
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    assert torch.equal(datasets.svhn("test")[0], expected)
    assert path.read_bytes() == whole


def test_without_a_place_for_a_cache_nothing_is_kept(chunks, folder):
    (folder / "cache").write_text("a file where the cache should be")
    assert (datasets.svhn("test")[0].numpy() == chunks[0].transpose(0, 3, 1, 2)).all()


def test_the_original_of_svhn_goes_first(chunks, folder, monkeypatch):
    from scipy.io import savemat

    path = folder / "svhn" / "test_32x32.mat"
    original = chunks[0][::-1]
    savemat(path, {"X": original.transpose(1, 2, 3, 0), "y": np.array([[10], [1], [9]] * 10, np.uint8)})
    monkeypatch.setitem(_svhn.FILES, "test", File(path.name, sha256(path.read_bytes())))
    assert not _svhn.is_rebuilt("test")
    images, labels = datasets.svhn("test")
    assert (images.numpy() == original.transpose(0, 3, 1, 2)).all()
    assert labels.tolist() == [0, 1, 9] * 10
    assert labels.dtype == torch.int64
    assert not (folder / "cache").exists()


def test_originals_are_fetched_where_the_folder_has_nothing(folder):
    for load, name, url in (
        (datasets.svhn, "train_32x32.mat", "http://ufldl.stanford.edu/housenumbers/train_32x32.mat"),
        (datasets.mnist, "train-images-idx3-ubyte", "https://ossci-datasets.s3.amazonaws.com/mnist/train-images"),
    ):
        with pytest.raises(FileNotFoundError, match=f"{name} could not be fetched from {url}"):
            load("train")


@pytest.mark.parametrize(("path", "load"), [
    ("mnist/t10k-images.gz", datasets.mnist), ("mnist/t10k-labels.gz", datasets.mnist),
    ("svhn/test_01.xz", datasets.svhn), ("svhn/labels.npz", datasets.svhn),
])  # fmt: skip
@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_damaged_files_are_named(digits, chunks, folder, path, load, damage):
    content = (folder / path).read_bytes()
    middle = len(content) // 2
    pack = {".gz": gzip.compress, ".xz": lzma.compress, ".npz": bytes}[(folder / path).suffix]
    (folder / path).write_bytes({
        "cut": content[:middle],
        "changed": content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :],
        "other": pack(b"something else"),
    }[damage])  # fmt: skip
    with pytest.raises(ValueError, match=f"{path} .*damaged.*; delete it and load the data set again"):
        load("test")


def test_a_missing_chunk_is_named(chunks, folder):
    (folder / "svhn" / "test_01.xz").unlink()
    with pytest.raises(FileNotFoundError, match=r"test_01 cannot be fetched .*\$EVENHAND_DATA/svhn"):
        datasets.svhn("test")


def test_all_images_together_are_checked(chunks, monkeypatch):
    monkeypatch.setitem(_svhn.REBUILT, "test", "0" * 64)
    with pytest.raises(ValueError, match="The test images of SVHN should have the sha256 0{64}. Found "):
        datasets.svhn("test")


def test_the_three_are_put_together(digits, chunks):
    loaded = datasets.mnist_svhn_text("test", seed=3, repeats=4)
    assert loaded.data.names == ["mnist", "svhn", "text"]
    assert len(loaded) == len(loaded.labels) == 4 * 20
    assert [len(x) for x in loaded.data.values.values()] == [20, 30, 20]  # nothing is copied
    rows = loaded.data.rows(torch.arange(80))
    assert torch.equal(rows.values["mnist"][:, 0, 0, 0].long() % 10, loaded.labels)
    assert [text.strip() for text in read_text(rows.values["text"])] == [WORDS[label] for label in loaded.labels]
    assert chunks[1][loaded.data.index["svhn"]].tolist() == loaded.labels.tolist()
    assert loaded.data.index["svhn"].max() < 20  # two of every digit
    assert loaded.name == "mnist_svhn_text"
    assert "non-commercial" in loaded.licence
    assert "rebuilt from format 1" in loaded.note
    limited = datasets.mnist_svhn_text("test", repeats=1, max_per_digit=1)
    assert limited.data.index["mnist"].tolist() == list(range(10))


def test_the_three_are_determined_by_the_seed(digits, chunks):
    one, same, other = (datasets.mnist_svhn_text("test", seed=seed).data for seed in (0, 0, 1))
    assert torch.equal(one.values["text"], same.values["text"])
    assert not torch.equal(one.values["text"], other.values["text"])
    for name in one.names:
        assert torch.equal(one.index[name], same.index[name])
        assert not torch.equal(one.index[name], other.index[name])


@pytest.mark.parametrize("load", [
    datasets.mnist, datasets.svhn, datasets.mnist_svhn_text, datasets.digits_in_three,
])  # fmt: skip
def test_there_are_two_splits(load):
    with pytest.raises(ValueError, match="split should be one of 'train', 'test'. Found 'validation'."):
        load("validation")


@pytest.mark.parametrize(("load", "argument"), [
    (datasets.mnist_svhn_text, "repeats"), (datasets.mnist_svhn_text, "max_per_digit"),
    (datasets.digits_in_three, "repeats"),
])  # fmt: skip
def test_numbers_should_be_positive(load, argument):
    with pytest.raises(ValueError, match=f"{argument} should be an integer >= 1. Found 0."):
        load("test", **{argument: 0})


@pytest.mark.parametrize("module", [_mnist, _svhn])
def test_every_file_tells_its_source_and_checksum(module):
    sums = [file.sha256 for file in module.FILES.values()]
    if module is _svhn:
        sums += [module.LABELS.sha256, *module.REBUILT.values()]
    assert all(len(found) == 64 and found in module.__doc__ for found in sums)
    assert "Licence" in module.__doc__
    assert "non-commercial" in _svhn.svhn.__doc__


# --- the files themselves


@pytest.fixture
def images_folder(data_folder, tmp_path, monkeypatch):
    if not ((data_folder / "mnist").is_dir() and (data_folder / "svhn" / "labels.npz").is_file()):
        pytest.skip("no folders mnist and svhn")
    monkeypatch.setitem(sys.modules, "pooch", Pooch(tmp_path, None))


def test_the_published_test_rows(images_folder):
    loaded = datasets.mnist_svhn_text("test")
    assert len(loaded) == 200_000
    assert {name: tuple(x.shape) for name, x in loaded.data.values.items()} == {
        "mnist": (10_000, 1, 28, 28), "svhn": (26_032, 3, 32, 32), "text": (10_000, 8),
    }  # fmt: skip
    numbers = _svhn._rebuilt_labels("test")[loaded.data.index["svhn"]]
    digits = _mnist.mnist_labels("test")[loaded.data.index["mnist"]]
    assert (numbers == digits.numpy()).all()
    assert torch.equal(digits, loaded.labels)
    some = torch.arange(0, 200_000, 199)
    words = [text.strip() for text in read_text(loaded.data.rows(some).values["text"])]
    assert words == [WORDS[label] for label in loaded.labels[some]]


def test_the_published_number_of_training_rows(images_folder):
    numbers = torch.from_numpy(_svhn._rebuilt_labels("train").astype(np.int64))
    left, right = pair(_mnist.mnist_labels("train"), numbers, repeats=20, limit=10_000, generator=seeded())
    assert len(left) == len(right) == 1_121_360
    rows = LabelledModalities(Modalities({"row": torch.arange(len(left))}), left, "rows", "", "")
    assert [len(part) for part in split_pairs(rows)] == [1_009_224, 112_136]


# --- the stand-in


@pytest.fixture(scope="module")
def three():
    return {split: datasets.digits_in_three(split) for split in ("train", "test")}


@pytest.mark.parametrize(("split", "n"), [("train", 1442), ("test", 355)])
def test_sizes_of_the_stand_in(three, split, n):
    data = three[split].data
    assert {name: (x.dtype, tuple(x.shape)) for name, x in data.values.items()} == {
        "digit": (torch.uint8, (n, 1, 8, 8)),
        "colour": (torch.uint8, (n, 3, 16, 16)),
        "text": (torch.int64, (n, 8)),
    }
    assert len(three[split]) == 5 * n
    assert len(datasets.digits_in_three(split, repeats=2)) == 2 * n
    counts = three[split].labels.bincount()
    assert len(counts) == 10
    assert counts.max() < 1.07 * counts.min()
    assert set(data.values["digit"].unique().tolist()) == {round(i * 255 / 16) for i in range(17)}


@pytest.mark.parametrize("split", ["train", "test"])
def test_rows_of_the_stand_in_show_one_digit_and_two_images(three, split):
    data, labels = three[split].data, three[split].labels
    _, of_images = small_digits(split)
    for name in data.names:
        assert torch.equal(of_images[data.index[name]], labels)
        assert torch.equal(data.index[name].bincount(), torch.full((len(of_images),), 5))
    assert (data.index["digit"] != data.index["colour"]).all()
    assert torch.equal(data.index["text"], data.index["digit"])
    pairs = torch.stack([data.index["digit"], data.index["colour"]]).unique(dim=1)
    assert pairs.shape[1] > 0.9 * len(labels)  # every round pairs anew
    words = read_text(data.values["text"])
    assert [word.strip() for word in words] == [WORDS[label] for label in of_images]


def test_no_test_image_is_for_training(three):
    from sklearn.datasets import load_digits

    train, test = ({tuple(x.flatten().tolist()) for x in three[s].data.values["digit"]} for s in ("train", "test"))
    every = {tuple(x.flatten().tolist()) for x in (load_digits().images * 255 / 16).round().astype(int)}
    assert not train & test
    assert train | test == every


def test_the_stand_in_is_determined_by_the_seed(three):
    same, other = (datasets.digits_in_three(seed=seed).data for seed in (0, 1))
    data = three["train"].data
    for name in data.names:
        assert torch.equal(data.values[name], same.values[name])
        assert torch.equal(data.index[name], same.index[name])
        assert not torch.equal(data.index[name], other.index[name])
        assert torch.equal(data.values[name], other.values[name]) == (name == "digit")


def test_colours_have_contrast_and_either_is_lighter():
    back, front = in_three._colours(2000, np.random.default_rng(0))
    difference = (front - back) @ in_three.LUMINANCE
    assert abs(difference).min() >= in_three.CONTRAST
    assert (difference > 0).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("arguments", "expected"), [
    ({}, (-3, 0)),
    ({"move": (1, -2)}, (-2, -2)),
    ({"turn": np.pi / 2}, (0, 3)),  # clockwise
    ({"shear": 1 / 3}, (-3, 1)),
    ({"size": 2.0}, (-6, 0)),
    ({"size": 2.0, "move": (1, 0)}, (-5, 0)),
])  # fmt: skip
def test_views_are_moved_turned_sheared_and_enlarged(arguments, expected):
    image = np.zeros((1, 8, 8))
    image[0, 0:2, 3:5] = 1  # a dot, three pixels above the centre
    move, turn, shear, size = ({"move": (0, 0), "turn": 0.0, "shear": 0.0, "size": 1.0} | arguments).values()
    ink = in_three._view(image, np.array(move, float)[:, None], *np.array([[turn], [shear], [size]]))[0]
    centre = (ink * (np.mgrid[:16, :16] - 7.5)).sum((1, 2)) / ink.sum()
    assert ink.shape == (16, 16)
    assert centre == pytest.approx(np.array(expected), abs=0.3)


def test_neighbours_stand_at_both_sides():
    images = np.zeros((1000, 8, 8))
    images[500:, :, 1:7] = 1
    views = in_three.coloured(images, np.random.default_rng(0))[:500].astype(int)  # blank in the middle
    middle = np.median(views[..., 6:10], axis=(2, 3), keepdims=True)
    seen = abs(views - middle).max(1) > 6 * 255 * in_three.NOISE
    assert not seen[..., 6:10].any()
    for border in (0, 15):
        assert 0.3 < seen[..., border].any(1).mean() < 0.55  # half of the neighbours are blank, some too far off


def test_both_images_can_be_recognised(three):
    from sklearn.svm import SVC

    def items(split, name):
        x = three[split].data.values[name].double().flatten(2).mean(1)  # grey
        x = x - x.mean(1, keepdim=True)
        return (x / x.norm(dim=1, keepdim=True)).numpy(), small_digits(split)[1].numpy()

    for name, least in (("digit", 0.95), ("colour", 0.85)):
        assert SVC(C=10).fit(*items("train", name)).score(*items("test", name)) > least
