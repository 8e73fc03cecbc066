"""Put the reports of many short trainings into one file.

evenhand reproduce survival --quick --out runs
python paper/survival/collect.py runs paper/survival/digits_in_three.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from evenhand.lab import EXHIBITS
from evenhand.lab.results import collected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="a folder of runs")
    parser.add_argument("file", type=Path, help="where they go; trainings that are there already stay")
    args = parser.parse_args()
    places = [args.runs, *([args.file] if args.file.is_file() else [])]
    document = collected(EXHIBITS["survival"].reports(places, print))
    head = json.dumps({key: value for key, value in document.items() if key != "runs"}, separators=(",", ":"))
    runs = ",\n".join(json.dumps(run, separators=(",", ":")) for run in document["runs"])  # one in a line
    args.file.write_text(f'{head[:-1]},"runs":[\n{runs}\n]}}\n', encoding="utf-8")
    print(f"{args.file}: {len(document['runs'])} trainings")


if __name__ == "__main__":
    main()
