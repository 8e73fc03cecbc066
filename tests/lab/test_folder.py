"""The directory of a run: whole files, one worker at a time, and nothing of others is ever deleted."""

import json
import os
import signal
import subprocess
import sys

import pytest

from evenhand.lab._config import Data, TableExperiment, Training, hash_of, to_toml
from evenhand.lab._folder import Folder, open_folder
from evenhand.lab.results import read_reports

CONFIG = TableExperiment(Data("hi"))
HOLD = """
import sys, time
from evenhand.lab import read_config, Folder
with Folder(sys.argv[1], read_config(sys.argv[2])).locked():
    print("locked", flush=True)
    time.sleep(120)
"""


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "deep" / "runs", CONFIG)


def finished(folder):
    folder.begin()
    folder.write_json("report.json", {"error": 0.5})
    folder.finish()
    return folder


# ---------------------------------------------------------------- states


def test_a_directory_is_called_by_name_and_hash(folder):
    assert folder.path.name == f"hi-vae-elbo-{hash_of(CONFIG)}"
    assert not folder.path.exists()  # to look is not to make
    other = Folder(folder.path.parent, TableExperiment(Data("hi"), training=Training(epochs=3)))
    assert other.path != folder.path


def test_states_follow_each_other(folder):
    assert folder.state == "not begun"
    folder.begin()
    assert folder.state == "started"
    assert (folder.path / "config.toml").read_text() == to_toml(CONFIG)
    (folder.path / "checkpoint.pt").write_bytes(b"1")
    folder.write_json("report.json", {"error": 0.5})
    assert folder.state == "started"
    folder.finish()
    assert folder.state == "done"
    assert not (folder.path / "checkpoint.pt").exists()
    assert folder.report() == {"error": 0.5}


def test_the_config_is_written_once(folder):
    folder.begin()
    (folder.path / "config.toml").write_text(to_toml(CONFIG) + "# a note\n")
    folder.begin()
    assert (folder.path / "config.toml").read_text().endswith("# a note\n")


def test_the_report_of_an_unfinished_run_is_refused(folder):
    with pytest.raises(FileNotFoundError, match="should hold a finished run. It is not begun; run it to its end"):
        folder.report()
    folder.begin()
    folder.write_json("report.json", {"error": 0.5})
    with pytest.raises(FileNotFoundError, match="should hold a finished run. It is started"):
        folder.report()
    assert read_reports(folder.path.parent) == []


def test_done_is_said_last(folder, monkeypatch):
    """Whoever is stopped between the report and DONE has nothing to show."""
    folder.begin()
    order = []
    write = Folder.write
    monkeypatch.setattr(Folder, "write", lambda self, name, content: order.append(name) or write(self, name, content))
    folder.write_json("report.json", {})
    folder.finish()
    assert order == ["report.json", "DONE"]


# ---------------------------------------------------------------- whole files


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_content(folder, monkeypatch, moment):
    finished(folder)

    def crash(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*(("os.fsync", crash) if moment == "fsync" else ("pathlib.Path.replace", crash)))
        with pytest.raises(KeyboardInterrupt):
            folder.write_json("report.json", {"error": 0.25})
    assert folder.report() == {"error": 0.5}
    folder.write_json("report.json", {"error": 0.25})
    assert folder.report() == {"error": 0.25}
    assert not list(folder.path.glob("*.partial"))


def test_a_process_that_is_killed_while_writing_leaves_the_old_content(folder):
    """A real one: half of the file is on the disk when it dies."""
    finished(folder)
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from evenhand.lab import open_folder\n"
        "os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)\n"
        "open_folder(sys.argv[1]).write('report.json', '{\"error\": ')\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(folder.path)], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (half,) = folder.path.glob("*.partial")
    assert half.read_text() == '{"error": '
    assert folder.report() == {"error": 0.5}
    folder.begin()
    assert not half.exists()  # it would be there for ever


def test_numbers_that_are_not_finite_are_not_written(folder):
    finished(folder)
    with pytest.raises(ValueError, match="not JSON compliant"):
        folder.write_json("report.json", {"error": float("nan")})
    assert folder.report() == {"error": 0.5}


def test_text_bytes_and_names_of_all_letters(folder):
    folder.begin()
    assert folder.write("text.txt", "Größe\n").read_bytes() == "Größe\n".encode()
    assert folder.write("bytes.bin", b"\x00\xff").read_bytes() == b"\x00\xff"
    assert json.loads(folder.write_json("x.json", {"ä": [None, 0.1]}).read_text()) == {"ä": [None, 0.1]}


def test_a_root_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        folder = Folder(root, CONFIG)
        with pytest.raises(ValueError, match="root should be a folder that can be written to. Found"):
            folder.begin()
        with pytest.raises(ValueError, match="root should be a folder"), folder.locked():
            pass


# ---------------------------------------------------------------- the lock


def test_a_second_process_is_kept_out_until_the_first_is_gone(folder, tmp_path):
    folder.begin()
    (tmp_path / "config.toml").write_text(to_toml(CONFIG))
    command = [sys.executable, "-c", HOLD, str(folder.path.parent), str(tmp_path / "config.toml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "locked\n"
            assert int((folder.path / "lock").read_text()) == holder.pid
            with pytest.raises(RuntimeError, match="is being worked on by another process. Wait for it"):
                folder.locked().__enter__()
            assert int((folder.path / "lock").read_text()) == holder.pid  # still whose it is
        finally:
            holder.kill()
    with folder.locked():
        assert int((folder.path / "lock").read_text()) == os.getpid()


def test_a_lock_is_for_one_directory_and_ends_with_its_block(folder):
    other = Folder(folder.path.parent, TableExperiment(Data("wine")))
    with folder.locked(), other.locked(), pytest.raises(RuntimeError, match="another process"):
        folder.locked().__enter__()
    with pytest.raises(ZeroDivisionError), folder.locked():
        raise ZeroDivisionError
    with folder.locked():
        pass


# ---------------------------------------------------------------- starting over


def test_clearing_deletes_all_of_a_run_but_its_config(folder):
    finished(folder)
    folder.write("history.json", "")
    with folder.locked():
        folder.clear()
        assert {p.name for p in folder.path.iterdir()} == {"config.toml", "lock"}  # which is held
    assert folder.state == "started"
    folder.clear()


def test_there_may_be_nothing_to_clear(folder):
    folder.clear()
    assert not folder.path.exists()


@pytest.mark.parametrize("name", ["thesis.tex", "report.json", "checkpoint.pt", "thesis.tex.partial"])
def test_the_directory_of_someone_else_is_left_alone(folder, name):
    folder.path.mkdir(parents=True)
    (folder.path / name).write_text("years of work")
    with pytest.raises(
        ValueError, match="should be the directory of a run. Found no config in it; delete it by hand"
    ):
        folder.clear()
    assert (folder.path / name).read_text() == "years of work"


def test_a_run_that_was_stopped_before_its_config_was_there_can_be_cleared(folder):
    folder.path.mkdir(parents=True)
    (folder.path / "config.toml.77.partial").write_text("experi")
    (folder.path / "lock").write_text("1")
    folder.clear()
    assert [p.name for p in folder.path.iterdir()] == ["lock"]


def test_clearing_that_is_stopped_can_be_done_again(folder, monkeypatch):
    """DONE goes first, so that no half is taken for a result."""
    finished(folder)
    unlink = type(folder.path).unlink

    def stop_after_done(self, *args, **kwargs):
        if self.name != "DONE":
            raise KeyboardInterrupt
        unlink(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(type(folder.path), "unlink", stop_after_done)
        with pytest.raises(KeyboardInterrupt):
            folder.clear()
    assert folder.state == "started"
    folder.clear()
    assert [p.name for p in folder.path.iterdir()] == ["config.toml"]


def test_a_directory_is_opened_by_its_path_even_if_renamed(folder):
    finished(folder)
    found = open_folder(str(folder.path))
    assert (found.config, found.path, found.state) == (CONFIG, folder.path, "done")
    renamed = folder.path.rename(folder.path.parent / "the good one")
    assert open_folder(renamed).report() == {"error": 0.5}


def test_what_is_no_run_is_not_opened(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match="path should be the directory of a run"):
            open_folder(path)


def test_force_leaves_the_files_of_others(folder, tmp_path):
    finished(folder)
    (folder.path / "notes.txt").write_text("mine")
    (folder.path / "elsewhere").symlink_to(tmp_path)
    folder.clear()
    assert {p.name for p in folder.path.iterdir()} == {"config.toml", "notes.txt", "elsewhere"}
    assert folder.state == "started"
