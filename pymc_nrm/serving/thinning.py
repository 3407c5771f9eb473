"""Which draws a file keeps: so few that predictions lose next to nothing of what all draws are worth."""

import math
from typing import NamedTuple

import numpy as np

from pymc_nrm_predictor.components import log_mean

# Thinning may add so large a share of the Monte Carlo error of all draws, 12 % of it in total.
LARGEST_SHARE = 0.5
_FEWEST = 25
# Errors of rounding.
_ROUNDING = 1e-12


class Thinning(NamedTuple):
    """Draws that are kept, and errors of predictions of rows of the data, root mean squares."""

    kept: np.ndarray
    # Of log densities in nats, and of probabilities of clusters: Monte Carlo errors of all draws, and what thinning
    # changes.
    monte_carlo_error: tuple[float, float]
    thinning_error: tuple[float, float]


class _OfDraws(NamedTuple):
    """Densities relative to their means, (m, S), and probabilities of clusters of the estimate, (m, S, L)."""

    densities: np.ndarray
    probabilities: np.ndarray


def evenly_spaced(n, n_draws):
    """Places of n of the draws, evenly spaced."""
    return np.unique(np.linspace(0, n_draws - 1, min(n, n_draws)).round().astype(int))


def thinned(contents, data, n_chains, n_draws):
    """Choose draws by predictions of rows.

    ``data`` has the rows (m, d) of each mixture by its name; ``n_draws`` is a number, "all", or None for the fewest
    evenly spaced ones whose predictions are within half of the Monte Carlo error of the predictions of all draws.
    """
    of_draws, total = _of_draws(contents, data), len(contents.draws)
    errors = tuple(_monte_carlo_error(values, n_chains) for values in of_draws)
    if n_draws == "all":
        candidates = [total]
    elif n_draws is not None:
        candidates = [n_draws]
    else:
        candidates = [*(n for n in (_FEWEST * 2**k for k in range(30)) if n < total), total]
    for n in candidates:
        kept = evenly_spaced(n, total)
        changes = _changes(of_draws, kept)
        if all(change <= LARGEST_SHARE * error + _ROUNDING for change, error in zip(changes, errors, strict=True)):
            break
    return Thinning(kept, errors, changes)


def _of_draws(contents, data):
    log_densities, probabilities = [], []
    for row in range(len(next(iter(data.values())))):
        rows = {name: contents.mixtures[name].rows(name, values[row : row + 1]) for name, values in data.items()}
        draws = contents.draws
        table = draws.log_weight + sum(contents.mixtures[name].log_density_of(rows) for name in rows)
        of_draw = draws.log_sums(table)
        joined = np.exp(table - draws.spread(of_draw))
        log_densities.append(of_draw[0])
        probabilities.append(np.add.reduceat(joined[0][:, None] * draws.share, draws.start[:-1], axis=0))
    log_densities = np.array(log_densities)
    return _OfDraws(np.exp(log_densities - log_mean(log_densities)[:, None]), np.array(probabilities))


def _monte_carlo_error(values, n_chains):
    """Root mean square of Monte Carlo standard errors of means over draws, by means of batches of each chain.

    Shapes: ``values`` (m, S, ...), chain after chain.
    """
    n = values.shape[1] // n_chains
    length = max(1, int(np.sqrt(n)))
    n_batches = n // length
    batches = values.reshape(len(values), n_chains, n, -1)[:, :, : n_batches * length]
    means = batches.reshape(len(values), n_chains * n_batches, length, batches.shape[-1]).mean(axis=2)
    if means.shape[1] < 2:
        return math.inf
    return float(np.sqrt((means.var(axis=1, ddof=1) / means.shape[1]).mean()))


def _changes(of_draws, kept):
    """Root mean squares of what thinning changes, of log densities and of probabilities."""
    log_density = np.log(of_draws.densities[:, kept].mean(axis=1))
    probability = of_draws.probabilities[:, kept].mean(axis=1) - of_draws.probabilities.mean(axis=1)
    return tuple(float(np.sqrt((change**2).mean())) for change in (log_density, probability))


def of_kept_draws(arrays, kept, shared):
    """Arrays of a file with the clusters of some draws alone; ``shared`` are the names of arrays without clusters."""
    start = arrays["start"]
    places = np.concatenate([np.arange(start[s], start[s + 1]) for s in kept])
    chosen = {name: array if name in shared else array[places] for name, array in arrays.items() if name != "start"}
    return chosen | {"start": np.concatenate([[0], np.cumsum(np.diff(start)[kept])])}
