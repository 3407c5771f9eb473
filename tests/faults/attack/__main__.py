"""``python -m tests.faults.attack --examples 100000 --seed 1``: attack the public API, and report failures.

The report is written every half minute, and when a signal (SIGINT, SIGTERM) ends the campaign.  It tells how many
batches are done, from which ``--skip`` goes on.
"""

import argparse
import pathlib
import signal
import sys

from .campaign import KINDS, Campaign, report


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.faults.attack", description=__doc__)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="all by default")
    parser.add_argument("--report", type=pathlib.Path, default=pathlib.Path("attack.md"), help="file for the failures")
    parser.add_argument("--skip", type=int, default=0, help="number of batches done before, which the report tells")
    given = parser.parse_args()
    campaign = Campaign(given.examples, given.seed, given.processes, given.kinds, given.skip)
    signal.signal(signal.SIGINT, campaign.stop)
    signal.signal(signal.SIGTERM, campaign.stop)

    def progress(line):
        print(line, flush=True)
        given.report.write_text(report(campaign))

    failures = campaign.run(progress)
    print(f"{sum(failures.counts.values())} failures of {len(failures.counts)} kinds, see {given.report}")
    return 1 if failures.counts else 0


if __name__ == "__main__":
    sys.exit(main())
