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

import hypothesis
import numpy as np
import pytensor

from . import afterwards, models, tree_calls
from .case import IMPORTS
from .inputs import VALUES
from .judge import judge

BATCH = 50
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
    "statistics": (220, afterwards.statistic_cases()),
    "predictions": (200, afterwards.prediction_cases(ALL)),
    "plots": (50, afterwards.plot_cases()),
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


def _work(batches, following, path):
    """Judge batches from ``following`` on, which all processes share; lines of JSON say what happened."""
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
            entry = ["running", case.kind, case.program]
            if outcome is not None:
                failed = [outcome.detail, case.program, outcome.message] if outcome.failed else []
                entry = [outcome.verdict, *failed]
            log.write(json.dumps(entry) + "\n")

        while True:
            with following.get_lock():
                number = following.value
                following.value += 1
            if number >= len(batches):
                return
            kind, seed, count = batches[number]
            run_batch(seed, count, KINDS[kind][1], tell)


class Campaign:
    """A number of examples, shared out among processes that may crash or hang; the rest of a batch is lost then."""

    def __init__(self, examples, seed, processes=2, kinds=tuple(KINDS)):
        self.batches, self.processes = batches_of(examples, seed, kinds), processes
        self.context = multiprocessing.get_context("spawn")
        self.following = self.context.Value("q", 0)
        self.verdicts, self.failures, self.shortest = collections.Counter(), collections.Counter(), {}
        self.begun, self.stopped = time.perf_counter(), False

    def run(self, progress=print):
        """Run all examples, or those until :meth:`stop`."""
        self.begun = last = time.perf_counter()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="attack"))
        workers = [Worker(folder / f"{k}", self) for k in range(self.processes)]
        while not self.stopped and sum(worker.look() for worker in workers) > 0:
            time.sleep(0.2)
            if time.perf_counter() - last > 30.0:
                last = time.perf_counter()
                progress(self.line())
        for worker in workers:
            worker.end()
        progress(self.line())

    def stop(self, *_):
        """End the campaign soon; a handler of signals."""
        self.stopped = True

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
        done = f"{min(self.following.value, len(self.batches))} of {len(self.batches)} batches begun"
        return f"{self.verdicts.total()} examples in {time.perf_counter() - self.begun:.0f} s: {parts}; {done}"

    def report(self):
        """The whole report as text, the most frequent failures first."""
        entries = [f"# Attack\n\n{self.line()}\n\nPrograms run after:\n\n```python\n{IMPORTS}```\n"]
        for key, count in self.failures.most_common():
            program, message = self.shortest[key]
            entries.append(f"### {key} ({count})\n\n{message[:600]}\n\n```python\n{program.rstrip()}\n```\n")
        return "\n".join(entries)


class Worker:
    """A sequence of processes, each of which continues after the batch in which the last one died."""

    def __init__(self, path, campaign):
        self.path, self.campaign = path, campaign
        self._start()

    def _start(self):
        self.path.unlink(missing_ok=True)
        self.running, self.since, self.place = None, time.perf_counter(), 0
        given = (self.campaign.batches, self.campaign.following, str(self.path))
        self.process = self.campaign.context.Process(target=_work, args=given, daemon=True)
        self.process.start()

    def look(self):
        """Read what is new, deal with a process that ended or hangs, and say whether there is more to come."""
        code = self.process.exitcode
        self._read()
        if code == 0:
            return False
        waiting = time.perf_counter() - self.since
        if code is not None or waiting > PATIENCE:
            lost = ("hangs", f"no answer in {waiting:.0f} s") if code is None else ("crash", f"exit code {code}")
            self.end()
            if self.running is not None:
                self.campaign.note(lost[0], *self.running, lost[1])
            self._start()
        return True

    def end(self):
        """Kill the process, and read what it has written."""
        self.process.kill()
        self.process.join()
        self._read()

    def _read(self):
        if not self.path.exists():
            return
        with open(self.path) as log:
            log.seek(self.place)
            for line in log:
                if not line.endswith("\n"):
                    break
                self.place += len(line.encode())
                verdict, *rest = json.loads(line)
                if verdict == "running":
                    self.running, self.since = rest, time.perf_counter()
                else:
                    self.campaign.note(verdict, *rest)
