"""Waiting times: import, first draw of ``pm.sample`` with cold and warm caches, PyMC's time besides the kernels."""

import os
import tempfile
import time

from common.part import Part, groups, interval, markdown, spread, where
from common.processes import call

# Import nothing else here, since measuring an import requires that nothing is loaded before it.

FIXED, NUTS = "fixed", "NUTS"
SAMPLERS = ("TreeGuided", "SplitMerge", "MarginalGibbs")
FAMILIES = ("NormalWishart", "BernoulliBeta", "MultinomialDirichlet")
# First draws with fixed hyperparameters, each with separate caches.
CASES = (*(("NormalWishart", sampler) for sampler in SAMPLERS), *((family, "TreeGuided") for family in FAMILIES[1:]))
N, WARM_TARGET, IMPORT_TARGET = 1000, 1.0, 0.3


def import_time():
    """Wall and CPU seconds that ``import pymc_nrm`` takes after ``import pymc``."""
    import pymc  # noqa: F401

    start, processor = time.perf_counter(), time.process_time()
    import pymc_nrm  # noqa: F401

    return time.perf_counter() - start, time.process_time() - processor


def first_draw(family, sampler, hyperparameters):
    """Wall and CPU seconds from the construction of the step, or the call of ``pm.sample``, to the first draw."""
    from common.data import mixture, sample, small_data

    model = mixture(family, small_data(family, N), hyperpriors=hyperparameters == NUTS)
    moments = []
    start, processor = time.perf_counter(), time.process_time()

    def note(trace, draw):
        moments.append((time.perf_counter() - start, time.process_time() - processor))

    sample(model, sampler, 2, tune=0, callback=note)
    return moments[0]


def time_per_draw(sampler, hyperparameters, draws):
    """CPU milliseconds per draw in moves, in the rest of the step, and outside it; shape (10 blocks of draws, 3)."""
    import numpy as np
    import pymc as pm
    from common.data import mixture, small_data

    import pymc_nrm as nrm

    model = mixture("NormalWishart", small_data("NormalWishart", N), hyperpriors=hyperparameters == NUTS)
    spent = {"moves": 0.0, "steps": 0.0}

    def timed(function, name):
        def wrapper(*arguments):
            start = time.process_time()
            result = function(*arguments)
            spent[name] += time.process_time() - start
            return result

        return wrapper

    times = []

    def note(trace, draw):
        if not draw.tuning:
            times.append((time.process_time(), *spent.values()))

    with model:
        step = getattr(nrm.steps, sampler)([model["z"]])
        step.moves, step.step = timed(step.moves, "moves"), timed(step.step, "steps")
        options = {"chains": 1, "cores": 1, "progressbar": False, "quiet": True, "random_seed": 1}
        pm.sample(draws, tune=500, step=[step], callback=note, compute_convergence_checks=False, **options)
    places = np.linspace(0, len(times) - 1, 11).astype(int)
    total, moves, steps = (1000 * np.diff(np.array(times)[places], axis=0) / np.diff(places)[:, None]).T
    return np.stack([moves, steps - moves, total - steps], axis=1).tolist()


def row(what, measured, **labels):
    """One row from repeated pairs of wall and CPU seconds."""
    clock, processor = zip(*measured, strict=True)
    return {"what": what, **labels, "repeats": len(measured), **spread(clock), "cpu": spread(processor)["median"]}


def first_draws(cache, case, *, before, repeats=3):
    """Rows of first draws: in the process that fills the caches, if their state ``before`` has a name, and later."""
    labels = dict(zip(("family", "sampler", "hyperparameters"), case, strict=True))
    filling = call(first_draw, cache=cache, **labels)
    warm = [call(first_draw, cache=cache, **labels) for _ in range(repeats)]
    cold = [row("first draw", [filling], **labels, cache=before)] if before else []
    return [*cold, row("first draw", warm, **labels, cache="warm")]


def measure(quick, note):
    rows, gradient = [row("import", [call(import_time) for _ in range(3 if quick else 7)])], None
    timed = (("MarginalGibbs", FIXED), ("MarginalGibbs", NUTS), ("TreeGuided", FIXED))
    for sampler, hyperparameters in timed[:1] if quick else timed:
        blocks = call(time_per_draw, sampler=sampler, hyperparameters=hyperparameters, draws=500 if quick else 3000)
        labels = {"family": "NormalWishart", "sampler": sampler, "hyperparameters": hyperparameters}
        for place, values in zip(("moves", "rest of the step", "PyMC outside"), zip(*blocks, strict=True), strict=True):
            rows.append({"what": "draw", **labels, "place": place, "repeats": len(values), **spread(values)})
    if quick:
        note("Quick form: no cold caches and no NUTS, whose gradient takes a minute to compile; one repeat each.")
        return rows + [line for case in CASES for line in first_draws(None, (*case, FIXED), before=None, repeats=1)]
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            cache = {name: os.path.join(folder, *case, name) for name in ("numba", "pytensor")}
            rows += first_draws(cache, (*case, FIXED), before="cold")
            if case[0] == "NormalWishart":
                # All samplers share the log-probability and its gradient, so compile these slow graphs once.
                before = None if gradient else "kernels only"
                gradient = gradient or cache["pytensor"]
                rows += first_draws(cache | {"pytensor": gradient}, (*case, NUTS), before=before)
    return rows


def seconds(row):
    """A median with its range, if there is one."""
    return f"{row['median']:.2f}" if row["repeats"] == 1 else interval(row, ".2f")


# Hyperparameters and caches of first draws.
COLUMNS = ((FIXED, "cold"), (FIXED, "warm"), (NUTS, "kernels only"), (NUTS, "warm"))


def table(rows):
    [imported] = where(rows, what="import")
    first = []
    for case, here in groups(where(rows, what="first draw"), "family", "sampler").items():
        found = {(row["hyperparameters"], row["cache"]): seconds(row) for row in here}
        first.append([*case, *(found.get(key) for key in COLUMNS)])
    draws = []
    for (sampler, hyperparameters), here in groups(where(rows, what="draw"), "sampler", "hyperparameters").items():
        draws.append(f"{sampler}, {hyperparameters}: {', '.join(f'{row["median"]:.3f}' for row in here)}")
    return (
        f"`import pymc_nrm` after `import pymc` takes {seconds(imported)} s.  Seconds from the construction of the "
        f"step to the first draw; one chain, n = {N} items, NGG measure, a process each.  *fixed*: hyperparameters are "
        "numbers; *NUTS*: alpha, sigma and a scale are unknown.  *cold*: nothing is compiled; *kernels only*: all but "
        f"the gradient; *warm*: everything.\n\n{markdown(['family', 'sampler', *map(', '.join, COLUMNS)], first)}\n"
        f"CPU milliseconds of a draw of {N} items in the plane, in moves, the rest of the step, and PyMC with NUTS: "
        f"{'; '.join(draws)}.\n"
    )


def headline(rows):
    lines = []
    warm = where(rows, what="first draw", cache="warm", family="NormalWishart")
    for hyperparameters, here in groups(warm, "hyperparameters").items():
        claim = (
            f"First draw, warm caches, hyperparameters {hyperparameters}: {', '.join(row['sampler'] for row in here)}"
        )
        measured = ", ".join(f"{row['median']:.2f}" for row in here)
        met = all(row["median"] < WARM_TARGET for row in here)
        lines.append((claim, f"{measured} s", f"under {WARM_TARGET:.0f} s", met))
    [imported] = where(rows, what="import")
    met = imported["median"] < IMPORT_TARGET
    return [*lines, ("Import beyond `import pymc`", f"{seconds(imported)} s", f"under {IMPORT_TARGET} s", met)]


MEANING = (
    "Once kernels are on disk, a first draw takes a second, and one more with NUTS, whose gradient PyTensor rewrites "
    "anew in each process; moves are most of a draw."
)
PART = Part("latency", measure, table, headline=headline, meaning=MEANING)
