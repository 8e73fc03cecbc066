"""Scripts and fonts of others, fetched from npm when the site is built: a reader's browser fetches nothing."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path("build/packages")
KATEX = ("katex", "0.19.1", "24da5a599eb2fcede2e270b99a6ff48bca816beecc95feeb84e8cccbd1bb34fd")
WORKER = ("iframe-worker", "1.0.4", "e8c5d12d87829c503afba01d67772ea9f4aba5b7ae57a0c98e1917711030efbb")
OTHER_FONTS = re.compile(r',url\([^)]*\.(?:woff|ttf)\) ?format\("(?:woff|truetype)"\)')


def assets() -> Iterator[tuple[str, bytes]]:
    """Places in the site and contents: KaTeX draws formulas, iframe-worker lets the search work without a server."""
    for name, content in _unpacked(*KATEX):
        if name == "LICENSE" or name == "dist/katex.min.js" or name.endswith(".woff2"):
            yield f"assets/katex/{name.removeprefix('dist/')}", content
        elif name == "dist/katex.min.css":
            yield "assets/katex/katex.min.css", OTHER_FONTS.sub("", content.decode()).encode()
    for name, content in _unpacked(*WORKER):
        if name in ("LICENSE", "shim/index.js"):
            yield f"assets/iframe-worker/{name}", content


def _unpacked(name: str, version: str, sha256: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(_fetched(name, version, sha256)) as archive:
        for member in archive:
            if member.isfile():
                yield member.name.removeprefix("package/"), archive.extractfile(member).read()


def _fetched(name: str, version: str, sha256: str) -> Path:
    """The archive of a package, from npm's own client; it is kept."""
    path = FOLDER / f"{name}-{version}.tgz"
    if not path.is_file():
        if shutil.which("npm") is None:
            raise FileNotFoundError("The site takes scripts and fonts from npm. Install Node.js, which brings it.")
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", "--pack-destination", str(FOLDER), f"{name}@{version}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        path.unlink()
        raise ValueError(f"{path.name} should have the sha256 {sha256}. Found {found}.")
    return path
