"""The command as people start it."""

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command

import evenhand.cli
from evenhand.cli import _names
from evenhand.cli._app import app

HEAVY = {"torch", "numpy", "pandas", "sklearn", "matplotlib", "rich", "jinja2"}
VERBS = ("compare", "diagnose", "schema", "impute", "sample", "run", "report", "reproduce", "results", "datasets")


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


def test_no_file_of_the_command_line_imports_what_is_heavy_at_its_top():
    for file in Path(evenhand.cli.__file__).parent.glob("*.py"):
        for node in ast.parse(file.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
                assert node.level < 2, f"{file.name}: ..{node.module} is imported when the command starts"
            assert not {name.split(".")[0] for name in names} & HEAVY, file.name


def test_help_does_not_import_torch():
    code = (
        "import sys; sys.argv = ['evenhand', '--help']\n"
        "from evenhand.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({'torch', 'numpy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


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


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(tmp_path, table):
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
    assert said.startswith("Interrupted. To go on from there: evenhand compare ")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("evenhand compare wi", "wine"),
        ("evenhand reproduce table1", "table15"),
        ("evenhand results over", "overhead"),
        ("evenhand compare wine --methods imtlg,gradn", "imtlg,gradnorm"),
        ("evenhand compare wine --methods 'imtlg>>pc", "imtlg>>pcgrad"),
        ("evenhand reproduce table1 --datasets hi,wi", "hi,wine"),
        ("evenhand datasets fetch mni", "mnist"),
    ],
)
def test_shells_complete_names(words, expected):
    count = len(words.split())
    environment = os.environ | {
        "_EVENHAND_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(count - 1),
    }
    code = "from evenhand.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert expected in done.stdout.split()


def test_completion_of_lists_keeps_what_is_there():
    assert _names.complete_methods("imtlg>>pc") == ["imtlg>>pcgrad"]
    assert _names.complete_datasets("hi,mag") == ["hi,magic"]
    assert _names.complete_models("mv") == ["mvae"]
