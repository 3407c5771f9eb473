"""Real documents: 16,242 posts of newsgroups as 100 words each, time per draw, and the topics that a run finds.

Each chain is a separate process.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from common.part import Part, columns, skipping, where
from common.processes import call
from common.real_data_sets import newsgroups

N_POSTS, TUNE, DRAWS, SEEDS = 16_242, 150, 150, (1, 2)
# Topics are tables of their largest clusters, with the words that are most typical of each.
N_TOPICS, N_WORDS, N_SHOWN = 20, 8, 5


def posts(n):
    """Words of n posts, spread evenly over the file, which is sorted by groups, and their groups."""
    X, groups = newsgroups()
    chosen = np.linspace(0, len(X) - 1, n).astype(int)
    return X.iloc[chosen], groups[chosen]


def run(n, tune, draws, seed):
    """One chain with the default step: its times, traces, and the labels of its last draw."""
    import pymc_nrm as nrm

    small = nrm.mixture_model(posts(1000)[0])
    nrm.sample(2, tune=2, chains=1, cores=1, model=small, random_seed=1, quiet=True)  # compiles
    clock = []
    options = {"chains": 1, "cores": 1, "random_seed": seed, "quiet": True, "label_storage": "compact"}
    options["callback"] = lambda trace, draw: clock.append(time.process_time())
    idata = nrm.sample(draws, tune=tune, model=nrm.mixture_model(posts(n)[0]), **options)
    stats = idata.sample_stats
    found = {"n": n, "seed": seed, "tune": tune, "tuning_seconds": clock[tune - 1] - clock[0]}
    found |= {"milliseconds": 1e3 * float(np.median(np.diff(clock[tune:])))}
    found |= {"log_joint": stats["log_joint"].values[0].tolist(), "clusters": stats["n_clusters"].values[0].tolist()}
    return found | {"labels": idata.posterior["z"].values[0, -1].tolist()}


def sweep(n, labels):
    """CPU milliseconds of a Gibbs sweep over all posts, with fixed hyperparameters, from the clusters of a run."""
    from common.chains import time_draws
    from common.data import dirichlet_process

    import pymc_nrm as nrm

    X = posts(n)[0].to_numpy()
    with dirichlet_process(X, nrm.BernoulliBeta(0.1, 1.0), initval=np.array(labels)) as model:
        step = nrm.steps.MarginalGibbs([model["z"]])
    return {"sweep": 1e3 * float(np.median(time_draws(step, model.initial_point(), 2.0)[0]))}


def topics(X, groups, labels):
    """Rows of the largest clusters: size, share of the four groups of newsgroups, typical words."""
    overall = X.mean(axis=0)
    rows = []
    for k in np.argsort(-np.bincount(labels))[:N_TOPICS]:
        inside = labels == k
        excess = X[inside].mean(axis=0) - overall
        chosen = [word for word in excess.sort_values(ascending=False).index[:N_WORDS] if excess[word] > 0.02]
        names, counts = np.unique(groups[inside], return_counts=True)
        shares = {str(name): int(count) / int(inside.sum()) for name, count in zip(names, counts, strict=True)}
        rows.append({"kind": "topic", "size": int(inside.sum()), "shares": shares, "words": chosen})
    return rows


def measure(quick, note):
    n, tune, draws, seeds = (2000, 20, 20, SEEDS[:1]) if quick else (N_POSTS, TUNE, DRAWS, SEEDS)
    X = None
    with skipping("Documents", note):
        X, groups = posts(n)
    if X is None:
        return []
    with ThreadPoolExecutor(len(seeds)) as pool:
        chains = list(pool.map(lambda seed: call(run, n=n, tune=tune, draws=draws, seed=seed), seeds))
    best = max(chains, key=lambda chain: np.mean(chain["log_joint"][-20:]))
    labels = np.array(best["labels"])
    note("Topics are those of the last draw of the chain with the higher log joint density, not of a point estimate.")
    rows = [{"kind": "run", **chain, "labels": None} for chain in chains]
    rows.append({"kind": "sweep", "n": n, **call(sweep, n=n, labels=labels.tolist())})
    return rows + topics(X, groups, labels)


def table(rows):
    runs, found = where(rows, kind="run"), where(rows, kind="topic")[:N_SHOWN]

    def ends(key, digits):
        return lambda row: f"{np.mean(row[key][:50]):{digits}}, {np.mean(row[key][-50:]):{digits}}"

    shown = {"seed": "seed", "s of tuning": lambda row: f"{row['tuning_seconds']:.0f}"}
    shown |= {"ms per draw": lambda row: f"{row['milliseconds']:.0f}"}
    shown |= {"log joint, first and last 50 draws": ends("log_joint", ".0f"), "clusters": ends("clusters", ".1f")}
    chains = columns(runs, shown)
    shown = {"posts": "size", "groups": main_groups, "typical words": lambda row: ", ".join(row["words"][:6])}
    [sweeps] = [row["sweep"] for row in where(rows, kind="sweep")]
    return (
        f"{runs[0]['n']:,} posts: which of 100 words occur in each.  `mixture_model` with its defaults, one chain per "
        f"process, {runs[0]['tune']} draws of tuning.  A Gibbs sweep with fixed hyperparameters takes {sweeps:.0f} ms."
        f"\n\n{chains}\nThe {len(found)} largest clusters: groups of newsgroups with a fifth of their posts or more, "
        f"and the words whose frequency exceeds the overall one most.\n\n{columns(found, shown)}"
    )


def main_groups(row):
    """The groups with at least a fifth of the posts of a cluster, largest first."""
    found = sorted(row["shares"].items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {share:.0%}" for name, share in found if share >= 0.2)


MEANING = (
    "Large clusters are topics, and few of them mix the four groups, long before the number of clusters stops growing."
)
PART = Part("documents", measure, table, meaning=MEANING)
