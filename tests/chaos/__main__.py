"""`make chaos`: processes are killed at random moments, disks are full, folders are closed; nothing is lost."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from ._campaign import Campaign


def main() -> None:
    """Run the campaign, and print a table; the exit code is 1 if anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="a table only, and no Ray")
    parser.add_argument("--no-ray", action="store_true")
    given = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as root:
        campaign = Campaign(Path(root), random.Random(given.seed), short=given.short)
        campaign.run(given.kills, ray=not (given.short or given.no_ray))
    print(campaign.table())
    print(f"{campaign.n_kills} kills in {time.monotonic() - started:.0f} s; {len(campaign.failures)} failures")
    for failure in campaign.failures:
        print(f"  {failure}")
    sys.exit(bool(campaign.failures))


if __name__ == "__main__":
    main()
