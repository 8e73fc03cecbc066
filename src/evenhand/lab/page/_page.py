"""The report page: one HTML file from the directory of a run, which asks nothing of any network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from ...common import whole_file
from ..figures import chart_css, legal
from ..results import OF_COLUMNS
from ._multimodal import multimodal_context
from ._table import table_context

if TYPE_CHECKING:
    from jinja2 import Environment

Report = Mapping[str, Any]


def write_page(folders: str | Path | Sequence[str | Path], path: str | Path) -> Path:
    """Write the page of a run, or of several multimodal runs side by side.

    Args:
        folders: The directory of a run, or a list of them. `report.json` is read, and `samples.npz` or `samples.png`
            if it is there.
        path: Where to write the HTML file.

    Returns:
        The path.
    """
    places = [Path(folders)] if isinstance(folders, str | Path) else [Path(folder) for folder in folders]
    reports = [_report(place) for place in places]
    samples = _samples(places[0] / "samples.npz") if len(places) == 1 else None
    images = [_bytes(place / "samples.png") for place in places]
    written = Path(path)
    written.parent.mkdir(parents=True, exist_ok=True)
    text = page(reports[0] if len(reports) == 1 else reports, samples, images=images)
    with whole_file(written) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
    return written


def page(
    report: Report | Sequence[Report],
    samples: Mapping[str, ArrayLike] | None = None,
    *,
    images: Sequence[bytes | None] | None = None,
) -> str:
    """The page as text.

    Names and categories come from untrusted files: all are escaped, and a policy in the page forbids every script
    but its own.

    Args:
        report: The report of a table or panel experiment, or of one or several multimodal experiments.
        samples: For a table experiment: "real" rows, and the rows of every label that the report says were generated.
        images: For multimodal experiments: for each a PNG of its samples, or None.
    """
    reports = [report] if isinstance(report, Mapping) else list(report)
    kinds = {r.get("experiment") for r in reports}
    if kinds <= set(OF_COLUMNS) and len(reports) == 1:
        template, context = "table.html.j2", table_context(reports[0], samples)
    elif kinds == {"multimodal"}:
        pictures = [None] * len(reports) if images is None else images
        template, context = "multimodal.html.j2", multimodal_context(reports, pictures)
    else:
        found = ", ".join(str(r.get("experiment")) for r in reports) or "none"
        raise ValueError(
            f"report should be one of a table or panel experiment, or some of multimodal ones. Found {found}. Write "
            "a page for every table."
        )
    names = ", ".join(str(r["name"]) for r in reports)
    source = names if len(reports) <= 3 else f"{len(reports)} reports"
    version = reports[0].get("versions", {}).get("evenhand", "")
    text = _environment().get_template(template).render(**context, **_assets(), source=source, version=version)
    return legal(text)


# Inside


def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("a report page needs jinja2: pip install 'evenhand[experiments]'") from error
    return Environment(
        loader=PackageLoader("evenhand.lab.page", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _assets() -> dict[str, Markup | str]:
    """The style and the script, with the hashes by which the page's policy knows them."""
    style, script = chart_css() + _asset("page.css"), _asset("page.js")
    return {
        "style": Markup(style),
        "script": Markup(script),
        "style_hash": _hash(style),
        "script_hash": _hash(script),
    }


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _report(folder: Path) -> Report:
    path = folder / "report.json"
    if not path.is_file():
        raise FileNotFoundError(f"folders should be directories of finished runs. Found no report.json in {folder}.")
    report: Report = json.loads(path.read_text(encoding="utf-8"))
    return report


def _samples(path: Path) -> dict[str, np.ndarray[Any, Any]] | None:
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
