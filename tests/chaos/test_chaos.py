"""The campaign in short: a few kills, a full disk, a folder that cannot be written to, a second process."""

import subprocess
import sys
from pathlib import Path


def test_nothing_is_lost():
    command = [sys.executable, "-m", "tests.chaos", "--kills", "2", "--short"]  # of its own: it forks
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 kills" in done.stdout
    assert done.stdout.count("same results") == 6  # said at once, and in the table at the end
