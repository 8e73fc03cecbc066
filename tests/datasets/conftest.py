"""Data sets are tested where their files are: in the folder EVENHAND_DATA or beside the repository."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def data_folder(monkeypatch):
    folder = Path(os.environ.get("EVENHAND_DATA", BESIDE))
    if not folder.is_dir():
        pytest.skip("no data: EVENHAND_DATA names no folder")
    monkeypatch.setenv("EVENHAND_DATA", str(folder))
    return folder
