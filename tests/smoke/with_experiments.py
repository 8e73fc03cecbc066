"""The shell: help, version, a schema, and a short comparison with its page."""

import subprocess
import sys
import tempfile
from pathlib import Path

import evenhand

COMMAND = Path(sys.executable).with_name("evenhand")


def evenhand_says(*words: str) -> str:
    """What the installed command prints."""
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


folder = Path(tempfile.mkdtemp())
rows = ["age,home,income"]
rows += [
    f"{20 + 7 * i % 50},{'own' if 7 * i % 50 > 25 else 'rent'},{900 + 7 * i % 50 * (50 + i % 9)}" for i in range(90)
]
(folder / "people.csv").write_text("\n".join(rows))

assert "compare" in evenhand_says("--help")
assert evenhand_says("--version") == f"evenhand {evenhand.__version__}\n"
assert "Two categories" in evenhand_says("schema", "people.csv", "-o", "schema.toml")
assert "[columns" in (folder / "schema.toml").read_text()
print(evenhand_says("compare", "people.csv", "--steps", "20", "--seeds", "1", "--page", "people.html"))
page = (folder / "people.html").read_text()
for part in ("<style>", "<script", "<svg", "income", evenhand.__version__):
    assert part in page, f"the page lacks {part}"
