import pytest
import torch

from evenhand.modalities.rows import Modalities


@pytest.fixture
def three():
    """Five rows of three modalities: images shared by rows, text by row, and a number that some rows lack."""
    return Modalities(
        {
            "image": torch.arange(24, dtype=torch.uint8).reshape(3, 2, 2, 2),
            "text": torch.arange(10).reshape(5, 2),
            "number": torch.arange(7.0),
        },
        index={"image": torch.tensor([2, 0, 0, 1, 2]), "number": torch.tensor([6, 5, 4, 3, 2])},
        observed={"number": torch.tensor([True, False, True, True, False])},
    )


def test_rows_and_names(three):
    assert len(three) == 5
    assert three.names == ["image", "text", "number"]


def test_a_batch_is_gathered(three):
    batch = three.rows(torch.tensor([4, 1]))
    assert len(batch) == 2
    assert batch.index == {}
    assert batch.names == three.names
    assert batch.values["image"].dtype == torch.uint8
    assert torch.equal(batch.values["image"], three.values["image"][[2, 0]])
    assert batch.values["text"].tolist() == [[8, 9], [2, 3]]
    assert batch.values["number"].tolist() == [2.0, 5.0]
    assert batch.observed["number"].tolist() == [False, False]
    assert three.rows(torch.tensor([0])).observed["number"].tolist() == [True]


def test_a_subset_copies_no_item(three):
    part = three.subset(torch.tensor([3, 1, 1]))
    assert len(part) == 3
    for name, x in three.values.items():
        assert part.values[name] is x
    assert part.index["image"].tolist() == [1, 0, 0]
    assert part.index["text"].tolist() == [3, 1, 1]
    assert part.index["number"].tolist() == [3, 5, 5]
    assert part.observed["number"].tolist() == [True, False, False]


def test_a_subset_of_a_subset_and_its_rows(three):
    chosen = three.subset(torch.tensor([3, 1, 4])).subset(torch.tensor([2, 0]))
    gathered, straight = chosen.rows(torch.tensor([0, 1])), three.rows(torch.tensor([4, 3]))
    for name in three.names:
        assert torch.equal(gathered.values[name], straight.values[name])
    assert torch.equal(gathered.observed["number"], straight.observed["number"])


def test_rows_by_mask(three):
    mask = three.observed["number"]
    plain = three.only(["text"]).rows(mask)
    assert plain.values["text"].tolist() == [[0, 1], [4, 5], [6, 7]]


def test_some_modalities(three):
    part = three.only(["number", "text"])
    assert part.names == ["number", "text"]
    assert set(part.index) == {"number"}
    assert set(part.observed) == {"number"}
    assert len(part) == 5
    assert three.only(["text"]).mask() is None
    with pytest.raises(ValueError, match="values should hold at least one modality. Found none."):
        three.only([])


def test_the_mask_has_a_column_for_every_modality(three):
    expected = torch.ones(5, 3, dtype=torch.bool)
    expected[[1, 4], 2] = False
    assert torch.equal(three.mask(), expected)
    assert Modalities(three.values, three.index).mask() is None


def test_moving_moves_everything(three):
    moved = three.to("meta")
    parts = (moved.values, moved.index, moved.observed)
    assert [list(part) for part in parts] == [list(p) for p in (three.values, three.index, three.observed)]
    assert all(x.device.type == "meta" for part in parts for x in part.values())
    assert moved.mask().device.type == "meta"
    assert three.values["text"].device.type == "cpu"


def test_bytes_are_those_of_items_and_index(three):
    assert three.n_bytes == 24 * 1 + 10 * 8 + 7 * torch.get_default_dtype().itemsize + 2 * 5 * 8
    million = torch.zeros(1_000_000, dtype=torch.long)
    image = torch.zeros(1, 3, 32, 32, dtype=torch.uint8)
    assert Modalities({"image": image}, {"image": million}).n_bytes == 3072 + 8_000_000


def test_modalities_should_exist():
    with pytest.raises(ValueError, match="values should hold at least one modality. Found none."):
        Modalities({})


@pytest.mark.parametrize("what", ["index", "observed"])
def test_unknown_modalities_are_named(what):
    message = rf"{what} should be about the modalities 'a', 'b'. Found 'c'."
    with pytest.raises(ValueError, match=message):
        Modalities({"a": torch.zeros(2), "b": torch.zeros(2)}, **{what: {"c": torch.ones(2, dtype=torch.bool)}})


def test_lengths_should_agree():
    message = "All modalities should have the same number of rows. Found: 'a' has 2, 'b' has 3."
    with pytest.raises(ValueError, match=message):
        Modalities({"a": torch.zeros(2), "b": torch.zeros(3)})
    with pytest.raises(ValueError, match="'a' has 4, 'b' has 3."):
        Modalities({"a": torch.zeros(2), "b": torch.zeros(3)}, {"a": torch.zeros(4, dtype=torch.long)})
    assert len(Modalities({"a": torch.zeros(2), "b": torch.zeros(3)}, {"a": torch.tensor([0, 1, 1])})) == 3


@pytest.mark.parametrize(("mask", "found"), [
    (torch.ones(2), r"torch.float\d\d of shape \[2\]"),
    (torch.ones(3, dtype=torch.bool), r"torch.bool of shape \[3\]"),
    (torch.ones(2, 1, dtype=torch.bool), r"torch.bool of shape \[2, 1\]"),
])  # fmt: skip
def test_masks_should_be_boolean_and_fit(mask, found):
    message = rf"observed\['a'\] should be boolean with one answer for each of 2 rows. Found {found}."
    with pytest.raises(ValueError, match=message):
        Modalities({"a": torch.zeros(2)}, observed={"a": mask})


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([0, 3], r"index\['a'\] should be between 0 and 2, for 3 items. Found 0 to 3"),
        ([-1, 2], r"index\['a'\] should be between 0 and 2, for 3 items. Found -1 to 2"),
        ([0.0, 1.0], r"index\['a'\] should hold one whole number for every row. Found torch.float64 of shape \[2\]"),
        ([True, False], r"index\['a'\] should hold one whole number"),
        ([[0, 1]], r"index\['a'\] should hold one whole number"),
    ],
)
def test_an_index_points_at_items(index, message):
    with pytest.raises(ValueError, match=message):
        Modalities({"a": torch.zeros(3, 2)}, index={"a": torch.tensor(index)})
