"""Peak memory of sampling: bytes per item and sampler, what the trace adds, and a sparse corpus (Linux only).

Run with ``python benchmarks/memory.py [--quick] [--output FOLDER]``.
"""

import ctypes
import gc
import os
from pathlib import Path

from common.part import Part, markdown
from common.processes import call

SAMPLERS = ("TreeGuided", "SplitMerge", "MarginalGibbs")
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
SHORT, LONG, N_CLUSTERS = 10, 40, 30
MEGA = 1e6


def resident(field):
    """Bytes in use now ("VmRSS") or their maximum since the last reset ("VmHWM")."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def peak(model, sampler, draws, initial=None):
    """Largest increase of memory during sampling, in bytes, and the number of clusters at the end."""
    from common.models import sample

    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        # Memory that is free but not returned to the system would hide what sampling takes.
        trim(0)
    CLEAR.write_text("5")
    before = resident("VmRSS")
    idata = sample(model, sampler, draws, tune=0, initvals=initial)
    return resident("VmHWM") - before, int(idata.posterior["z_n_clusters"].values[0, -1])


def plane_peak(n, sampler, draws):
    """Peak for n items of 30 Gaussian clusters in the plane, from the true clusters."""
    from common.data import gaussian_clusters
    from common.models import mixture, sample, small_data

    from pymc_nrm.partitions.labels import canonical_labels

    # Compilation has its own peak, so make a small run of the same types first.
    sample(mixture("NormalWishart", small_data("NormalWishart", 100)), sampler, 2, tune=0)
    X, labels = gaussian_clusters(n, 2, N_CLUSTERS, separation=40.0)
    model = mixture("NormalWishart", X)
    rise, n_clusters = peak(model, sampler, draws, {"z": canonical_labels(labels)})
    case = {"data": "plane", "n": n, "sampler": sampler, "draws": draws}
    return case | {"bytes": X.nbytes, "rise": rise, "clusters": n_clusters}


def corpus_peak(sampler, draws):
    """Peak for 1500 documents as a sparse matrix, from the sampler's own start."""
    from common.corpus import simulated_corpus
    from common.models import mixture, sample

    sample(mixture("MultinomialDirichlet", simulated_corpus(20, 50, 3)), sampler, 2, tune=0)
    counts = simulated_corpus()
    size = counts.data.nbytes + counts.indices.nbytes + counts.indptr.nbytes
    rise, n_clusters = peak(mixture("MultinomialDirichlet", counts), sampler, draws)
    case = {"data": "corpus", "n": counts.shape[0], "sampler": sampler, "draws": draws}
    return case | {"bytes": size, "rise": rise, "clusters": n_clusters}


def measure(quick, note):
    if not (STATUS.exists() and os.access(CLEAR, os.W_OK)):
        note("Memory skipped: the peak is read from /proc, which Linux has.")
        return []
    rows = []
    for n in (10_000,) if quick else (10_000, 100_000):
        for sampler in SAMPLERS:
            lengths = (SHORT, LONG) if sampler == "MarginalGibbs" or not quick else (SHORT,)
            rows += [call(plane_peak, n=n, sampler=sampler, draws=draws) for draws in lengths]
    if quick:
        note("Memory at n = 100,000 and of the corpus skipped in the quick form.")
        return rows
    return rows + [call(corpus_peak, sampler=sampler, draws=SHORT) for sampler in ("TreeGuided", "MarginalGibbs")]


def trace_bytes(rows, n, sampler):
    """Additional bytes per item and draw of longer runs, or None if there is no longer run."""
    rises = {r["draws"]: r["rise"] for r in rows if (r["data"], r["n"], r["sampler"]) == ("plane", n, sampler)}
    return (rises[LONG] - rises[SHORT]) / ((LONG - SHORT) * n) if LONG in rises else None


def per_item(rows, n, sampler):
    """Bytes per item of a short run."""
    [row] = [r for r in rows if (r["data"], r["n"], r["sampler"], r["draws"]) == ("plane", n, sampler, SHORT)]
    return row["rise"] / n


def table(rows):
    titles = ["data", "items", "sampler", "draws", "clusters", "data (MB)", "rise at the peak (MB)", "bytes per item"]
    lines = []
    for r in rows:
        counts = [r["data"], r["n"], r["sampler"], r["draws"], r["clusters"]]
        lines.append([*counts, r["bytes"] / MEGA, r["rise"] / MEGA, r["rise"] / r["n"]])
    cases = sorted({(r["n"], r["sampler"]) for r in rows if r["data"] == "plane" and r["draws"] == LONG})
    lines_added = []
    for n, sampler in cases:
        trace = trace_bytes(rows, n, sampler)
        lines_added.append([n, sampler, trace, per_item(rows, n, sampler) - SHORT * trace])
    added = markdown(["items", "sampler", "trace: bytes per item and draw", "the rest: bytes per item"], lines_added)
    return (
        "By how much resident memory rises while `pm.sample` runs: the peak less what the process held before with\n"
        "model and data, compilation excluded; one chain, one run each.  Plane: Gaussian clusters, d = 2,\n"
        f"`NormalWishart`, NGG(1, 0.1), {N_CLUSTERS} true clusters as start.  Corpus: 1500 documents of 12,419 words,\n"
        "sparse, `MultinomialDirichlet`, start of the sampler's choice; PyMC evaluates the observed data as a dense\n"
        f"table when sampling ends.\n\n{markdown(titles, lines)}\n"
        f"What {LONG - SHORT} more draws add; a label takes 8 bytes in a draw.\n\n{added}"
    )


def headline(rows):
    plane = [r for r in rows if r["data"] == "plane"]
    if not plane:
        return []
    n = max(r["n"] for r in plane)
    sizes = {r["sampler"]: per_item(rows, n, r["sampler"]) for r in plane if r["n"] == n}
    least, most = min(sizes, key=sizes.get), max(sizes, key=sizes.get)
    measured = f"{sizes[least]:.0f} (`{least}`) to {sizes[most]:.0f} (`{most}`) bytes per item"
    return [(f"Memory of sampling {n:,} items in the plane, {SHORT} draws", measured, None, None)]


PART = Part("memory", measure, table, headline=headline)

if __name__ == "__main__":
    PART.main()
