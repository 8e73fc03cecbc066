"""The examples of trainers run, and the three that train the same network print the same table."""

import runpy
import sys
from pathlib import Path

import pytest
import torch
from accelerate.state import AcceleratorState

FOLDER = Path(__file__).parents[2] / "examples" / "trainers"
SAME = ["plain_loop.py", "with_accelerate.py", "with_lightning.py"]
OTHERS = ["with_hugging_face.py"]

pytestmark = pytest.mark.filterwarnings("ignore")  # what trainers say about themselves


@pytest.fixture
def printed_by(capsys, monkeypatch):
    """What an example prints, line by line and word by word."""

    def run(name, *arguments):
        torch.set_default_dtype(torch.float32)
        AcceleratorState._reset_state(reset_partial_state=True)  # what the example before has left in this process
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        monkeypatch.syspath_prepend(FOLDER)
        runpy.run_path(str(FOLDER / name), run_name="__main__")
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    return run


def test_one_network_in_three_trainers(printed_by):
    tables = [printed_by(name, "--epochs", "2", "--rows", "2000") for name in SAME]
    assert tables[0] == tables[1] == tables[2]
    rows = {name: [float(x.rstrip("%")) for x in numbers] for name, *numbers in tables[0][2:]}
    assert list(rows) == ["carat", "depth", "table", "price", "x"]
    assert rows["price"][0] > 99  # per cent of the gradient, in plain training
    assert all(15 < share < 25 for _, _, share, _ in rows.values())


def test_hugging_face(printed_by):
    table = printed_by("with_hugging_face.py", "--epochs", "2", "--rows", "300")
    plain, impartial = ([float(x.rstrip("%")) for x in numbers] for _, *numbers in table[2:])
    assert plain[0] < 10
    assert impartial[:2] == pytest.approx([50, 50], abs=0.1)


def test_every_example_is_tested():
    assert {p.name for p in FOLDER.glob("[!_]*.py")} == {*SAME, *OTHERS}
