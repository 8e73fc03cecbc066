"""Files are replaced by whole ones only."""

import pytest

from evenhand.common import whole_file


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
