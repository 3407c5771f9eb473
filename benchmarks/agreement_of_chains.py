"""Real data with default priors: CPU time until chains from dispersed starts agree."""

import time
import warnings

import numpy as np
from common import real_data_ours as ours
from common.functionals import convergence, uncertain_pairs
from common.log_lines import logged
from common.part import Part, columns, rows_to_keep
from common.real_data_sets import CATALOGUE, load_all

import pymc_nrm as nrm

SETS = (
    *("iris", "wine", "old faithful", "galaxies", "animals", "crabs", "penguins", "votes", "ecoli", "diabetes"),
    *("breast cancer", "heart", "digits, 10 components", "digits, pixels", "abalone", "newsgroups"),
)
QUANTITIES = ("clusters", "log joint", "worst pair")
TARGET_SECONDS, BUDGET_SECONDS, QUICK_SECONDS = 60.0, 75.0, 4.0
LARGEST_RHAT, LEAST_ESS, N_PAIRS = 1.01, 400.0, 200
# First runs that should end in the verdict "fine", of sixteen.
FINE_RUNS = 12
SHARES = np.arange(1, 21) / 20


def dispersed_starts(n, rng):
    """Labels where four chains start: one cluster, every item alone, ten random clusters, and the step's own choice."""
    labels = (np.zeros(n, dtype="int64"), np.arange(n), rng.integers(0, 10, n))
    return [*({"z": start} for start in labels), {}]


def timed_chains(model, starts, tune, draws):
    """Draws of all chains, and CPU seconds since the start of a chain after each, tuning included."""
    stamps = [[] for _ in starts]

    def stamp(trace, draw):
        stamps[draw.chain].append(time.process_time())

    options = {"initvals": starts, "callback": stamp}
    idata = ours.quietly(draws, tune, len(starts), 1, model, **options)
    begins = [times[0] for times in stamps[:1]] + [times[-1] for times in stamps[:-1]]
    return idata, np.array([np.array(times) - begin for times, begin in zip(stamps, begins, strict=True)])


def quantities(idata):
    """Number of clusters, log joint and whether uncertain pairs are together, shape (chains, draws, 2 + pairs)."""
    scalars = nrm.stats.without_labels(idata).posterior
    labels = idata.posterior["z"].values
    pairs = uncertain_pairs(labels.reshape(-1, labels.shape[-1]), N_PAIRS, np.random.default_rng(1))
    together = labels[..., pairs[:, 0]] == labels[..., pairs[:, 1]]
    few = [scalars[name].values[..., None] for name in ("z_n_clusters", "z_log_joint")]
    return np.concatenate([*few, together], axis=-1).astype(float)


def state_after(values, n_draws):
    """R-hat and effective sample size of the quantities in the first draws, as entries of a row.

    A quantity that never changes, in any chain, has R-hat 1 and no effective sample size.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        found = convergence(list(values[:, :n_draws]))
    rhat, ess = np.nan_to_num(found["r_hat"], nan=1.0), np.nan_to_num(found["ess"], nan=np.inf)
    places = (slice(0, 1), slice(1, 2), slice(2, None))
    return {
        name: {"rhat": float(rhat[place].max(initial=1.0)), "ess": float(ess[place].min(initial=np.inf))}
        for name, place in zip(QUANTITIES, places, strict=True)
    }


def agree(state):
    """Whether all quantities have an R-hat and an effective sample size within the limits."""
    return all(found["rhat"] <= LARGEST_RHAT and found["ess"] >= LEAST_ESS for found in state.values())


def measure_set(data, budget):
    """A row for one set: seconds until chains agree or None, and the state at the end of the budget."""
    starts, model = dispersed_starts(len(data.X), np.random.default_rng(1)), ours.short_path(data)
    _, seconds = timed_chains(model, starts, tune=20, draws=20)
    per_draw = float(np.diff(seconds[:, 20:], axis=1).mean())
    total = int(np.clip(budget / (len(starts) * per_draw), 60, 6000))
    tune = min(500, total // 3)
    idata, seconds = timed_chains(model, starts, tune, total - tune)
    values = quantities(idata)
    used = {"seconds": None, "draws": total - tune}
    for n_draws in np.unique((SHARES * (total - tune)).astype(int)):
        if n_draws >= 4 and agree(state_after(values, n_draws)):
            used = {"seconds": float(seconds[:, tune + n_draws - 1].sum()), "draws": int(n_draws)}
            break
    last = state_after(values, total - tune)
    known = {name: {key: x if np.isfinite(x) else None for key, x in found.items()} for name, found in last.items()}
    return used | {
        "tune": tune,
        "budget": float(seconds[:, -1].sum()),
        "milliseconds": 1e3 * float(seconds[:, -1].sum()) / seconds.size,
        "clusters": float(values[..., 0].mean()),
        "state": known,
    }


def first_run(data, size):
    """What the report says of the chains that `sample` draws by default, two of them one after the other."""
    model = ours.short_path(data)
    with logged() as lines, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nrm.sample(**size, model=model, chains=2, cores=1, random_seed=1, progressbar=False)
    return lines.verdict()


def measure(quick, note, sets=None):
    rows = rows_to_keep("agreement_of_chains", quick, note, sets)
    for name, data in load_all(sets or (("iris", "votes") if quick else SETS), note).items():
        n, d = data.X.shape
        row = {"set": name, "n": n, "d": d} | measure_set(data, QUICK_SECONDS if quick else BUDGET_SECONDS)
        row["first run"] = first_run(data, {"draws": 100, "tune": 50} if quick else {})
        print(row, flush=True)
        rows.append(row)
    return sorted(rows, key=lambda row: list(CATALOGUE).index(row["set"]))


def table(rows):
    shown = {"Set": lambda row: f"{row['set']}, {row['n']} x {row['d']}", "ms per draw": "milliseconds"}
    shown["CPU seconds"] = lambda row: row["seconds"] or f"> {row['budget']:.0f}"
    shown["R-hat, ESS at the end"] = _worst
    shown["first run"] = lambda row: row.get("first run")
    return (
        "Chains from one cluster, every item alone, ten random clusters, and the step's own start.  *CPU seconds* of "
        f"all four until R-hat is at most {LARGEST_RHAT} and the effective sample size at least {LEAST_ESS:.0f} for "
        f"the number of clusters, the log joint and the worst of {N_PAIRS} uncertain pairs of items; the worst of the "
        "three at the end of the budget; what the report says of two chains of `sample` with all "
        f"defaults.\n\n{columns(rows, shown)}"
    )


def _worst(row):
    """Largest R-hat and smallest effective sample size of all quantities."""
    states = [row["state"][name] for name in QUANTITIES]
    rhats = [found["rhat"] for found in states if found["rhat"] is not None]
    sizes = [found["ess"] for found in states if found["ess"] is not None]
    if not rhats or not sizes:
        return None
    return f"{max(rhats):.3f}, {min(sizes):.0f}" if max(rhats) < 100 else f"> 100, {min(sizes):.0f}"


def headline(rows):
    met = [row for row in rows if row["seconds"] and row["seconds"] <= TARGET_SECONDS]
    target = f"within {TARGET_SECONDS:.0f} CPU s"
    fine = sum(row.get("first run") == "fine" for row in rows)
    first = (
        "First runs whose report says fine",
        f"{fine} of {len(rows)}",
        f"{FINE_RUNS} of {len(SETS)}",
        fine >= FINE_RUNS,
    )
    return [("Real sets whose chains agree", f"{len(met)} of {len(rows)}", target, len(met) == len(rows)), first]


MEANING = (
    "Sets that do not agree disagree about partitions, hardly about hyperparameters; `NOTES.md` says which clusters."
)
PART = Part("agreement_of_chains", measure, table, headline=headline, options={"sets": CATALOGUE}, meaning=MEANING)
