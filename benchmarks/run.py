"""Run all parts of the benchmarks one after another, each in a separate process, then write the report.

Run with ``python -m uv run benchmarks/run.py [--quick] [--only NAMES] [--output FOLDER]``.  A part that fails does not
stop the others; the exit code is then 1.  ``benchmarks/run.py NAME`` runs one part, with options of its own.
"""

import argparse
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

from common import ONE_CORE
from common.part import QUICK_RESULTS, RESULTS

# All parts, in the order in which they run and are reported.
NAMES = (
    *("accuracy", "gibbs_sweep", "samplers", "ablation", "stock_pymc", "labels_as_index"),
    *("collapsed_regressions", "regression", "held_out", "real_data", "tables", "drawn_tables"),
    *("waiting", "large_tables", "agreement_of_chains", "documents", "trees_of_items", "hidden_states"),
    *("hidden_state_peers", "own_weights", "segmentation", "growth", "networks", "defaults"),
    *("first_minutes", "latency", "scaling", "large", "chunks", "equal_time"),
)
FOLDER = Path(__file__).resolve().parent


def run_part(name, quick, output):
    """Run a part in a process of its own; return whether it succeeded."""
    command = [sys.executable, __file__, name, *(["--quick"] if quick else []), "--output", str(output)]
    return subprocess.run(command, env=os.environ | ONE_CORE | {"MPLBACKEND": "agg"}).returncode == 0


def parse(arguments=None):
    parser = argparse.ArgumentParser(description="Run the benchmarks and write their report.")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repeats, for a look")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=f"run these: {', '.join(NAMES)}")
    parser.add_argument("--output", type=Path, help="folder of results and report")
    options = parser.parse_args(arguments)
    options.output = (options.output or (QUICK_RESULTS if options.quick else RESULTS)).resolve()
    return options


def main():
    if sys.argv[1:2] and sys.argv[1] in NAMES:
        return importlib.import_module(sys.argv[1]).PART.main(sys.argv[2:])
    options = parse()
    times, failed = {}, []
    for name in options.only or NAMES:
        print(f"\n=== {name}", flush=True)
        start = time.perf_counter()
        if not run_part(name, options.quick, options.output):
            failed.append(name)
        times[name] = time.perf_counter() - start
    print("\nSeconds per part:")
    for name, seconds in times.items():
        print(f"  {name:20} {seconds:7.1f}{'  FAILED' if name in failed else ''}")
    print(f"  {'all':20} {sum(times.values()):7.1f}", flush=True)
    command = [sys.executable, str(FOLDER / "report.py"), str(options.output), "--failed", *failed]
    reported = subprocess.run(command).returncode == 0
    if failed:
        print(f"Failed: {', '.join(failed)}")
    return int(bool(failed) or not reported)


if __name__ == "__main__":
    sys.exit(main())
