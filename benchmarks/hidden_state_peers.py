"""Hidden states by samplers of others: weak limit, beam and particle Gibbs, on the sets of ``hidden_states``.

Also the time of the probability of labels, of its gradient and of a draw of the weights, by the number of times.
"""

import time
import warnings
from functools import partial

import numpy as np
from common.chains import Chain
from common.functionals import rates
from common.part import Part, columns, markdown, spread, where
from hidden_states import (
    ALPHA,
    FAMILY,
    GAMMA,
    KAPPA,
    LONG_STATES,
    N_CHAINS,
    N_STATES,
    NAMES,
    NEAR,
    OURS,
    eruptions,
    persistent_states,
    sampled,
    seconds_until_found,
)
from peers.beam import beam_draw
from peers.particle_gibbs import particle_gibbs_draw
from peers.weak_limit import weak_limit_draw

from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.states.moves.density import log_joint_terms
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.prior import StatePrior
from pymc_nrm.states.partitions.tables import log_states, log_states_with_gradient
from pymc_nrm.states.partitions.weights import draw_state_weights
from pymc_nrm.testing import kernel_inputs

RATE, FOUND, COST = "rate", "found", "cost"
LEVEL, LIMITS, PARTICLES, SIZES, TUNE = 0.01, (10, 40), (10, 50), (1000, 10_000, 100_000), 100
# CPU seconds after which a chain that has not found the states is given up.
PATIENCE = 4.0


class Peer:
    """A sampler of others with fixed hyperparameters; labels of a chain, and how they are drawn."""

    def __init__(self, X, draw, n_states=None):
        self.family, self.data = kernel_inputs(FAMILY, X)
        self.prior = StatePrior(GAMMA, 0.0, ALPHA, KAPPA, np.arange(len(X)) == 0)
        self.draw, self.n_states = draw, n_states
        self.memory = np.empty((len(X), n_states or 1))

    def start(self, labels):
        """Begin a chain from these labels."""
        self.labels = labels.copy()
        n = self.n_states or labels.max() + 2
        self.weights = np.full(n, 1.0 / n)

    def step(self, rng):
        model = self.prior, self.family, self.data
        if self.n_states:
            weak_limit_draw(rng, self.labels, self.weights, *model, self.memory)
        else:
            self.weights = self.draw(rng, self.labels, self.weights, *model)

    def values(self):
        """Number of states, and log joint density."""
        state = build_state(canonical_labels(self.labels), self.family, self.data)
        return [state.size[0], sum(log_joint_terms(state, self.prior, self.family, self.data))]


def peers(X):
    """Samplers by name."""
    found = {f"weak limit, L = {n}": Peer(X, None, n) for n in LIMITS}
    found["beam"] = Peer(X, beam_draw)
    for n in PARTICLES:
        draw = partial(_particles, n)
        found[f"particle Gibbs, {n} particles"] = Peer(X, draw)
    return found


def _particles(n_particles, *arguments):
    return particle_gibbs_draw(*arguments, n_particles, LEVEL)


def rates_of(peer, n, seconds):
    """Effective samples a CPU second, from random states; the first chain compiles."""
    values, chains = [], []
    for seed in range(1 + N_CHAINS):
        rng = np.random.default_rng(seed)
        peer.start(canonical_labels(rng.integers(peer.n_states or N_STATES, size=n)))
        found, times, spent = [], [], 0.0
        tune = TUNE if seed else 2
        while len(times) < tune or (seed and times[-1] - times[tune - 1] < seconds):
            begin = time.process_time()
            peer.step(rng)
            spent += time.process_time() - begin
            times.append(spent)
            if len(times) > tune:
                found.append(peer.values())
        if seed:
            values.append(np.array(found))
            chains.append(Chain([], np.array(times[tune:]) - times[tune - 1], times[tune - 1], tune, []))
    return rates(values, chains, NAMES)


def until_found(peer, truth, n, seed):
    """CPU seconds and draws from a single state until the log joint density is near the true states', or None
    where that takes too long.
    """
    peer.start(np.zeros(n, dtype=np.int64))
    rng, spent, n_draws = np.random.default_rng(seed), 0.0, 0
    while spent < PATIENCE:
        begin = time.process_time()
        peer.step(rng)
        spent, n_draws = spent + time.process_time() - begin, n_draws + 1
        if peer.values()[1] > truth - NEAR:
            return spent, n_draws
    return None, n_draws


def seconds_per_call(function, target=0.1):
    """CPU seconds of a call, the median of three means."""
    function()
    begin = time.process_time()
    function()
    repeats = max(3, int(target / max(time.process_time() - begin, 1e-6)))
    means = []
    for _ in range(3):
        begin = time.process_time()
        for _ in range(repeats):
            function()
        means.append((time.process_time() - begin) / repeats)
    return spread(means)["median"]


def costs(n, n_states):
    """CPU seconds of the log probability of labels, with its gradient, and of a draw of their weights."""
    labels = persistent_states(n, n_states, n)[0]
    prior = StatePrior(GAMMA, 0.0, ALPHA, KAPPA, np.arange(n) == 0)
    k = int(labels.max()) + 1
    counts, gradient, weights = np.zeros((k + 1, k), dtype=np.int64), np.empty(4), np.empty(k + 1)
    rng = np.random.default_rng(n)
    count_transitions(labels, prior.starts, k, counts)
    return {
        "count": seconds_per_call(lambda: count_transitions(labels, prior.starts, k, counts)),
        "value": seconds_per_call(lambda: log_states(counts, k, prior)),
        "gradient": seconds_per_call(lambda: log_states_with_gradient(counts, k, prior, gradient)),
        "weights": seconds_per_call(lambda: draw_state_weights(rng, counts, k, prior, weights)),
    }


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    rows, seconds, seeds = [], 1.0 if quick else 2.5, range(1 if quick else 3)
    for n in SIZES[: 2 if quick else 3]:
        for n_states in (N_STATES, LONG_STATES):
            rows.append({"kind": COST, "n": n, "n_states": n_states} | costs(n, n_states))
            print(rows[-1], flush=True)
    n = 1000
    labels, X = persistent_states(n, N_STATES, n)
    for name, data in {"five states": X, "Old Faithful in order": eruptions()}.items():
        rows.append({"kind": RATE, "set": name, "method": OURS} | sampled(data, seconds, learned=False))
        print(rows[-1], flush=True)
        for method, peer in peers(data).items():
            rows.append({"kind": RATE, "set": name, "method": method} | rates_of(peer, len(data), seconds))
            print(rows[-1], flush=True)
    found = [seconds_until_found(n, seed) for seed in seeds]
    rows.append({"kind": FOUND, "method": OURS, "seconds": [s for s, _ in found], "draws": [d for _, d in found]})
    for method, peer in peers(X).items():
        peer.start(labels)
        truth = peer.values()[1]
        found = [until_found(peer, truth, n, seed) for seed in seeds]
        rows.append({"kind": FOUND, "method": method, "seconds": [s for s, _ in found], "draws": [d for _, d in found]})
        print(rows[-1], flush=True)
    return rows


def found_text(row):
    """Median CPU seconds, or how many chains found the states."""
    times = [seconds for seconds in row["seconds"] if seconds is not None]
    if len(times) < len(row["seconds"]):
        return f"{len(times)} of {len(row['seconds'])} within {PATIENCE:g}"
    return f"{spread(times)['median']:.2g}"


def table(rows):
    text = "Probability of labels given transition counts, gradient, and a draw of the weights, milliseconds.\n\n"
    costs = where(rows, kind=COST, n_states=N_STATES)
    cells = [[f"{row['n']:,}", *(1e3 * row[name] for name in ("value", "gradient", "weights"))] for row in costs]
    text += markdown(["times, five states", "value", "with gradient", "draw of weights"], cells)
    text += (
        "\nEffective samples a CPU second, fixed hyperparameters; CPU seconds from a single state until the five "
        "states are found.\n\n"
    )
    found = {row["method"]: found_text(row) for row in where(rows, kind=FOUND)}
    shown = {
        "set": lambda row: row["set"].removesuffix(" in order"),
        "sampler": lambda row: row["method"].removesuffix(" particles"),
        "ms/draw": "milliseconds",
        "number of states": "rate_clusters",
        "log joint density": "rate_log_joint",
        "R-hat": lambda row: max(row["r_hat_clusters"], row["r_hat_log_joint"]),
        "found": lambda row: found[row["method"]] if row["set"] == "five states" else "-",
    }
    return text + columns(where(rows, kind=RATE), shown)


MEANING = (
    "Beam and particle Gibbs are exact; the weak limit has another posterior, and is fast where its limit is small."
)
PART = Part("hidden_state_peers", measure, table, meaning=MEANING)
