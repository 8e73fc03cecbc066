"""A file of tensors is whole, described, and never code."""

import pytest
import torch
from torch import nn

from evenhand.common import read_tensors, write_tensors


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"x": torch.arange(6.0).reshape(2, 3).mT, "n": torch.tensor([1, 2])}
    write_tensors(path, tensors, {"format": 1, "names": ["ä"]})
    found, about = read_tensors(path)
    assert about == {"format": 1, "names": ["ä"]}
    assert {name: (x.dtype, x.tolist()) for name, x in found.items()} == {
        name: (x.dtype, x.tolist()) for name, x in tensors.items()
    }


def test_equal_tensors_make_equal_files(tmp_path):
    paths = [tmp_path / f"{i}.safetensors" for i in range(8)]
    for path in paths:
        write_tensors(path, {"x": torch.arange(3.0), "none": torch.zeros(0, 5)}, {"format": 1, "b": [1.5], "a": "ü"})
    assert len({path.read_bytes() for path in paths}) == 1
    assert read_tensors(paths[0])[0]["none"].shape == (0, 5)


def test_modules_may_share_weights(tmp_path):
    layer = nn.Linear(2, 2)
    write_tensors(tmp_path / "a.safetensors", nn.Sequential(layer, layer).state_dict(), {})
    assert len(read_tensors(tmp_path / "a.safetensors")[0]) == 4


def test_a_file_of_others_has_no_description(tmp_path):
    from safetensors.torch import save_file

    save_file({"x": torch.zeros(1)}, tmp_path / "b.safetensors")
    assert read_tensors(tmp_path / "b.safetensors")[1] is None


def test_a_damaged_file_is_refused_and_the_old_one_stays(tmp_path):
    path = tmp_path / "a.safetensors"
    write_tensors(path, {"x": torch.zeros(100)}, {})
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match="should be a whole file that save"):
        read_tensors(path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_tensors(path, {"x": torch.zeros(1)}, {"no JSON": object()})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="Found nothing at"):
        read_tensors(tmp_path / "no")
    with pytest.raises(FileNotFoundError, match="should be in a folder that exists"):
        write_tensors(tmp_path / "no" / "a", {}, {})


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"x": torch.linspace(0, 1, 50), "flag": torch.tensor(True), "half": torch.ones(3, dtype=torch.bfloat16)}
    write_tensors(path, {**tensors, "empty": torch.empty(0, 2)}, {"name": "weights"})
    return path


def test_a_flipped_bit_is_named(written):
    """Wherever it is: in the numbers, their names and types, or the description."""
    content = written.read_bytes()
    read_tensors(written)
    refused = 0
    for place in range(8, len(content)):
        written.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        try:
            tensors, about = read_tensors(written)
        except ValueError:
            refused += 1
        else:  # the name of the checksum or of the description, or blanks around the header: numbers are right
            assert torch.equal(tensors["x"], torch.linspace(0, 1, 50))
            assert about is None or about["name"] == "weights"
    assert refused > 0.9 * len(content)
    numbers = content.index(torch.linspace(0, 1, 50).numpy().tobytes())
    written.write_bytes(content[: numbers + 40] + b"\0" + content[numbers + 41 :])
    with pytest.raises(ValueError, match=r"the checksum differs\). Take another copy"):
        read_tensors(written)


def test_a_file_without_a_checksum_is_read(written):
    """As those of 0.1.0 are."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(written)
    save_file(tensors, written, metadata={"evenhand": '{"name": "weights"}'})
    assert read_tensors(written)[1] == {"name": "weights"}
