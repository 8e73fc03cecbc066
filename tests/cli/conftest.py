"""A tiny table of a stranger, and the command line to try on it."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from evenhand.cli._app import app
from evenhand.common import Heartbeat, _progress

from ..datasets.conftest import data_folder  # noqa: F401  # a fixture

ROWS = 60
MARKUP = "[bold red]age[/bold red]"
STEERING = "in\x1b[31mcome"
FAST = ("--method", "sum", "--kl-weight", "0.3", "--epochs", "1", "--device", "cpu")


@pytest.fixture(autouse=True, scope="package")
def _nothing_takes_long():
    """On a busy machine too: what is said of long work is tested in tests/common/test_progress.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_progress, "MOMENTS", (600.0,))
        patch.setattr(Heartbeat.__init__, "__kwdefaults__", {"first": 600.0})
        patch.setattr(_progress, "MOMENTS", (600.0,))
        yield


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Type a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENHAND_DEBUG", raising=False)
    runner = CliRunner()
    return lambda *args: runner.invoke(app, [str(arg) for arg in args], prog_name="evenhand")


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, ROWS)
    frame = pd.DataFrame(
        {
            MARKUP: age.astype(float),
            STEERING: np.exp(7 + age / 40 + 0.3 * rng.normal(size=ROWS)),
            "region": np.where(age > 50, "north", rng.choice(["south", "west"], ROWS)),
            "constant": 1,
        }
    )
    holes = rng.random(frame.shape) < 0.1
    holes[:, 3] = False
    return frame.mask(holes)


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "people.csv"
    make_frame().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def runs(table, tmp_path_factory):
    """A folder with a finished comparison, and what the command printed."""
    folder = tmp_path_factory.mktemp("runs")
    command = ["compare", str(table), "--seeds", "2", "--steps", "10", "--methods", "imtlg", "--out", str(folder)]
    result = CliRunner().invoke(app, command, prog_name="evenhand")
    assert result.exit_code == 0, result.stderr
    return folder, command, result


@pytest.fixture(scope="session")
def model(table, tmp_path_factory):
    """A saved model, the filled table, and what the command printed."""
    folder = tmp_path_factory.mktemp("model")
    out, saved = folder / "filled.csv", folder / "model.safetensors"
    command = ["impute", str(table), "-o", str(out), "--save-model", str(saved), *FAST]
    result = CliRunner().invoke(app, command, prog_name="evenhand")
    assert result.exit_code == 0, result.stderr
    return saved, out, result
