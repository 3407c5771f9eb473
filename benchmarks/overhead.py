"""What PyMC and the package cost beside the kernels: time per draw, import, first draw, memory.

Run with ``python benchmarks/overhead.py``.  Every measurement but the first runs in processes of its own.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The first thing that a measurement of the import may load is the import itself.
if __name__ == "__main__" and sys.argv[1:] == ["import"]:
    import pymc  # noqa: F401

    start = time.perf_counter()
    import pymc_nrm  # noqa: F401

    print(f"{time.perf_counter() - start:.3f}")
    sys.exit()

import numpy as np
import pymc as pm
from common.machine import describe
from scipy import sparse

import pymc_nrm as nrm


def gaussian_data(n, seed=1):
    """Six overlapping Gaussian clusters in the plane."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 3, (6, 2))[rng.integers(0, 6, n)] + rng.normal(size=(n, 2))


def gaussian_model(n, *, fixed=True):
    with pm.Model() as model:
        if fixed:
            measure, scale = nrm.NormalizedGeneralizedGamma(1.0, 0.1), 5.0
        else:
            measure = nrm.NormalizedGeneralizedGamma(pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1, 4))
            scale = pm.LogNormal("scale", 1.5, 0.5)
        z = nrm.Partition("z", measure, n=n)
        family = nrm.NormalWishart(mu=np.zeros(2), kappa=0.1, Psi=scale * np.eye(2), nu=8)
        nrm.Mixture("x", z, family, observed=gaussian_data(n))
    return model


def corpus_model(n=1500, n_words=12419, n_tokens=1200):
    """Documents of ten topics, as sparse as the abstracts and papers of a conference."""
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(n_words, 0.05), 10)
    rows = [sparse.csr_array(rng.multinomial(n_tokens, topics[i % 10])[None]) for i in range(n)]
    counts = sparse.csr_array(sparse.vstack(rows))
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=n)
        nrm.Mixture("words", z, nrm.MultinomialDirichlet(0.1), observed=counts)
    return model, counts


def sample(model, draws, **kwargs):
    options = {"chains": 1, "cores": 1, "progressbar": False, "quiet": True, "random_seed": 1}
    with model:
        return pm.sample(draws, compute_convergence_checks=False, **(options | kwargs))


def per_draw(fixed):
    """Milliseconds per draw in kernels that move the partition, in the rest of its step, and in all of PyMC."""
    model = gaussian_model(1000, fixed=fixed)
    spent = {"moves": 0.0, "steps": 0.0}
    with model:
        step = nrm.MarginalGibbs([model["z"]])

    def timed(function, name):
        def wrapper(*arguments):
            start = time.perf_counter()
            result = function(*arguments)
            spent[name] += time.perf_counter() - start
            return result

        return wrapper

    step.moves, step.step = timed(step.moves, "moves"), timed(step.step, "steps")
    times = []

    def note(trace, draw):
        if not draw.tuning:
            times.append((time.perf_counter(), *spent.values()))

    sample(model, 2000, tune=1000, step=[step], callback=note)
    total, moves, steps = (1000 * np.diff(times, axis=0)).mean(axis=0)
    return moves, steps - moves, total - steps


def first_draw():
    """Seconds from the call of pm.sample to the first draw."""
    model = gaussian_model(1000)
    moments = []
    start = time.perf_counter()
    sample(model, 5, tune=0, callback=lambda trace, draw: moments.append(time.perf_counter() - start))
    print(f"{moments[0]:.2f}")


def resident(field):
    """Megabytes in use now ("VmRSS") or at most so far ("VmHWM"); Linux only."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def peak_memory(kind):
    """Megabytes before and at the peak of a run, and its time."""
    # Compilation has its own peak: a small run of the same types comes first.
    if kind == "gaussian":
        sample(gaussian_model(1000), 3, tune=0)
        model, size = gaussian_model(100_000), 100_000 * 2 * 8
    else:
        sample(corpus_model(20, 50, 10)[0], 3, tune=0)
        model, counts = corpus_model()
        size = counts.data.nbytes + counts.indices.nbytes + counts.indptr.nbytes
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    start = time.perf_counter()
    idata = sample(model, 10, tune=10)
    seconds = time.perf_counter() - start
    n_clusters = idata.posterior["z_n_clusters"].values[0, -1]
    print(
        f"{before:.0f} MB before sampling, {resident('VmHWM'):.0f} MB at the peak; data {size / 1e6:.1f} MB; "
        f"20 draws in {seconds:.1f} s, {n_clusters} clusters at the end"
    )


def child(*arguments, cache=None):
    environment = dict(os.environ)
    if cache:
        environment["NUMBA_CACHE_DIR"] = os.path.join(cache, "numba")
        environment["PYTENSOR_FLAGS"] = f"base_compiledir={os.path.join(cache, 'pytensor')}"
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


def main():
    print(describe())
    for fixed in (True, False):
        moves, rest, outside = per_draw(fixed)
        kind = "fixed hyperparameters" if fixed else "NUTS on hyperparameters"
        print(
            f"per draw, n = 1000, {kind}: kernels {moves:.3f} ms, rest of the step {rest:.3f} ms, "
            f"PyMC{'' if fixed else ' and NUTS'} outside of the step {outside:.3f} ms"
        )
    imports = [float(child("import")) for _ in range(5)]
    print(f"import beyond PyMC: {np.median(imports):.3f} s (median of 5; {min(imports):.3f} to {max(imports):.3f})")
    with tempfile.TemporaryDirectory() as cache:
        cold = float(child("first_draw", cache=cache))
        warm = [float(child("first_draw", cache=cache)) for _ in range(3)]
    print(f"first draw after pm.sample: cold cache {cold:.2f} s, warm {np.median(warm):.2f} s (median of 3)")
    print(f"memory, n = 100,000, d = 2: {child('memory', 'gaussian')}")
    print(f"memory, 1500 documents, 12,419 words: {child('memory', 'corpus')}")


if __name__ == "__main__":
    if sys.argv[1:] == ["first_draw"]:
        first_draw()
    elif sys.argv[1:2] == ["memory"]:
        peak_memory(sys.argv[2])
    else:
        main()
