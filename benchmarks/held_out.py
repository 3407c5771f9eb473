"""Held-out log predictive density against CPU time, for the package, scikit-learn's mixtures and other peers."""

import time

import common  # noqa: F401
import numpy as np
import pymc as pm
import xarray as xr
from common.chains import first_draw
from common.data import beside, plane
from common.held_out_report import ALPHA, HYPER, NOT_MEASURED, OURS, TREE, VARIATIONAL, headline, pictures, table
from common.part import Part, skipping
from common.real_data_sets import load, load_all, without_ties
from peers import pyrichlet_gibbs, scikit_learn
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm
from pymc_nrm.trees import bhc, predictive_log_density

N_TUNE = 200


def model_and_step(train, family, hyperpriors):
    """The model and its step; NUTS samples alpha, kappa and the scale of Psi if they have hyperpriors."""
    with pm.Model() as model:
        alpha = ALPHA
        if hyperpriors:
            alpha, kappa = pm.Gamma("alpha", 2, 1), pm.LogNormal("kappa", np.log(0.1), 1)
            family = family._replace(kappa=kappa, Psi=pm.LogNormal("scale", 0, 1) * family.Psi)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=len(train))
        nrm.Mixture("x", z, family, observed=train)
        step = nrm.TreeGuided([z])
        if hyperpriors:
            step = CompoundStep([pm.NUTS([alpha, kappa, model["scale"]]), step])
    return model, step


def chain(train, family, hyperpriors, seconds, seed):
    """Draws of one chain, including tuning, and CPU seconds since its start, including the growth of trees."""
    model, step = model_and_step(train, family, hyperpriors)
    point = model.initial_point()
    first_draw(step, point)
    step.setup_chain(np.random.default_rng(seed), N_TUNE, 1)
    points, times, begin = [], [], time.process_time()
    while not times or times[-1] < seconds:
        point, _ = step.step(point)
        if len(times) == N_TUNE - 1:
            step.stop_tuning()
        points.append(point)
        times.append(time.process_time() - begin)
    draws = {"z": (("chain", "draw", "item"), np.array([point["z"] for point in points])[None])}
    for name in ("alpha", "kappa", "scale") if hyperpriors else ():
        draws[name] = (("chain", "draw"), np.exp([[point[f"{name}_log__"] for point in points]]))
    return model, xr.Dataset(draws), np.array(times)


def package(train, test, family, seconds, seed, hyperpriors=False):
    """Held-out density of the package against CPU time, including prediction.

    At each time it is the log of a mean over the second half of the draws so far.  The mean is that of the predictive
    density given the partition, with parameters integrated out.
    """
    model, draws, times = chain(train, family, hyperpriors, seconds, seed)
    nrm.predictive_density(draws.isel(draw=slice(0, 1)), model, test[:2])
    start = time.process_time()
    density = nrm.predictive_density(draws, model, test).density.values[0]
    prediction = (time.process_time() - start) / len(times)
    times = times + prediction * np.arange(1, len(times) + 1)
    totals = np.concatenate([np.zeros((1, len(test))), density.cumsum(axis=0)])
    last = np.unique(np.geomspace(1, len(times), 80).astype(int))
    first = last // 2
    curve = np.log((totals[last] - totals[first]) / (last - first)[:, None]).mean(axis=1)
    kept = draws.z.values[0, len(times) // 2 :]
    found = {"times": times[last - 1].tolist(), "density": curve.tolist(), "seconds": float(times[-1])}
    found |= {"ships": float(curve[-1]), "prediction_milliseconds": 1e3 * prediction, "draws": len(times)}
    return found | {"student": None, "converged": None, "clusters": float(kept.max(axis=1).mean() + 1)}


def tree(train, test, family, seed):
    """Held-out density under one tree of Bayesian hierarchical clustering; the time includes prediction."""
    measure = nrm.DirichletProcess(ALPHA)
    start = time.process_time()
    found = bhc(train, family, measure, random_seed=seed)
    density = predictive_log_density(found, train, test, family, measure).mean()
    seconds = time.process_time() - start
    fit = {"seconds": seconds, "ships": float(density), "student": None}
    return fit | {"converged": None, "clusters": int(found.n_clusters)}


def contenders(train, test, family, quick, seed):
    """Names and calls of everything except the package's sampler."""
    large = len(train) > 2000
    same = (train, test, family, ALPHA)
    calls = {}
    sizes = ((20, 1),) if quick else ((60, 1), (150, 1)) if large else ((10, 1), (30, 1), (30, 3))
    for n_components, n_init in sizes:
        options = {"n_components": n_components, "n_init": n_init, "seed": seed}
        calls[f"{VARIATIONAL}, K = {n_components}, {_starts(n_init)}"] = lambda options=options: (
            scikit_learn.variational(*same, **options)
        )
    k = 30 if not quick else 20
    calls[f"variational with default priors, K = {k}"] = lambda: scikit_learn.variational_defaults(
        train, test, n_components=k, n_init=1, seed=seed
    )
    if not large:
        calls["EM, K by BIC"] = lambda: scikit_learn.em_with_bic(train, test, most=15, n_init=1, seed=seed)
        calls["pyrichlet, slice sampler"] = lambda: pyrichlet_gibbs.fit(*same, seconds=0.4 if quick else 1.5, seed=seed)
        calls[TREE] = lambda: tree(train, test, family, seed)
    return calls


def _starts(n_init):
    return f"{n_init} start{'s' * (n_init > 1)}"


SETS = {
    "plane": plane,
    "old faithful": lambda: load("old faithful").values,
    "galaxies": lambda: load("galaxies").values,
    "toy": lambda: np.loadtxt(beside("lee_choi_toy") / "X.txt"),
    "10k": lambda: np.loadtxt(beside("lee_choi_10k") / "X.txt"),
    "iris": lambda: without_ties(load("iris").values),
    "wine": lambda: load("wine").values,
    "digits, 10 directions": lambda: load("digits, 10 components").values,
}
QUICK_SETS = ("plane", "old faithful", "galaxies", "toy", "iris")


def split(X, seed, share=0.7):
    """Training and test items, both standardised by the mean and standard deviation of the training items."""
    order = np.random.default_rng(seed).permutation(len(X))
    n_train = int(share * len(X))
    train, test = X[order[:n_train]], X[order[n_train:]]
    mean, scale = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / scale, (test - mean) / scale


def measure(quick, note):
    rows, absent = [], set()
    for peer, reason in NOT_MEASURED:
        note(f"not measured: {peer}: {reason}")
    # The first tree compiles the kernels.
    tree(*[np.random.default_rng(1).normal(size=(20, 2))] * 2, nrm.NormalWishart(0.0, 0.1, np.eye(2), 8.0), 1)
    for name, X in load_all(QUICK_SETS if quick else SETS, note, lambda name: SETS[name]()).items():
        n_splits = 1 if quick or len(X) > 2000 else 2 if len(X) > 500 else 3
        for seed in range(1, n_splits + 1):
            train, test = split(X, seed)
            family = nrm.NormalWishart.from_data(train)
            same = {"set": name, "n": len(train), "d": train.shape[1], "n_test": len(test), "seed": seed}
            longest = 0.5
            for method, call in contenders(train, test, family, quick, seed).items():
                with skipping(method, note if method not in absent else absent.add):
                    absent.add(method)
                    found = call()
                    found.pop("log_p", None)
                    absent.remove(method)
                    longest = max(longest, found["seconds"])
                    rows.append(same | {"method": method} | found)
            seconds = min(1.2 * longest, 1.5) if quick else min(1.2 * longest, 12.0 if len(X) > 2000 else 4.0)
            rows.append(same | {"method": OURS} | package(train, test, family, seconds, seed))
            # NUTS is compiled for each data set, so run one split of the small ones only.
            if seed == 1 and not quick and len(X) <= 500:
                rows.append(same | {"method": HYPER} | package(train, test, family, seconds, seed, hyperpriors=True))
            print(f"{name}, split {seed} of {n_splits}", flush=True)
    return rows


PART = Part("held_out", measure, table, pictures, headline=headline)

if __name__ == "__main__":
    PART.main()
