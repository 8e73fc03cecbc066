"""Digits in five modalities: PolyMNIST's construction over what scikit-learn brings."""

import numpy as np
import pytest
import torch

from evenhand import MultimodalVAE, datasets
from evenhand.datasets._digits_in_five import _rows as in_five
from evenhand.datasets._small_digits import small_digits


@pytest.fixture(scope="module")
def five():
    return {split: datasets.digits_in_five(split) for split in ("train", "test")}


@pytest.mark.parametrize(("split", "n"), [("train", 1442), ("test", 355)])
def test_rows_have_five_images_of_a_digit(five, split, n):
    rows = five[split]
    assert {name: (x.dtype, tuple(x.shape)) for name, x in rows.data.values.items()} == {
        f"m{i}": (torch.uint8, (2 * n, 3, 8, 8)) for i in range(5)
    }
    assert torch.equal(rows.labels.bincount(), 2 * small_digits(split)[1].bincount())
    assert (rows.labels.diff() >= 0).all()
    assert len(datasets.digits_in_five(split, repeats=1)) == n


def test_pixels_of_the_digit_invert_the_background():
    strokes = np.zeros((3, 8, 8), bool)
    strokes[:, 2:6, 3] = True
    photograph = np.arange(9 * 10 * 3, dtype=np.uint8).reshape(9, 10, 3)
    made = in_five.pasted(strokes, photograph, np.random.default_rng(0))
    for image in made:
        behind = np.where(strokes[0], 255 - image, image).transpose(1, 2, 0)
        places = [(i, j) for i in range(2) for j in range(3) if (photograph[i : i + 8, j : j + 8] == behind).all()]
        assert len(places) == 1  # one piece of the photograph, as it is


def test_backgrounds_share_no_pixel():
    seen = {file: np.zeros((427, 640), int) for file, _, _ in in_five.REGIONS.values()}
    for name, (file, rows, columns) in in_five.REGIONS.items():
        seen[file][rows, columns] += 1
        assert in_five.background(name).shape == (*seen[file][rows, columns].shape, 3)
    assert all(times.max() == 1 for times in seen.values())


def test_every_image_shows_the_digit_of_its_row(five):
    """What is far from the background in grey has the shape of a digit: the most similar one tells which."""
    rows = five["test"]
    images, digits = small_digits("test")
    strokes = torch.from_numpy(images > in_five.INK).flatten(1).float()
    for name, x in rows.data.values.items():
        grey = x.float().flatten(2).mean(1)
        far = (grey - grey.median(1, keepdim=True).values).abs()
        likeness = (far - far.mean(1, keepdim=True)) @ (strokes - strokes.mean(1, keepdim=True)).T / strokes.std(1)
        right = (digits[likeness.argmax(1)] == rows.labels).float().mean()
        assert right > (0.5 if name == "m4" else 0.8), name  # the inverse of orange is as light as orange


def test_rows_belong_to_the_seed(five):
    same, other = (datasets.digits_in_five(seed=seed).data.values for seed in (0, 1))
    for name, x in five["train"].data.values.items():
        assert torch.equal(x, same[name])
        assert not torch.equal(x, other[name])


def test_images_of_a_row_are_chosen_apart():
    """Otherwise a row would show the same strokes five times."""
    rng = np.random.default_rng(0)
    digits = small_digits("test")[1].numpy()
    one, other = (in_five._shuffled_within_digits(digits, 2, rng) for _ in range(2))
    assert (digits[one] == digits[other]).all()
    assert (one != other).mean() > 0.9
    assert (np.bincount(one) == 2).all()


def test_it_trains_with_all_subsets():
    dataset = datasets.multimodal("digits_in_five")
    rows = dataset.load("test", seed=0).subset(torch.arange(0, 710, 10))
    model = MultimodalVAE(
        dataset.make_modalities(), n_latent=dataset.n_latent, experts="mixture-of-products", objective="siwae",
        n_samples=1,
    )  # fmt: skip
    model.fit(rows.data, epochs=1, batch_size=32, device="cpu", verbose=False)
    assert len(model.core.expert_names) == 31
    assert model.predict(rows.data.only(["m0", "m3"]), "m4")["m4"].shape == (71, 3, 8, 8)


def test_networks_belong_to_the_seed():
    one, same, other = (datasets.digits_in_five_modalities(seed=seed)["m2"].encoder for seed in (3, 3, 4))
    x = torch.rand(2, 3, 8, 8)
    assert torch.equal(one(x), same(x))
    assert not torch.equal(one(x), other(x))


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="split should be one of 'train', 'test'"):
        datasets.digits_in_five("validation")
    with pytest.raises(ValueError, match="repeats should be an integer >= 1. Found 0."):
        datasets.digits_in_five(repeats=0)
