"""Make all tables and figures of this folder again, from the reports in it.

python paper/update.py             # seconds; nothing is trained
python paper/update.py --check     # changes nothing, and fails if something is out of date

What stands between <!-- begin: COMMAND --> and <!-- end --> in a page is what the command prints. The pair plots of
figure 4 are not made here: they need generated rows, which are not kept.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

from _acquisition_tables import page as acquisition_page
from _generation_tables import page as generation_page
from _imputation_tables import page as imputation_page
from _over_time_tables import page as over_time_page
from _panel_tables import page as panel_page
from digits_in_five import table as in_five
from forecast import page as forecast_page
from multimodal import tables as of_modalities
from several_losses._pages import fusion_page, multitask_page
from summaries import MAIN, REPORTS, summary
from typer.testing import CliRunner

from evenhand.cli._app import app
from evenhand.lab import EXHIBITS, TableReport, read_reports

PAPER = Path(__file__).resolve().parent
BENCHMARKS = {
    "benchmarks/impute.py": imputation_page,
    "benchmarks/generate.py": generation_page,
    "benchmarks/longitudinal.py": panel_page,
    "benchmarks/forecast.py": forecast_page,
    "benchmarks/over_time.py": over_time_page,
    "benchmarks/multitask.py": multitask_page,
    "benchmarks/fusion.py": fusion_page,
    "benchmarks/acquire.py": acquisition_page,
}
PART = re.compile(r"(<!-- begin: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
MULTIMODAL = PAPER / "multimodal" / "reports"


def filled(text: str) -> str:
    """A page with its generated parts made again."""
    return PART.sub(lambda found: f"{found[1]}\n{printed(found[2]).strip()}\n\n{found[3]}", text)


def printed(command: str) -> str:
    """What a command prints."""
    words = shlex.split(command)
    if words[:2] == ["python", "paper/summaries.py"]:
        return summary(words[2])
    if words[0] == "python" and words[1] in BENCHMARKS and words[2] == "--table":
        return BENCHMARKS[words[1]](PAPER.parent / words[3], *words[4:])
    if words[:2] == ["python", "paper/multimodal/tables.py"]:
        return of_modalities.table(*words[2:])
    if words == ["python", "paper/digits_in_five/table.py"]:
        return in_five.table()
    result = CliRunner().invoke(app, words[1:], prog_name=words[0])
    if words[0] != "evenhand" or result.exit_code:
        raise ValueError(f"A part should begin with a command that works. Found {command!r}. {result.output}")
    return result.stdout


def figures() -> dict[Path, str]:
    """The figures that reports alone can make."""
    tables = [report for report in read_reports(REPORTS) if TableReport(report).setting == MAIN]
    held = read_reports(PAPER / "equal-rate" / "reports")
    return {
        PAPER / "equal-rate" / "frontier.svg": EXHIBITS["equal-rate-frontier"].figures(held)["all"],
        PAPER / "equal-rate" / "rate_control.svg": EXHIBITS["rate-control"].figures(held)["all"],
        PAPER / "table1" / "rate_distortion.svg": EXHIBITS["rate-distortion"].figures(tables)["all"],
        PAPER / "figure5" / "mmvae.svg": EXHIBITS["figure5"].figures(read_reports(MULTIMODAL))["mmvae"],
    }


def everything() -> dict[Path, str]:
    """All pages and figures as they should be."""
    pages = {path: filled(path.read_text(encoding="utf-8")) for path in sorted(PAPER.rglob("*.md"))}
    return pages | figures()


def outdated(path: Path, text: str) -> bool:
    """Whether a file differs."""
    return not path.is_file() or path.read_text(encoding="utf-8") != text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    os.chdir(PAPER.parent)  # the commands name folders from there
    old = {path: text for path, text in everything().items() if outdated(path, text)}
    for path, text in old.items():
        print(f"{'out of date' if check else 'written'}: {path.relative_to(PAPER.parent)}")
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and old:
        sys.exit("To mend that: python paper/update.py")


if __name__ == "__main__":
    main()
