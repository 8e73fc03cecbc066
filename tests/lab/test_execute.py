"""Many experiments: in order here, or on Ray, whose workers may die."""

import contextlib
import importlib.util
import logging
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from pathlib import Path

import pytest

from evenhand.lab import _execute
from evenhand.lab._config import resolve
from evenhand.lab._execute import FailedError, execute
from evenhand.lab._folder import Folder
from evenhand.lab._run import run

from ._lab import as_in_a_worker, contents, tiny, wait_for, write_csv  # noqa: F401

BROKEN = "data.rows=5000"  # of 120


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("table") / "people.csv")


def jobs(path, *overrides):
    return [tiny(path, f"training.epochs={n}", *overrides) for n in (3, 1, 2)]


def record():
    """Two lists that fill up, and the functions that fill them."""
    begun, ended = [], []

    def begin(folder, number):
        begun.append((folder.path, number))
        return lambda epochs, words: begun.append((folder.path, epochs))

    return begun, ended, {"begin": begin, "finish": lambda folder: ended.append(folder.path)}


# ---------------------------------------------------------------- local


def test_all_are_run_in_order(path, tmp_path):
    begun, ended, calls = record()
    configs = jobs(path)
    folders = execute(configs, tmp_path, device="cpu", **calls)
    assert [f.config for f in folders] == [resolve(config) for config in configs]
    assert [f.state for f in folders] == ["done"] * 3
    paths = [f.path for f in folders]
    assert ended == paths
    assert [path for path, _ in begun] == sorted((path for path, _ in begun), key=paths.index)
    for number, (path, config) in enumerate(zip(paths, configs, strict=True)):
        first, *ticks = [told for place, told in begun if place == path]
        assert first == number  # of the job, then the epochs of its ticks
        assert sum(ticks) == config.training.epochs


def test_those_that_are_done_are_skipped_unless_forced(path, tmp_path):
    configs = jobs(path)
    first = run(configs[1], tmp_path, device="cpu")
    before = (first.path / "report.json").stat().st_mtime_ns
    begun, ended, calls = record()
    folders = execute(configs, tmp_path, device="cpu", **calls)
    assert ended == [folders[0].path, folders[2].path]
    assert (first.path / "report.json").stat().st_mtime_ns == before
    begun, ended, calls = record()
    assert [f.path for f in execute(configs, tmp_path, device="cpu", **calls)] == [f.path for f in folders]
    assert begun == ended == []
    execute(configs[1:2], tmp_path, device="cpu", force=True, **calls)
    assert ended == [first.path]
    assert (first.path / "report.json").stat().st_mtime_ns > before


def test_one_that_fails_does_not_stop_the_others(path, tmp_path):
    configs = jobs(path)
    configs.insert(1, tiny(path, BROKEN))
    _, ended, calls = record()
    with pytest.raises(FailedError) as caught:
        execute(configs, tmp_path, device="cpu", **calls)
    failed = Folder(tmp_path, resolve(configs[1])).path.name
    assert str(caught.value) == (
        "1 of 4 experiments failed, the others are done:\n"
        f"  {failed}: data.rows should be at most the 120 rows that there are. Found 5000."
    )
    assert isinstance(caught.value.__cause__, ValueError)
    assert len(ended) == 3


def test_all_that_fail_are_counted_even_if_they_have_one_name(path, tmp_path):
    configs = jobs(path, BROKEN)
    assert len({config.name for config in configs}) == 1
    with pytest.raises(FailedError) as caught:
        execute(configs, tmp_path, device="cpu")
    first, *lines = str(caught.value).splitlines()
    assert first == "3 of 3 experiments failed:"
    assert len(set(lines)) == 3


def test_an_interrupt_is_not_a_failure(path, tmp_path):
    def begin(folder, number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(jobs(path), tmp_path, device="cpu", begin=begin)


def test_side_by_side_gives_what_one_after_the_other_gives(path, tmp_path):
    configs = jobs(path)[1:]
    begun, ended, calls = record()
    together = execute(configs, tmp_path / "together", device="cpu", workers=2, **calls)
    assert sorted(ended) == sorted(folder.path for folder in together)
    assert {path for path, _ in begun} == {folder.path for folder in together}
    for number, (folder, config) in enumerate(zip(together, configs, strict=True)):
        first, *ticks = [told for place, told in begun if place == folder.path]
        assert first == number
        assert sum(ticks) == config.training.epochs
    for one, other in zip(together, execute(configs, tmp_path / "alone", device="cpu"), strict=True):
        assert one.report()["runs"] == other.report()["runs"]
    begun, ended, calls = record()
    execute(configs, tmp_path / "together", device="cpu", workers=2, **calls)
    assert begun == ended == []


def test_side_by_side_a_warning_names_its_job(monkeypatch):
    def job(document, root, options, threads):
        warnings.warn("The expert 'text' starves.", RuntimeWarning, stacklevel=1)
        options["tick"](1, "half way")

    monkeypatch.setattr(_execute, "_job", job)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # is put back afterwards
    ours, theirs = multiprocessing.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        _execute._tell(theirs, {}, "runs", {}, 1)
    theirs.close()
    ticks = []
    process = _execute._Process("hi-vae-elbo", 0, None, ours, lambda *told: ticks.append(told))
    with pytest.warns(RuntimeWarning, match="hi-vae-elbo: The expert 'text' starves."):
        assert process.hear()
    assert process.hear()
    assert ticks == [(1, "half way")]
    assert process.hear()
    assert process.ended == ""
    assert not process.hear()


def test_side_by_side_one_that_fails_or_dies_does_not_stop_the_others(path, tmp_path):
    doomed, broken, short = tiny(path, "training.epochs=1000000"), tiny(path, BROKEN), tiny(path)

    def begin(folder, number):
        if number == 2:  # the first of the others has ended, so the doomed one is on its way
            (process,) = multiprocessing.active_children()
            os.kill(process.pid, signal.SIGKILL)
        return lambda epochs, words: None

    ended, failed = [], {}
    calls = {
        "begin": begin,
        "finish": ended.append,
        "fail": lambda folder, error: failed.update({folder.path: error}),
    }
    with pytest.raises(FailedError) as caught:
        execute([doomed, broken, short], tmp_path, device="cpu", workers=2, **calls)
    assert list(failed) == [Folder(tmp_path, resolve(config)).path for config in (broken, doomed)]
    lines = str(caught.value).splitlines()
    assert lines[0] == "2 of 3 experiments failed, the others are done:"
    assert any("its process ended with exit code -9. Run it again" in line for line in lines)
    assert any("data.rows should be at most the 120 rows that there are. Found 5000." in line for line in lines)
    assert [folder.path for folder in ended] == [Folder(tmp_path, resolve(short)).path]


def test_side_by_side_an_interrupt_leaves_no_process_behind(path, tmp_path):
    def begin(folder, number):
        if number == 1:
            raise KeyboardInterrupt
        return lambda epochs, words: None

    configs = [tiny(path, "training.epochs=1000000"), tiny(path)]
    with pytest.raises(KeyboardInterrupt):
        execute(configs, tmp_path, device="cpu", workers=2, begin=begin)
    assert multiprocessing.active_children() == []


def test_what_makes_no_sense_is_refused(path, tmp_path):
    config = tiny(path)
    with pytest.raises(ValueError, match="configs should be different. Found two that are the same."):
        execute([config, resolve(config)], tmp_path)
    with pytest.raises(ValueError, match="executor should be 'local' or 'ray'. Found 'slurm'."):
        execute([config], tmp_path, executor="slurm")
    assert execute([], tmp_path) == []
    assert not list(tmp_path.iterdir())


def test_without_ray_it_says_what_to_install(path, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="executor='ray' needs Ray: pip install 'evenhand\\[ray\\]'"):
        execute([tiny(path)], tmp_path, executor="ray")


# ---------------------------------------------------------------- Ray

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: evenhand[ray]")
quiet = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:ray")


@pytest.fixture
def ray():
    """A Ray that was there before."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    yield ray
    ray.shutdown()


def helpers():
    """The processes of a Ray that this process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # it has ended just now
            lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            if int(lines["PPid"]) == os.getpid() and "zombie" not in lines["State"]:
                found.append(lines["Name"])
    return [name for name in found if name in ("raylet", "gcs_server")]


def kill_once(folder, killed):
    """Wait until a job has a checkpoint, and kill its worker."""
    wait_for((folder.path / "checkpoint.pt").exists)
    pid = int((folder.path / "lock").read_text())
    os.kill(pid, signal.SIGKILL)
    killed.append((pid, folder.state))


@needs_ray
@quiet
def test_on_ray_a_job_whose_worker_dies_goes_on_elsewhere(path, tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    short, broken = tiny(path), tiny(path, BROKEN)
    long = tiny(path, "training.epochs=400", "training.checks=80")
    victim, killed = Folder(tmp_path, resolve(long)), []
    begun, ended, calls = record()
    killer = threading.Thread(target=kill_once, args=(victim, killed))
    killer.start()
    with pytest.raises(FailedError) as caught:
        execute([long, broken, short], tmp_path, executor="ray", workers=2, device="cpu", save_seconds=0.0, **calls)
    killer.join()
    wait_for(lambda: not helpers())  # nothing of Ray is left
    assert killed[0][1] == "started"  # it was in the middle
    assert killed[0][0] != os.getpid()
    assert int((victim.path / "lock").read_text()) not in (killed[0][0], os.getpid())
    # what went wrong in a job is said in its own words
    assert str(caught.value).startswith("1 of 3 experiments failed, the others are done:\n  people-vae-elbo-")
    assert str(caught.value).endswith(": data.rows should be at most the 120 rows that there are. Found 5000.")
    assert isinstance(caught.value.__cause__, ValueError)
    assert [number for _, number in begun] == [0, 1, 2]
    assert set(ended) == {victim.path, Folder(tmp_path, resolve(short)).path}
    for config in (short, long):
        there = Folder(tmp_path, resolve(config)).path
        assert contents(there) == contents(run(config, tmp_path / "here", device="cpu").path)
    assert not (victim.path / "checkpoint.pt").exists()


@needs_ray
@quiet
def test_on_ray_force_starts_over_once(ray, path, tmp_path):
    """A worker that dies goes on with the new run, although it was forced."""
    config = tiny(path)
    folder = run(config, tmp_path, device="cpu")
    before = contents(folder.path)
    (folder.path / "samples.png").write_text("")
    cleared = []
    _, ended, calls = record()
    with pytest.MonkeyPatch.context() as patch:
        clear = Folder.clear
        patch.setattr(Folder, "clear", lambda self: cleared.append(self.path) or clear(self))
        execute([config], tmp_path, executor="ray", device="cpu", force=True, **calls)
        assert ray.is_initialized()  # it is not ours to stop
        assert len(helpers()) == 2
        assert cleared == [folder.path]  # here, and not by the job
        assert ended == [folder.path]
        assert contents(folder.path) == before
        assert not (folder.path / "samples.png").exists()
        with folder.locked(), pytest.raises(FailedError, match="is being worked on by another process"):
            execute([config], tmp_path, executor="ray", device="cpu", force=True, **calls)
    assert folder.report()


@needs_ray
def test_on_ray_nothing_is_started_for_nothing(path, tmp_path, monkeypatch):
    config = tiny(path)
    run(config, tmp_path, device="cpu")
    monkeypatch.setattr(_execute, "_cluster", lambda *args: 1 / 0)
    (folder,) = execute([config], tmp_path, executor="ray")
    assert folder.state == "done"


def test_a_cluster_has_workers_of_its_own(path, tmp_path):
    with pytest.raises(ValueError, match="workers should be left out where address names a cluster. Found 2"):
        execute(jobs(path), tmp_path, executor="ray", address="127.0.0.1:6379", workers=2)
