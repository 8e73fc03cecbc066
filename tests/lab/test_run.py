"""A run: done once, resumed after a kill at any moment with the same numbers, started over if forced."""

import json
import os
import signal
from datetime import datetime

import pytest

from evenhand.lab import _run, _tabular
from evenhand.lab._folder import Folder, open_folder
from evenhand.lab._run import run

from ._lab import as_in_a_worker, contents, killed, start_process, tiny, wait_for, write_csv  # noqa: F401

# long enough to be killed in the middle, with gradients that remember (GradNorm) and noise (dropout, GradDrop)
LONG = (
    "training.epochs=120",
    "training.checks=60",
    "training.hide=0.1",
    "training.decay=true",
    "runs.methods=['sum', 'gradnorm', 'graddrop']",
    "evaluation.generate=20",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("table") / "people.csv")


@pytest.fixture
def done(path, tmp_path):
    return run(tiny(path), tmp_path, device="cpu", command="evenhand run tiny.toml")


def stamps(folder):
    return {p.name: p.stat().st_mtime_ns for p in folder.path.iterdir()}


# ---------------------------------------------------------------- once


def test_a_run_fills_its_directory(done):
    names = {"config.toml", "report.json", "history.json", "model.safetensors", "DONE", "lock"}
    assert {p.name for p in done.path.iterdir()} == names
    report = done.report()
    assert report["command"] == "evenhand run tiny.toml"
    assert datetime.fromisoformat(report["finished"]).tzinfo is not None
    assert done.config.data.sha256 == report["config"]["data"]["sha256"] != ""


def test_a_run_that_is_done_is_not_run_again(done, path, tmp_path, monkeypatch):
    before = stamps(done)

    def never(*args, **kwargs):
        raise AssertionError("nothing should happen")

    monkeypatch.setattr(_tabular, "load", never)
    monkeypatch.setattr(Folder, "locked", never)
    for config in (tiny(path), done.config):
        again = run(config, tmp_path, device="cpu", tick=never)
        assert again.path == done.path
    assert stamps(done) == before


def test_another_setting_or_another_content_is_another_run(done, path, tmp_path):
    other = run(tiny(path, "training.epochs=1"), tmp_path, device="cpu")
    assert other.path != done.path
    copy = tmp_path / path.name
    copy.write_text(path.read_text())
    first = run(tiny(copy), tmp_path, device="cpu")
    write_csv(copy, rows=119)
    second = run(tiny(copy), tmp_path, device="cpu")
    assert first.path != second.path
    assert first.report()["runs"] == done.report()["runs"] != second.report()["runs"]


def test_force_starts_over(done, path, tmp_path):
    before, numbers = stamps(done), contents(done.path)
    (done.path / "samples.png").write_text("")
    # a checkpoint is not gone on from
    (done.path / "checkpoint.pt").write_bytes(b"not a checkpoint")
    words = []
    run(
        tiny(path),
        tmp_path,
        device="cpu",
        force=True,
        command="evenhand run tiny.toml",
        tick=lambda *a: words.append(a),
    )
    assert words[0] == (0, "4 runs")
    assert contents(done.path) == numbers
    assert not (done.path / "samples.png").exists()
    after = stamps(done)
    assert all(after[name] > before[name] for name in before if name not in ("lock", "config.toml"))


def test_ticks_count_the_epochs(path, tmp_path):
    ticks = []
    run(tiny(path, "training.epochs=7", "training.checks=3"), tmp_path, device="cpu", tick=lambda *a: ticks.append(a))
    assert sum(epochs for epochs, _ in ticks) == 7
    assert len(ticks) > 4  # not only at checks, of which there are three
    assert ticks[-2][1].startswith("4 runs, best error 0.")
    assert ticks[-1] == (0, "measuring on test rows")


# ---------------------------------------------------------------- killed


def test_killed_at_every_moment_it_ends_with_the_same_numbers(path, tmp_path):
    config = tiny(path, *LONG)
    reference = contents(run(config, tmp_path / "whole", device="cpu").path)
    folder = Folder(tmp_path, _run.resolve(config))
    here = folder.path

    process = start_process(config, tmp_path)  # killed by someone else, in the middle of training
    wait_for((here / "checkpoint.pt").exists)
    process.send_signal(signal.SIGKILL)
    killed(process)
    assert (here / "checkpoint.pt").exists()
    assert not (here / "history.json").exists()

    killed(start_process(config, tmp_path, "saving"))  # while it writes a checkpoint
    assert [p.read_bytes() for p in here.glob("checkpoint.pt.*.partial")] == [b"half"]

    killed(start_process(config, tmp_path, "evaluation"))
    assert not (here / "history.json").exists()

    killed(start_process(config, tmp_path, "report.json"))
    assert [p.read_bytes() for p in here.glob("*.partial")] == [b"half"]
    assert json.loads((here / "history.json").read_text()) == reference[1]
    assert folder.state == "started"

    ticks = []
    run(config, tmp_path, device="cpu", tick=lambda *a: ticks.append(a))
    assert ticks[0] == (120, "resumed")  # it was trained to its end before
    assert sum(epochs for epochs, _ in ticks) == 120
    assert contents(here) == reference
    assert not list(here.glob("*.partial"))


def test_stopped_between_the_report_and_done_it_is_done_again(done, path, tmp_path):
    numbers = contents(done.path)
    (done.path / "DONE").unlink()
    (done.path / "report.json").write_text("{}")
    run(tiny(path), tmp_path, device="cpu", command="evenhand run tiny.toml")
    assert contents(done.path) == numbers


def test_killed_just_after_the_end_it_leaves_no_checkpoint_behind(done, path, tmp_path):
    """Found by `make chaos`: between DONE and the end of the process there is a moment."""
    (done.path / "checkpoint.pt").write_bytes(b"of a run that is done")
    before = stamps(done)
    run(tiny(path), tmp_path, device="cpu")
    assert not (done.path / "checkpoint.pt").exists()
    assert {name: stamp for name, stamp in before.items() if name != "checkpoint.pt"} == stamps(done)


def test_what_is_half_written_is_never_read(done, path, tmp_path):
    (done.path / "report.json.77.partial").write_text('{"error": ')
    before = stamps(done)
    assert run(tiny(path), tmp_path, device="cpu").report()["format"] == 1
    assert stamps(done) == before


@pytest.mark.parametrize("stop", [1, 2, 5])
@pytest.mark.parametrize("model", ["vae", "hivae", "vaem"])
def test_interrupted_between_checkpoints(path, tmp_path, model, stop):
    config = tiny(
        path, "training.epochs=6", "training.checks=6", f"model.name={model}", "runs.methods=['sum', 'gradnorm']"
    )
    reference = contents(run(config, tmp_path / "whole", device="cpu").path)
    counted = []

    def tick(epochs, words):
        counted.append(epochs)
        if sum(counted) == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, tmp_path, device="cpu", tick=tick, save_seconds=0.0)
    ticks = []
    folder = run(config, tmp_path, device="cpu", tick=lambda *a: ticks.append(a))
    assert stop - 1 <= ticks[0][0] < stop  # the last step was not saved yet
    assert contents(folder.path) == reference


def test_checkpoints_are_not_written_all_the_time(path, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(_tabular, "write_checkpoint", lambda *args: written.append(1))
    run(tiny(path, "training.epochs=6", "training.checks=6"), tmp_path, device="cpu")
    assert not written
    run(tiny(path, "training.epochs=6", "training.checks=6"), tmp_path / "more", device="cpu", save_seconds=0.0)
    assert len(written) >= 6  # now after every step or two


def test_between_two_checks_there_are_checkpoints_too(path, tmp_path):
    """A check may be minutes away; a training of more than ten seconds has a checkpoint nevertheless."""
    config = tiny(path, "training.epochs=6", "training.checks=1")
    reference = contents(run(config, tmp_path / "whole", device="cpu").path)

    def tick(epochs, words):
        if sum(p.stat().st_size > 0 for p in tmp_path.glob("*/checkpoint.pt")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, tmp_path, device="cpu", tick=tick, save_seconds=0.0)
    (folder,) = tmp_path.glob("people*")
    assert open_folder(folder).resumable
    ticks = []
    run(config, tmp_path, device="cpu", tick=lambda *a: ticks.append(a))
    assert 0 < ticks[0][0] < 6
    assert contents(folder) == reference


# ---------------------------------------------------------------- what goes wrong


def test_two_at_once_are_kept_apart(path, tmp_path):
    config = tiny(path)
    with (
        Folder(tmp_path, _run.resolve(config)).locked(),
        pytest.raises(RuntimeError, match="is being worked on by another process"),
    ):
        run(config, tmp_path, device="cpu")


def test_who_waited_for_the_lock_finds_it_done(done, path, tmp_path, monkeypatch):
    """Another process may end a run between the first look and the lock."""
    before, states = stamps(done), iter(["started"])
    real = Folder.state.fget
    monkeypatch.setattr(Folder, "state", property(lambda self: next(states, None) or real(self)))
    run(tiny(path), tmp_path, device="cpu")
    after = stamps(done)
    assert {n: t for n, t in after.items() if n != "lock"} == {n: t for n, t in before.items() if n != "lock"}


@pytest.mark.parametrize("device", ["abacus", "cuda:77"])
def test_a_device_that_is_not_there_is_refused_before_anything_is_touched(done, path, tmp_path, device):
    for config in (tiny(path), tiny(path, "training.epochs=1")):
        with pytest.raises(ValueError, match=f"device should be 'auto' or a device that is there. Found '{device}'."):
            run(config, tmp_path, device=device, force=True)
    assert done.report()
    assert [p.name for p in tmp_path.iterdir()] == [done.path.name]


def test_what_fails_is_not_done(path, tmp_path):
    config = tiny(path, "data.rows=5000")
    with pytest.raises(ValueError, match="data.rows should be at most"):
        run(config, tmp_path, device="cpu")
    (folder,) = tmp_path.iterdir()
    assert {p.name for p in folder.iterdir()} == {"config.toml", "lock"}
    with pytest.raises(FileNotFoundError, match="It is started"):
        Folder(tmp_path, _run.resolve(config)).report()


def test_a_root_that_is_a_file_is_refused(path):
    with pytest.raises(ValueError, match="root should be a folder that can be written to"):
        run(tiny(path), path, device="cpu")


def test_the_lock_names_who_works(done):
    assert int((done.path / "lock").read_text()) == os.getpid()
