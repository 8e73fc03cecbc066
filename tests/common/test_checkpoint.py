"""A checkpoint is whole and of the same training, or it is refused in words."""

import pytest
import torch

from evenhand.common import read_checkpoint, write_checkpoint

STATE = {"settings": {"networks": "x"}, "weights": torch.arange(100.0), "history": [{"bound": 1.5}]}


def test_what_is_written_is_read(tmp_path):
    write_checkpoint(tmp_path, STATE)
    found = read_checkpoint(tmp_path, {"networks": "x"})
    assert torch.equal(found["weights"], STATE["weights"])
    assert found["history"] == STATE["history"]
    assert torch.load(tmp_path / "checkpoint.pt")["history"] == STATE["history"]  # torch itself reads it too
    assert read_checkpoint(tmp_path / "nothing", {}) is None


def test_a_flipped_bit_is_named(tmp_path):
    write_checkpoint(tmp_path, STATE)
    path = tmp_path / "checkpoint.pt"
    content = path.read_bytes()
    place = content.index(STATE["weights"].numpy().tobytes()) + 200
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(ValueError, match=r"checkpoint.pt should be .*damaged.*\(the checksum differs\). Delete it"):
        read_checkpoint(tmp_path, {})


def test_one_without_a_checksum_is_read(tmp_path):
    """As those of 0.1.0 are."""
    write_checkpoint(tmp_path, STATE)
    path = tmp_path / "checkpoint.pt"
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b"evenhand-sha256:")])
    assert read_checkpoint(tmp_path, {})["history"] == STATE["history"]


def test_of_long_settings_the_part_that_differs_is_shown(tmp_path):
    layers = [f"{i}: Linear(16, 16)" for i in range(20)]
    write_checkpoint(tmp_path, {"settings": {"networks": "; ".join([*layers, "20: Tanh()"])}})
    with pytest.raises(ValueError, match=r"networks should be '20: Tanh\(\)', as it was .* Found '20: ReLU\(\)'\."):
        read_checkpoint(tmp_path, {"networks": "; ".join([*layers, "20: ReLU()"])})
    with pytest.raises(ValueError, match=r"networks should be '20: Tanh\(\)', as it was .* Found 'nothing more'\."):
        read_checkpoint(tmp_path, {"networks": "; ".join(layers)})
