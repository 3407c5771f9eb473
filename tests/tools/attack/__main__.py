"""``python -m tests.tools.attack --examples 100000 --seed 1``: attack the public API, and report failures.

The report is written every half minute, and when a signal (SIGINT, SIGTERM) ends the campaign.
"""

import argparse
import pathlib
import signal
import sys

from .campaign import KINDS, Campaign


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.tools.attack", description=__doc__)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="all by default")
    parser.add_argument("--report", type=pathlib.Path, default=pathlib.Path("attack.md"), help="file for the failures")
    given = parser.parse_args()
    campaign = Campaign(given.examples, given.seed, given.processes, given.kinds)
    signal.signal(signal.SIGINT, campaign.stop)
    signal.signal(signal.SIGTERM, campaign.stop)

    def progress(line):
        print(line, flush=True)
        given.report.write_text(campaign.report())

    campaign.run(progress)
    print(f"{campaign.failures.total()} failures of {len(campaign.failures)} kinds, see {given.report}")
    return bool(campaign.failures)


if __name__ == "__main__":
    sys.exit(main())
