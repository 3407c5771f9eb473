"""Many examples in several processes: failures by kind, each with its shortest example."""

import collections
import gc
import json
import logging
import multiprocessing
import os
import pathlib
import random
import resource
import tempfile
import time
from multiprocessing import connection

import hypothesis
import numpy as np
import pytensor

from . import afterwards, models, tree_calls
from .case import IMPORTS
from .inputs import VALUES
from .judge import judge

BATCH = 100
CHOICES = 4096  # bytes of which the choices of an example are made, some times what the longest needs
ADDRESS_SPACE = 8 * 2**30  # bytes; imports and machine code take some two of them
PATIENCE = 1000.0  # seconds for one example: kernels hold the interpreter, so that its own limit may pass unnoticed
ALL = tuple(VALUES)


# Examples of each kind among a thousand, and where they come from.
KINDS = {
    "steps": (310, models.step_cases(ALL)),
    "priors": (60, models.prior_cases()),
    "trees": (140, tree_calls.tree_cases(ALL)),
    "from_data": (20, tree_calls.from_data_cases()),
    "statistics": (220, afterwards.cases_of("statistics")),
    "predictions": (200, afterwards.cases_of("predictions", ALL)),
    "plots": (50, afterwards.cases_of("plots")),
}


def batches_of(examples, seed, kinds):
    """Kind, seed and size of the batches of a campaign, in random order."""
    rng, found = np.random.default_rng(seed), []
    total = sum(KINDS[kind][0] for kind in kinds)
    for kind in kinds:
        left = -(-examples * KINDS[kind][0] // total)
        while left > 0:
            found.append((kind, int(rng.integers(2**60)), min(left, BATCH)))
            left -= BATCH
    return [found[k] for k in rng.permutation(len(found))]


def run_batch(seed, count, strategy, tell):
    """Judge ``count`` examples; ``tell`` gets each case before it runs, and its outcome afterwards.

    Hypothesis makes the examples of random bytes.  Its own search compares each example with all earlier ones and
    varies them, which takes as long again as making them.
    """

    @hypothesis.settings(database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(strategy)
    def attack(case):
        tell(case, None)
        tell(case, judge(case))

    rng = random.Random(seed)
    for _ in range(count):
        attack.hypothesis.fuzz_one_input(rng.randbytes(CHOICES))


def _work(kind, seed, count, path):
    """Judge a batch; lines of JSON say what is running and what has failed."""
    # Ctrl-C is for the process that reports.
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, resource.RLIM_INFINITY))
    logging.getLogger("pymc").setLevel(logging.CRITICAL)
    # Every variable of a graph would keep the stack of its making, at a fifth of the time.
    pytensor.config.traceback__limit = 0
    # Garbage collection need not visit what is imported.
    gc.freeze()
    with open(path, "w", buffering=1) as log:

        def tell(case, outcome):
            entry = ["running", case.kind, case.program, ""]
            if outcome is not None:
                entry = [outcome.verdict, *([outcome.detail, case.program, outcome.message] if outcome.failed else [])]
            log.write(json.dumps(entry) + "\n")

        run_batch(seed, count, KINDS[kind][1], tell)


class Campaign:
    """A number of examples; each batch has a process, which may crash or hang: the rest of the batch is lost then."""

    def __init__(self, examples, seed, processes=2, kinds=tuple(KINDS)):
        self.batches, self.processes = batches_of(examples, seed, kinds), processes
        self.verdicts, self.failures, self.shortest = collections.Counter(), collections.Counter(), {}
        self.done, self.begun, self.stopped = 0, time.perf_counter(), False

    def run(self, progress=print):
        """Run all examples, or those until :meth:`stop`."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        folder, waiting, running = pathlib.Path(tempfile.mkdtemp(prefix="attack")), self.batches[::-1], {}
        self.begun = last = time.perf_counter()
        while (waiting or running) and not self.stopped:
            while waiting and len(running) < self.processes:
                path = folder / f"{len(waiting)}"
                path.touch()
                process = context.Process(target=_work, args=(*waiting.pop(), str(path)), daemon=True)
                process.start()
                running[process] = path
            connection.wait([process.sentinel for process in running], timeout=1.0)
            for process in [*running]:
                if time.time() - running[process].stat().st_mtime > PATIENCE:
                    process.kill()
                    self.read(running.pop(process), "hangs", f"no answer in {PATIENCE:.0f} s")
                elif not process.is_alive():
                    self.read(running.pop(process), process.exitcode and "crash", f"exit code {process.exitcode}")
            if time.perf_counter() - last > 30.0:
                last = time.perf_counter()
                progress(self.line())
        for process, path in running.items():
            process.kill()
            self.read(path)
        progress(self.line())

    def stop(self, *_):
        """End the campaign soon; a handler of signals."""
        self.stopped = True

    def read(self, path, lost=None, why=""):
        """Count what a process has said, and the example that it lost if it failed."""
        self.done += 1
        entries = [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        for verdict, *failed in entries:
            if verdict != "running":
                self.note(verdict, *failed)
        if lost:
            begun = [["", "before the first example", ""], *(entry for entry in entries if entry[0] == "running")]
            self.note(lost, *begun[-1][1:3], why)

    def note(self, verdict, *failed):
        """Count an outcome, and keep the shortest example of each kind of failure."""
        self.verdicts[verdict] += 1
        if failed:
            detail, program, message = failed
            key = f"{verdict} | {detail}"
            self.failures[key] += 1
            known = self.shortest.get(key, (program, message))
            self.shortest[key] = min(known, (program, message), key=lambda example: len(example[0]))

    def line(self):
        """Progress so far, in one line."""
        parts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.most_common())
        seconds, done = time.perf_counter() - self.begun, f"{self.done} of {len(self.batches)} batches"
        return f"{self.verdicts.total()} examples in {seconds:.0f} s: {parts}; {done}"

    def report(self):
        """The whole report as text, the most frequent failures first."""
        entries = [f"# Attack\n\n{self.line()}\n\nPrograms run after:\n\n```python\n{IMPORTS}```\n"]
        for key, count in self.failures.most_common():
            program, message = self.shortest[key]
            entries.append(f"### {key} ({count})\n\n{message[:600]}\n\n```python\n{program.rstrip()}\n```\n")
        return "\n".join(entries)
