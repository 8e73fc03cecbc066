"""Who works on a file works alone."""

import threading

import pytest

from evenhand.common import _lock, locked_file


@pytest.mark.skipif(_lock.fcntl is None, reason="processes are not kept apart there")
def test_one_at_a_time(tmp_path):
    path, order = tmp_path / "lock", []
    with locked_file(path) as file:
        file.write("1")
        with pytest.raises(BlockingIOError), locked_file(path):
            pass

        def wait():
            with locked_file(path, wait=True):
                order.append("the other")

        other = threading.Thread(target=wait)
        other.start()
        other.join(0.1)
        assert other.is_alive()
        order.append("the first")
    other.join()
    assert order == ["the first", "the other"]
    with locked_file(path):
        assert path.read_text() == "1"


def test_where_files_cannot_be_locked_nothing_is_kept_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(_lock, "fcntl", None)
    with locked_file(tmp_path / "lock"), locked_file(tmp_path / "lock") as file:
        assert not file.closed
