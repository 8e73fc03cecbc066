"""The command as people start it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command

import evenhand.cli
from evenhand.cli._app import app

HEAVY = {"torch", "numpy", "pandas", "sklearn", "matplotlib", "rich", "jinja2"}
VERBS = (
    "compare",
    "diagnose",
    "schema",
    "impute",
    "sample",
    "acquire",
    "run",
    "report",
    "reproduce",
    "results",
    "datasets",
)


def start(*args, **options):
    command = [sys.executable, "-W", "error", "-m", "evenhand", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def test_all_verbs_are_there():
    assert tuple(get_command(app).commands) == VERBS


@pytest.mark.parametrize("verb", [*VERBS, "datasets fetch", "datasets verify"])
def test_help_is_a_manual_with_examples(verb, go):
    result = go(*verb.split(), "--help")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    place = next(i for i, line in enumerate(lines) if line.strip() in ("Example:", "Examples:"))
    assert lines[place + 1].strip().startswith(f"evenhand {verb.split()[0]}")
    assert lines[place + 1].startswith("    evenhand")  # lines of examples are kept
    assert "..." not in lines[2]


def test_help_of_all_fits(go):
    result = go("--help")
    commands = result.stdout.partition("Commands:")[2].strip().splitlines()
    assert len(commands) == len(VERBS)
    assert not any(line.endswith("...") for line in commands)


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()[-1]


def test_no_file_of_the_command_line_imports_what_is_heavy():
    files = [file.stem for file in Path(evenhand.cli.__file__).parent.glob("_*.py") if file.stem != "__init__"]
    assert len(files) > 10
    code = (
        "import sys\nfrom importlib import import_module\n"
        f"for file in {files}: import_module(f'evenhand.cli.{{file}}')\n"
        f"print(sorted({HEAVY} & set(sys.modules)))"
    )
    assert run_python(code) == "[]"


def test_help_does_not_import_torch():
    code = (
        "import sys; sys.argv = ['evenhand', '--help']\n"
        "from evenhand.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        f"print(sorted({HEAVY} & set(sys.modules)))"
    )
    assert run_python(code) == "[]"


def test_the_version():
    done = start("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("evenhand")


def test_errors_of_a_real_process(tmp_path):
    done = start("compare", "adlt", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Did you mean 'adult'?\n")
    done = start("compair", cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'compare'?" in done.stderr


def test_missing_packages_name_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "evenhand.cli._app")
    with pytest.raises(SystemExit, match="needs the package typer: pip install 'evenhand\\[experiments\\]'"):
        evenhand.cli.main()


def test_ctrl_c_ends_with_130_and_tells_the_truth_about_checkpoints(tmp_path, table):
    command = [sys.executable, "-m", "evenhand", "compare", str(table), "--steps", "1000000", "--seeds", "1"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/*/config.toml")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    # where the signal meets a piece of code that is made at run time, Python ends by the signal; shells call both 130
    assert process.returncode in (130, -signal.SIGINT), said
    last = said.splitlines()[-1]
    assert last.startswith("Interrupted. There is no checkpoint yet, the first one comes after 10 s of training.")
    assert " To start again: evenhand compare " in last
    assert "Traceback" not in said
