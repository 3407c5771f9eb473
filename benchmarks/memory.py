"""Peak memory of sampling: bytes per item and sampler, what the trace adds, and a sparse corpus (Linux only)."""

from common.part import Part, columns, groups, where
from common.processes import call, rise_of_memory, tells_memory

SAMPLERS = ("TreeGuided", "SplitMerge", "MarginalGibbs")
SHORT, LONG, N_CLUSTERS = 10, 40, 30
MEGA = 1e6


def peak(family, few, X, size, case, initial=None):
    """Row of the largest increase of memory during sampling, and of the number of clusters at the end."""
    from common.data import mixture, sample

    # Compilation has its own peak, so make a small run of the same types first.
    sample(mixture(family, few), case["sampler"], 2, tune=0)
    model = mixture(family, X)
    rise, idata = rise_of_memory(lambda: sample(model, case["sampler"], case["draws"], tune=0, initvals=initial))
    return case | {"bytes": size, "rise": rise, "clusters": int(idata.posterior["z_n_clusters"].values[0, -1])}


def plane_peak(n, sampler, draws):
    """Peak for n items of 30 Gaussian clusters in the plane, from the true clusters."""
    from common.data import gaussian_clusters, small_data

    from pymc_nrm.partitions.labels import canonical_labels

    X, labels = gaussian_clusters(n, 2, N_CLUSTERS, separation=40.0)
    case = {"data": "plane", "n": n, "sampler": sampler, "draws": draws}
    few = small_data("NormalWishart", 100)
    return peak("NormalWishart", few, X, X.nbytes, case, {"z": canonical_labels(labels)})


def corpus_peak(sampler, draws):
    """Peak for 1500 documents as a sparse matrix, from the sampler's own start."""
    from common.data import simulated_corpus

    counts = simulated_corpus()
    size = counts.data.nbytes + counts.indices.nbytes + counts.indptr.nbytes
    case = {"data": "corpus", "n": counts.shape[0], "sampler": sampler, "draws": draws}
    return peak("MultinomialDirichlet", simulated_corpus(20, 50, 3), counts, size, case)


def measure(quick, note):
    if not tells_memory(note):
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
    rises = {row["draws"]: row["rise"] for row in where(rows, data="plane", n=n, sampler=sampler)}
    return (rises[LONG] - rises[SHORT]) / ((LONG - SHORT) * n) if LONG in rises else None


def table(rows):
    shown = {"data": "data", "items": "n", "sampler": "sampler", "draws": "draws", "clusters": "clusters"}
    shown |= {"data (MB)": lambda row: row["bytes"] / MEGA, "rise at the peak (MB)": lambda row: row["rise"] / MEGA}
    shown["bytes per item"] = lambda row: row["rise"] / row["n"]
    added = []
    for n, sampler in sorted(groups(where(rows, data="plane", draws=LONG), "n", "sampler")):
        trace = trace_bytes(rows, n, sampler)
        [short] = where(rows, data="plane", n=n, sampler=sampler, draws=SHORT)
        added.append(short | {"trace": trace, "rest": short["rise"] / n - SHORT * trace})
    titles = {"items": "n", "sampler": "sampler"}
    titles |= {"trace: bytes per item and draw": "trace", "the rest: bytes per item": "rest"}
    return (
        "By how much resident memory rises while `pm.sample` runs: the peak less what the process held before with\n"
        "model and data, compilation excluded; one chain, one run each.  Plane: Gaussian clusters, d = 2,\n"
        f"`NormalWishart`, NGG(1, 0.1), {N_CLUSTERS} true clusters as start.  Corpus: 1500 documents of 12,419 words,\n"
        "sparse, `MultinomialDirichlet`, start of the sampler's choice; PyMC evaluates the observed data as a dense\n"
        f"table when sampling ends.\n\n{columns(rows, shown)}\n"
        f"What {LONG - SHORT} more draws add; a label takes 8 bytes in a draw.\n\n{columns(added, titles)}"
    )


def headline(rows):
    plane = where(rows, data="plane", draws=SHORT)
    if not plane:
        return []
    n = max(row["n"] for row in plane)
    sizes = {row["sampler"]: row["rise"] / n for row in where(plane, n=n)}
    least, most = min(sizes, key=sizes.get), max(sizes, key=sizes.get)
    measured = f"{sizes[least]:.0f} (`{least}`) to {sizes[most]:.0f} (`{most}`) bytes per item"
    return [(f"Memory of sampling {n:,} items in the plane, {SHORT} draws", measured, None, None)]


PART = Part("memory", measure, table, headline=headline)
