"""Put the reports of runs into the folders beside this file.

python paper/digits_in_five/collect.py runs
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from evenhand.lab import read_reports

HERE = Path(__file__).resolve().parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="a folder of runs")
    for report in read_reports(parser.parse_args().runs):
        report["command"] = report["command"].partition(" --out ")[0]  # where runs lay is nobody's concern
        folder = HERE / ("restored" if report["config"]["impartial"]["preserve_norm"] else "reports")
        folder.mkdir(exist_ok=True)
        text = json.dumps(report, separators=(",", ":"))
        (folder / f"{report['name']}.json").write_text(f"{text}\n", encoding="utf-8")
        print(report["name"])


if __name__ == "__main__":
    main()
