"""Topics of 16,242 posts by which of 100 words they have: time per draw, the topics found, and whether chains agree.

Run with ``python benchmarks/topics.py [--quick] [--output FOLDER]``.
"""

import common.one_core  # noqa: F401

# isort: split

import time

import numpy as np
from common import real_data_ours as ours
from common.functionals import convergence
from common.part import Part, markdown
from common.real_data_files import newsgroups
from common.real_data_fits import adjusted_rand_index

import pymc_nrm as nrm

N_CHAINS, N_WORDS, LEAST_SHARE = 2, 6, 0.01


def typical_words(X, inside):
    """The words with the largest excess of their frequency in a topic over that in all posts."""
    excess = X[inside].mean(axis=0) - X.mean(axis=0)
    chosen = np.argsort(-excess)[:N_WORDS]
    return [f"{X.columns[k]} {X[inside].iloc[:, k].mean():.2f}" for k in chosen]


def measure(quick, note):
    try:
        X, groups = newsgroups()
    except FileNotFoundError:
        note("skipped: 20news_w100.mat is not in ../shared/data")
        return []
    n_draws = 20 if quick else 150
    if quick:
        chosen = np.random.default_rng(1).choice(len(X), 1000, replace=False)
        X, groups = X.iloc[chosen], groups[chosen]
    model = nrm.mixture_model(X)
    stamps = [[] for _ in range(N_CHAINS)]

    def stamp(trace, draw):
        stamps[draw.chain].append(time.process_time())

    idata = ours.quietly(n_draws, n_draws, N_CHAINS, 1, model, callback=stamp)
    draws = np.diff([times[n_draws:] for times in stamps])
    labels, log_joint = idata.posterior["z"].values, idata["partition_stats/z"]["log_joint"].values
    scalars = np.stack([labels.max(axis=2) + 1.0, log_joint], axis=2)
    found = convergence(list(scalars))
    estimate = nrm.point_estimate(idata, random_seed=1, max_draws=100).labels.values
    alone = [
        nrm.point_estimate(idata.isel(chain=[c]), random_seed=1, max_draws=100).labels.values for c in range(N_CHAINS)
    ]
    rows = [
        {
            "what": "run",
            "n": len(X),
            "d": X.shape[1],
            "draws": n_draws,
            "milliseconds": 1e3 * float(np.median(draws)),
            "seconds": float(np.mean([times[-1] - times[0] for times in stamps])),
            "clusters": float(found["mean"][0]),
            "estimated": int(estimate.max() + 1),
            "r_hat_clusters": float(found["r_hat"][0]),
            "r_hat_log_joint": float(found["r_hat"][1]),
            "rand_of_chains": float(adjusted_rand_index(*alone)),
            "rand_of_groups": float(adjusted_rand_index(estimate, groups)),
        }
    ]
    for topic, size in sorted(enumerate(np.bincount(estimate)), key=lambda pair: -pair[1]):
        if size >= LEAST_SHARE * len(X):
            inside = estimate == topic
            names, counts = np.unique(groups[inside], return_counts=True)
            most = {"group": str(names[counts.argmax()]), "share_of_group": float(counts.max() / size)}
            rows.append({"what": "topic", "size": int(size), "words": typical_words(X, inside), **most})
    return rows


def table(rows):
    run, *topics = rows
    text = (
        f"{run['n']:,} posts to Usenet by which of {run['d']} words they have (Roweis); `mixture_model` of the table: "
        f"a Dirichlet process mixture of binary features whose hyperparameters are learned.  {N_CHAINS} chains of "
        f"{run['draws']} draws after as many of tuning, CPU seconds of one core, compilation left out: "
        f"{run['milliseconds']:.0f} ms per draw, of which NUTS is a part; {run['seconds']:.0f} s per chain.  There are "
        f"{run['clusters']:.0f} clusters on average and {run['estimated']} in the point estimate (variation of "
        f"information).  R-hat is {run['r_hat_clusters']:.2f} for the number of clusters and "
        f"{run['r_hat_log_joint']:.2f} for the log joint density; the adjusted Rand index of the estimates of the two "
        f"chains is {run['rand_of_chains']:.2f}, that of the estimate with the four groups of newsgroups "
        f"{run['rand_of_groups']:.2f}.\n\nClusters with at least one post in a hundred, and the words whose frequency "
        "in the cluster is most above that in all posts:\n\n"
    )
    lines = [(row["size"], ", ".join(row["words"]), f"{row['group']} {row['share_of_group']:.2f}") for row in topics]
    return text + markdown(("posts", "words and their frequency", "most common group"), lines)


PART = Part("topics", measure, table)

if __name__ == "__main__":
    PART.main()
