"""CUB image-captions, from a small folder that is made here in the published layout."""

import pytest
import torch
from PIL import Image

from evenhand import MultimodalVAE, datasets
from evenhand.datasets import CATALOGUE, Vocabulary
from evenhand.datasets._cub import END, PADDING, UNKNOWN, _captions

SPECIES = {"train": ("002.Laysan_Albatross", "010.Red_winged_Blackbird"), "test": ("001.Black_footed_Albatross",)}
TEXTS = {"train": "text_trainvalclasses.txt", "test": "text_testclasses.txt"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two photographs of every species; the shade and the captions tell which."""
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    for split, species in SPECIES.items():
        captions = []
        for i, name in enumerate(species):
            place = tmp_path / "cub" / split / name
            place.mkdir(parents=True)
            for j in range(2):
                Image.new("RGB", (90, 70), (100 * i + 10 * j, 0, 0)).save(place / f"bird_{j}.png")
                captions += [f"A bird of shade {100 * i + 10 * j}, number {k}." for k in range(10)]
        (tmp_path / "cub" / TEXTS[split]).write_text("\n".join(captions) + "\n")
    return tmp_path / "cub"


@pytest.mark.usefixtures("folder")
def test_a_row_is_a_caption_and_its_photograph():
    rows = datasets.cub("train")
    assert len(rows) == 40
    assert {name: (x.dtype, *x.shape) for name, x in rows.data.values.items()} == {
        "image": (torch.uint8, 4, 3, 64, 64),  # every photograph once
        "caption": (torch.int64, 40, 32),
    }
    batch = rows.data.rows(torch.arange(40))
    shades = batch.values["image"][:, 0, 0, 0].tolist()
    captions = datasets.cub_vocabulary().read(batch.values["caption"])
    assert captions == [f"a bird of shade {shade} , number {i % 10} ." for i, shade in enumerate(shades)]
    assert sorted(set(shades)) == [0, 10, 100, 110]
    assert rows.labels is None
    assert "no labels" in rows.note


@pytest.mark.usefixtures("folder")
def test_words_of_both_splits_are_those_of_training():
    words = datasets.cub_vocabulary()
    assert len(datasets.cub("test")) == 20
    assert words.read(datasets.cub("test").data.values["caption"])[0] == "a bird of shade 0 , number 0 ."


def test_where_it_is(folder):
    entry = CATALOGUE["cub"]
    assert entry.place == "folder"
    (folder / TEXTS["test"]).unlink()
    assert entry.place == "not here"
    with pytest.raises(FileNotFoundError, match="Found no text_testclasses.txt in .*unpack what http://www.robots"):
        datasets.cub("train")


def test_ten_captions_for_every_photograph(folder):
    (folder / "train" / SPECIES["train"][0] / "bird_1.png").unlink()
    with pytest.raises(ValueError, match=r"should have 10 lines for each of the 3 photographs in .*Found 40"):
        datasets.cub("train")


def test_a_folder_without_photographs_is_refused(folder):
    for path in folder.glob("test/*/*"):
        path.unlink()
    (folder / TEXTS["test"]).write_text("")
    with pytest.raises(ValueError, match="each of the 0 photographs"):
        datasets.cub("test")


def test_damaged_photographs_are_named(folder):
    path = folder / "test" / SPECIES["test"][0] / "bird_0.png"
    path.write_bytes(b"no photograph")
    with pytest.raises(ValueError, match=r"bird_0.png is damaged .*; unpack the data set again."):
        datasets.cub("test")


def test_captions_are_cut_ended_and_padded():
    words = Vocabulary.of(["red red blue", "blue red green"])
    assert words.symbols == (UNKNOWN, PADDING, END, "red", "blue", "green")
    short, long = words.codes(["Green yellow", "red " * 40])
    assert short.tolist() == [5, 0, 2] + [1] * 29
    assert long.tolist() == [3] * 31 + [2]
    assert words.read(torch.stack([short, long])) == [f"green {UNKNOWN}", " ".join(["red"] * 31)]
    assert words.read(torch.full((1, 32), 1599)) == [" ".join([UNKNOWN] * 32)]  # a code that no word has
    assert words.codes([]).shape == (0, 32)


def test_only_the_most_frequent_words_have_codes(monkeypatch):
    monkeypatch.setattr(_captions, "N_SYMBOLS", 5)
    assert Vocabulary.of(["a b b c c c", "d d d d"]).symbols[3:] == ("d", "c")


@pytest.mark.usefixtures("folder")
def test_it_trains_with_default_networks():
    dataset = datasets.multimodal("cub")
    model = MultimodalVAE(dataset.make_modalities(), n_latent=4, objective="siwae", n_samples=1)
    model.fit(dataset.load("test", seed=0).data, epochs=1, batch_size=10, device="cpu", verbose=False)
    assert model.core.expert_names == ["image", "caption"]
    with pytest.raises(ValueError, match="n_layers should be 1"):
        dataset.make_modalities(n_layers=2)
