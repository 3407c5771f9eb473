"""Hidden states whose number is unknown: time until five are found, effective samples, and time of long series."""

import time
import warnings

import numpy as np
import pymc as pm
from common.chains import Chain, run_chains, time_draws
from common.functionals import rates
from common.part import Part, columns, spread, where
from peers.weak_limit import weak_limit_draw
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm
from pymc_nrm.datasets import old_faithful
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.states.moves.density import log_joint_terms
from pymc_nrm.states.partitions.prior import StatePrior
from pymc_nrm.testing import kernel_inputs

STAY, RADIUS, N_STATES, N_CHAINS, TUNE = 0.97, 3.0, 5, 2, 300
FOUND, RATES, DRAW, PEER = "found", "rates", "draw", "weak limit"
NAMES = {"clusters": "number of states", "log_joint": "log joint density"}
# CPU seconds until found, by number of times; effective samples a CPU second; CPU seconds of a draw.
FOUND_TARGETS, DRAW_TARGET, LONG, LONG_STATES, NEAR = {1000: 0.05, 10_000: 1.0}, 0.5, 100_000, 10, 20.0
RATE_TARGETS = {"five states": (25.0, 100.0), "Old Faithful in order": (20.0, 23.0)}


def persistent_states(n, n_states, seed):
    """States that stay with probability 0.97, and normal data in the plane around means on a circle, standardised."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random(n) < STAY, 0, 1 + rng.integers(n_states - 1, size=n))
    states = np.cumsum(steps) % n_states
    angles = 2 * np.pi * states / n_states
    X = RADIUS * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(size=(n, 2))
    return canonical_labels(states), (X - X.mean(axis=0)) / X.std(axis=0)


def eruptions():
    """Eruptions of Old Faithful in order, jittered by half of their rounding and standardised."""
    X = np.asarray(old_faithful(), dtype=float)[:, :2]
    X = X + np.random.default_rng(1).uniform(-0.5, 0.5, X.shape) * [1 / 60, 1.0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


GAMMA, ALPHA, KAPPA = 1.0, 1.0, 20.0
FAMILY, LIMITS, WEAK = nrm.NormalWishart([0.0, 0.0], 0.1, 0.6 * np.eye(2), 4.0), (10, 20, 40), "weak limit, L = {}"
OURS = "StateSampler"


def model_of(X, learned):
    """Sticky hidden states of normal data, with learned or fixed hyperparameters."""
    with pm.Model() as model:
        gamma, alpha, kappa = GAMMA, ALPHA, KAPPA
        if learned:
            gamma, alpha, kappa = pm.Gamma("gamma", 1, 1), pm.Gamma("alpha", 1, 1), pm.Gamma("kappa", 1, 0.02)
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), nrm.states.Transitions(alpha, kappa), n=len(X))
        nrm.Mixture("x", z, FAMILY, observed=X)
    return model


def seconds_until_found(n, seed):
    """CPU seconds and draws from a single state until the log joint density is near its value at the true states."""
    labels, X = persistent_states(n, N_STATES, n)
    model = model_of(X, learned=False)
    truth = float(model.compile_logp()({"z": labels}))
    step = nrm.states.StateSampler([model["z"]], model=model)
    step.setup_chain(np.random.default_rng(seed), 0, 1)
    point = {"z": np.zeros(n, dtype=np.int64)}
    # The first draw of a chain checks the density, which a run does once.
    step.step(point)
    begin, n_draws, value = time.process_time(), 0, -np.inf
    while value < truth - NEAR and n_draws < 1000:
        point, [stats] = step.step(point)
        n_draws, value = n_draws + 1, stats["log_joint"]
    return time.process_time() - begin, n_draws


def sampled(X, seconds, learned=True):
    """Effective samples a CPU second, with hyperparameters as ``nrm.sample`` draws them, or fixed."""

    def make():
        model = model_of(X, learned)
        with model:
            steps = [nrm.states.StateSampler([model["z"]])]
            step = CompoundStep([nrm.steps.LearnedGibbs(), *steps] if learned else steps)
        return model, step, [model.initial_point()] * N_CHAINS

    _, chains, compilation = run_chains(make, tune=TUNE, seconds=seconds)
    chains = list(chains)
    values = [
        np.array([[stats[-1][key] for key in ("n_clusters", "log_joint")] for stats in one.stats]) for one in chains
    ]
    return {"compilation": compilation} | rates(values, chains, NAMES)


def weak_limit(X, n_states, seconds):
    """Effective samples a CPU second of the weak-limit sampler with fixed hyperparameters, from random states."""
    family, data = kernel_inputs(FAMILY, X)
    prior, memory = StatePrior(GAMMA, 0.0, ALPHA, KAPPA, np.arange(len(X)) == 0), np.empty((len(X), n_states))
    values, chains = [], []
    for seed in range(1 + N_CHAINS):
        rng = np.random.default_rng(seed)
        labels, beta = rng.integers(n_states, size=len(X)), np.full(n_states, 1.0 / n_states)
        found, kept, times, spent = [], [], [], 0.0
        # The first chain compiles.
        while len(times) < TUNE or (seed and times[-1] - times[TUNE - 1] < seconds):
            begin = time.process_time()
            weak_limit_draw(rng, labels, beta, prior, family, data, memory)
            spent += time.process_time() - begin
            times.append(spent)
            if len(times) > TUNE:
                state = build_state(canonical_labels(labels), family, data)
                found.append([state.size[0], sum(log_joint_terms(state, prior, family, data))])
        if seed:
            values.append(np.array(found))
            chains.append(Chain(kept, np.array(times[TUNE:]) - times[TUNE - 1], times[TUNE - 1], TUNE, []))
    return rates(values, chains, NAMES)


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    rows = []
    for n in (1000,) if quick else (1000, 10_000):
        seconds, draws = zip(*(seconds_until_found(n, seed) for seed in range(3 if quick else 5)), strict=True)
        rows.append({"kind": FOUND, "n": n, "draws": spread(draws)["median"]} | spread(seconds))
        print(rows[-1], flush=True)
    sets = {"five states": persistent_states(1000, N_STATES, 1000)[1], "Old Faithful in order": eruptions()}
    for name, X in sets.items():
        rows.append({"kind": RATES, "set": name, "n": len(X)} | sampled(X, 2.0 if quick else 4.0))
        print(rows[-1], flush=True)
    X = sets["five states"]
    rows.append({"kind": PEER, "method": OURS} | sampled(X, 2.0 if quick else 4.0, learned=False))
    print(rows[-1], flush=True)
    for n_states in LIMITS[:1] if quick else LIMITS:
        rows.append({"kind": PEER, "method": WEAK.format(n_states)} | weak_limit(X, n_states, 2.0 if quick else 4.0))
        print(rows[-1], flush=True)
    n = LONG // 10 if quick else LONG
    labels, X = persistent_states(n, LONG_STATES, n)
    model = model_of(X, learned=False)
    step = nrm.states.StateSampler([model["z"]], model=model)
    step.setup_chain(np.random.default_rng(1), 0, 1)
    point, _ = step.step({"z": labels})
    rows.append({"kind": DRAW, "n": n} | spread(time_draws(step, point, 1.0)[0]))
    print(rows[-1], flush=True)
    return rows


def table(rows):
    text = (
        f"States that stay with probability {STAY}, normal data in the plane.  From a single state until the log joint "
        f"density is within {NEAR:g} of that of the true five states: "
    )
    text += ", ".join(f"{row['n']:,} times {row['median']:.3g} CPU s" for row in where(rows, kind=FOUND))
    text += ".  A draw from ten states: "
    text += ", ".join(f"{row['n']:,} times {row['median']:.3g} CPU s" for row in where(rows, kind=DRAW))
    text += ".  Effective samples, with learned hyperparameters in the first rows and fixed ones in the others:\n\n"
    shown = {"": lambda row: row.get("set") or row["method"], "ms/draw": "milliseconds"}
    for name, title in NAMES.items():
        shown[title] = lambda row, name=name: f"{row[name]:.2f} ± {row[f'{name}_mcse']:.2f}"
        shown["per CPU s" if name == "clusters" else "per CPU second"] = f"rate_{name}"
    return text + columns([*where(rows, kind=RATES), *where(rows, kind=PEER)], shown)


def headline(rows):
    claims = []
    for row in where(rows, kind=FOUND):
        target = FOUND_TARGETS[row["n"]]
        claim = f"Hidden states: five found, {row['n']:,} times"
        claims.append((claim, f"{row['median']:.3g} CPU s", f"at most {target:g} CPU s", row["median"] <= target))
    for row in where(rows, kind=RATES):
        for (name, title), target in zip(NAMES.items(), RATE_TARGETS[row["set"]], strict=True):
            rate = row[f"rate_{name}"]
            claim = f"Hidden states: {title}, {row['set']}"
            claims.append((claim, f"{rate:.3g} a CPU s", f"at least {target:g}", rate >= target))
    [ours], peers = where(rows, kind=PEER, method=OURS), where(rows, kind=PEER)[1:]
    gains = [ours["rate_clusters"] / row["rate_clusters"] for row in peers]
    text = ", ".join(f"{gain:.3g} ({row['method'].split(', ')[1]})" for gain, row in zip(gains, peers, strict=True))
    claim = "Hidden states: ESS per CPU second over a weak-limit sampler"
    claims.append((claim, text, "at least 3 times", min(gains) >= 3.0))
    for row in where(rows, kind=DRAW):
        text = f"{row['median']:.3g} CPU s"
        claims.append(
            (f"Hidden states: a draw of {row['n']:,} times", text, "at most 0.5 CPU s", row["median"] <= DRAW_TARGET)
        )
    return claims


MEANING = "Blocked updates find persistent states within a few draws, and blocks of times make and remove states."
PART = Part("hidden_states", measure, table, headline=headline, meaning=MEANING, peers=("a weak-limit sampler",))
