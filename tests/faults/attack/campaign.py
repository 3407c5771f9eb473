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
from .judge import SECONDS, judge

BATCH = 50
CHOICES = 4096  # bytes of which the choices of an example are made, some times what the longest needs
ADDRESS_SPACE = 8 * 2**30  # bytes; imports and machine code take some two of them
ALL = tuple(VALUES)


# Examples of each kind among a thousand, and where they come from.
KINDS = {
    "steps": (300, models.step_cases(ALL)),
    "priors": (60, models.prior_cases()),
    "trees": (140, tree_calls.tree_cases(ALL)),
    "from_data": (20, tree_calls.from_data_cases()),
    "statistics": (220, afterwards.statistic_cases()),
    "predictions": (200, afterwards.prediction_cases(ALL)),
    "plots": (50, afterwards.plot_cases()),
    "runs": (9, models.run_cases(ALL)),
    "hyperpriors": (1, models.hyperprior_cases(ALL)),
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


class Failures:
    """Failures by kind, with how often each was seen, and its shortest example."""

    def __init__(self):
        self.counts = collections.Counter()
        self.examples = {}

    def add(self, verdict, detail, program, message):
        key = f"{verdict} | {detail}"
        self.counts[key] += 1
        best = self.examples.get(key)
        if best is None or len(program) < len(best[0]):
            self.examples[key] = (program, message)

    def report(self):
        """Text with one entry for each kind, the most frequent first."""
        entries = []
        for key, count in self.counts.most_common():
            program, message = self.examples[key]
            entries.append(f"### {key} ({count})\n\n{message[:600]}\n\n```python\n{program.rstrip()}\n```\n")
        return "\n".join(entries)


def _work(batches, following, path):
    """Judge batch after batch, and write what happened as lines of JSON; the last line says what was running.

    ``following`` is the number of the next batch, which all processes share.
    """
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
            if outcome is None:
                log.write(json.dumps(["running", case.kind, case.program]) + "\n")
            elif outcome.failed:
                log.write(json.dumps([outcome.verdict, outcome.detail, case.program, outcome.message]) + "\n")
            else:
                log.write(json.dumps([outcome.verdict, case.kind]) + "\n")

        while True:
            with following.get_lock():
                number = following.value
                following.value += 1
            if number >= len(batches):
                return
            log.write(json.dumps(["batch", number]) + "\n")
            kind, seed, count = batches[number]
            run_batch(seed, count, KINDS[kind][1], tell)


class Campaign:
    """A number of examples, shared out among processes that may crash or hang.

    If a process is lost, so is the rest of its batch.

    Parameters
    ----------
    examples, seed, processes : int
    kinds : sequence of str
        Those of ``KINDS``.
    skip : int
        Number of batches to leave out, those that an earlier campaign with the same examples, seed and kinds has done.
    patience : float
        CPU seconds without a new example after which a process is killed; kernels hold the interpreter, so that the
        limit of a single example may pass unnoticed.  Twenty times as many seconds of any clock count as well.
    """

    def __init__(self, examples, seed, processes=2, kinds=tuple(KINDS), skip=0, patience=15 * SECONDS):
        self.batches, self.processes, self.patience = batches_of(examples, seed, kinds), processes, patience
        self.context = multiprocessing.get_context("spawn")
        self.following = self.context.Value("q", skip)
        self.failures, self.verdicts = Failures(), collections.Counter()
        self.workers, self.begun, self.stopped = [], time.perf_counter(), False

    def run(self, progress=print):
        """Run all examples, or those until :meth:`stop`, and return the failures."""
        self.begun = last = time.perf_counter()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="attack"))
        self.workers = [Worker(folder / f"{k}", self) for k in range(self.processes)]
        while any(worker.is_busy for worker in self.workers) and not self.stopped:
            for worker in self.workers:
                worker.look()
            time.sleep(0.2)
            if time.perf_counter() - last > 30.0:
                last = time.perf_counter()
                progress(self.line())
        for worker in self.workers:
            worker.end()
        progress(self.line())
        return self.failures

    def stop(self, *_):
        """End the campaign soon; a handler of signals."""
        self.stopped = True

    @property
    def n_done(self):
        """All batches before this one are done."""
        running = [worker.number for worker in self.workers if worker.number is not None]
        return min([*running, self.following.value, len(self.batches)])

    def line(self):
        """Progress so far, in one line."""
        done, seconds = sum(self.verdicts.values()), time.perf_counter() - self.begun
        cpu = sum(worker.cpu_seconds for worker in self.workers)
        parts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.most_common())
        return (
            f"{done} examples in {seconds:.0f} s, {done / max(cpu, 1.0):.1f} per CPU second: {parts}; "
            f"{self.n_done} of {len(self.batches)} batches done"
        )

    def note(self, entry):
        """Count one line of a worker's log."""
        self.verdicts[entry[0]] += 1
        if len(entry) == 4:
            self.failures.add(*entry)


def cpu_seconds(pid):
    """CPU time of a process so far; the time of a clock where the system does not tell."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.perf_counter()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """A sequence of processes, each of which continues after the batch in which the last one died."""

    def __init__(self, path, campaign):
        self.path, self.campaign = path, campaign
        self.cpu_of_ended = 0.0
        self._start()

    def _start(self):
        self.path.unlink(missing_ok=True)
        self.running, self.number, self.since, self.place = None, None, time.perf_counter(), 0
        self.cpu_before = self.cpu_now = 0.0
        given = (self.campaign.batches, self.campaign.following, str(self.path))
        self.process = self.campaign.context.Process(target=_work, args=given, daemon=True)
        self.process.start()

    @property
    def is_busy(self):
        return self.process is not None

    @property
    def cpu_seconds(self):
        """CPU time of all processes of this worker."""
        return self.cpu_of_ended + self.cpu_now

    def look(self):
        """Read what is new, and deal with a process that ended or hangs."""
        if self.process is None:
            return
        ended = not self.process.is_alive()
        if not ended:
            self.cpu_now = cpu_seconds(self.process.pid)
        self._read()
        waiting = time.perf_counter() - self.since
        working = min(self.cpu_now - self.cpu_before, waiting)
        if not ended and max(working, waiting / 20.0) > self.campaign.patience:
            self._lost("hangs", f"no answer in {working:.0f} CPU s, {waiting:.0f} s in all")
        elif ended and self.process.exitcode == 0:
            self.process, self.number = None, None
        elif ended:
            self._lost("crash", f"exit code {self.process.exitcode}")

    def end(self):
        """Kill the process, if there is one."""
        if self.process is not None:
            self._read()
            self.process.kill()
            self.process.join()
            self.process = None

    def _read(self):
        if not self.path.exists():
            return
        with open(self.path) as log:
            log.seek(self.place)
            for line in log:
                if not line.endswith("\n"):
                    break
                self.place += len(line.encode())
                entry = json.loads(line)
                if entry[0] == "running":
                    self.running, self.since, self.cpu_before = entry, time.perf_counter(), self.cpu_now
                elif entry[0] == "batch":
                    self.number = entry[1]
                else:
                    self.campaign.note(entry)

    def _lost(self, verdict, message):
        if self.running is not None:
            _, kind, program = self.running
            self.campaign.note([verdict, kind, program, message])
        self.end()
        self.cpu_of_ended += self.cpu_now
        self._start()


def report(campaign):
    """The whole report as text."""
    head = f"# Attack\n\n{campaign.line()}\n\nPrograms run after:\n\n```python\n{IMPORTS}```\n\n"
    return head + campaign.failures.report()
