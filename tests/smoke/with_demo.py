"""The demonstration: a table of the paper, from a package, compared in a few steps."""

import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
command = [Path(sys.executable).with_name("evenhand"), "compare", "hi", "data.rows=400"]
done = subprocess.run(
    [*command, "--seeds", "1", "--steps", "20", "--page", "demo.html"], capture_output=True, text=True, cwd=folder
)
assert done.returncode == 0, done.stderr
print(done.stdout)
assert "impartial" in (folder / "demo.html").read_text()
