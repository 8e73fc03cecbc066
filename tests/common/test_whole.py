"""Files are replaced by whole ones only."""

import os

import pytest
import torch

from evenhand.common import whole_file, write_tensors


def test_old_files_are_replaced_by_whole_ones_only(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")

    def write_half():
        with whole_file(path) as partial:
            partial.write_text("ha")
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        write_half()
    assert path.read_text() == "old"
    with whole_file(path) as partial:
        partial.write_text("new")
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="files of Windows have other rights")
def test_who_may_read_a_file_does_not_change(tmp_path):
    usual, old, tensors = (tmp_path / name for name in ("usual", "old", "tensors"))
    usual.touch()
    old.touch(mode=0o640)
    with whole_file(old) as partial:
        partial.write_text("new")
    assert old.stat().st_mode & 0o777 == 0o640
    write_tensors(tensors, {"x": torch.zeros(1)}, {})
    assert tensors.stat().st_mode == usual.stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "data").mkdir()
    real, link = tmp_path / "data" / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    with whole_file(link) as partial:
        partial.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert [p.name for p in real.parent.iterdir()] == ["real.csv"]
