"""Checks that the functions of a measure agree with each other."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from scipy import stats

from pymc_nrm.common.checks import check_values
from pymc_nrm.common.supports import WholeNumber
from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.measures.base import (
    draw_log_auxiliary,
    draw_partition,
    log_eppf,
    log_joint_increment,
    log_joint_term,
    n_clusters_log_pmf,
    n_clusters_mean,
    symbolic_log_eppf,
    weights,
)
from pymc_nrm.partitions.labels import all_partitions, canonical_labels, label_counts
from pymc_nrm.testing.scores import INTERPRETED, CheckError, assert_close, assert_zero, runner, slope
from pymc_nrm.trees.inputs import measure_of_numbers

REQUIRED = (
    weights,
    log_joint_term,
    draw_log_auxiliary,
    log_eppf,
    symbolic_log_eppf,
    n_clusters_log_pmf,
    draw_partition,
)

# Largest number of items whose partitions are enumerated.
_N_ITEMS = 6

# Cluster sizes for which functions of the auxiliary variable are integrated.
_COUNTS = ([1], [3, 1], [2, 2, 1], [1, 1, 1, 1, 1], [12, 5, 2, 1])


def check_measure(measure: Any, *, compiled: bool = True, random_seed: int = 0) -> None:
    """Check that the functions of a measure agree with each other.

    - Probabilities of all partitions of up to 6 items sum to one; the probability of a larger partition is the sum over
      the clusters that one more item may join; the order of clusters does not matter.
    - ``symbolic_log_eppf`` is ``log_eppf``, and its gradients are finite and right.
    - ``n_clusters_log_pmf`` and ``n_clusters_mean`` are sums over partitions.
    - With ``weights`` and ``log_joint_term``, the joint density of a partition and the auxiliary variable integrates to
      the probability of the partition, and ``draw_log_auxiliary`` draws from the distribution given the partition.
    - ``draw_partition`` returns labels in order of appearance, with these probabilities.
    - All functions return the same values compiled and interpreted.

    Parameters
    ----------
    measure : Measure
        With fields that are numbers.
    compiled : bool
        Whether functions run compiled, as in samplers.  Otherwise they run in Python, so that the traceback of an
        error ends in a line of the measure.
    random_seed : int
        Seed of all draws; for a correct measure the check fails for about one seed in ten thousand.

    Raises
    ------
    CheckError
        If two values disagree; the message names the function and shows both values.
    NotImplementedError
        If the measure lacks a function.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> check_measure(DirichletProcess(1.0), compiled=False) is None
    True
    """
    missing = lacking(type(measure), REQUIRED)
    if 0 < len(missing) < len(REQUIRED):
        raise NotImplementedError(
            f"{type(measure).__name__} has no {' and no '.join(missing)}, which check_measure needs"
        )
    measure = measure_of_numbers(measure)
    rng = np.random.default_rng(random_seed)
    _check_eppf(measure)
    _check_symbolic_eppf(measure)
    _check_numbers_of_clusters(measure)
    _check_tables(measure, rng)
    for counts in _COUNTS:
        _check_auxiliary(measure, np.array(counts), rng, compiled)
    _check_increments(measure, rng)
    _check_partitions(measure, rng)
    if compiled:
        _check_interpreted(measure, random_seed)


def _probabilities(measure, n):
    """Log probabilities of all partitions of n items, and their labels."""
    partitions = all_partitions(n)
    return np.array([log_eppf(measure, label_counts(labels)) for labels in partitions]), partitions


def _check_eppf(measure):
    owner = type(measure)
    for n in range(1, _N_ITEMS + 1):
        log_p, _ = _probabilities(measure, n)
        what = f"the sum of the probabilities of all partitions of {n} items is"
        assert_close("log_eppf", owner, what, np.exp(log_p).sum(), 1.0)
    several = [np.array(counts) for counts in ([5, 1], [2, 2, 2], [40, 9, 1], [1] * 20)]
    for sizes in several:
        backwards = np.ascontiguousarray(sizes[::-1])
        what = f"it depends on the order of cluster sizes {sizes.tolist()}: for {backwards.tolist()} it is"
        assert_close("log_eppf", owner, what, log_eppf(measure, backwards), log_eppf(measure, sizes))
    for sizes in several:
        extensions = [log_eppf(measure, sizes + row) for row in np.eye(len(sizes), dtype=np.int64)]
        extensions.append(log_eppf(measure, np.append(sizes, 1)))
        what = f"the log of the sum over the clusters that one more item may join, for sizes {sizes.tolist()}, is"
        assert_close("log_eppf", owner, what, np.logaddexp.reduce(extensions), log_eppf(measure, sizes))


def _check_symbolic_eppf(measure):
    owner = type(measure)
    scalars = {name: pt.dscalar(name) for name in measure._fields}
    counts = pt.lvector("counts")
    value = symbolic_log_eppf(owner(**scalars), counts)
    varying = [name for name in measure._fields if not isinstance(measure.hyperparameters[name].support, WholeNumber)]
    gradients = pt.grad(value, [scalars[name] for name in varying], disconnected_inputs="ignore")
    inputs = [*scalars.values(), counts]
    function = pytensor.function(inputs, [value, *gradients], mode=INTERPRETED, on_unused_input="ignore")
    for sizes in map(np.array, ([1], [4], [1, 1, 1], [30, 20, 5, 1, 1, 1], [50_000, 49_998, 1, 1])):
        symbolic, *derivatives = function(*measure, sizes)
        words = f"for cluster sizes {sizes.tolist()}"
        assert_close("symbolic_log_eppf", owner, f"{words} it is", symbolic, log_eppf(measure, sizes))
        for name, derivative in zip(varying, derivatives, strict=True):
            scale = _scale(measure, name)
            moved = partial(_log_eppf_at, measure, name, scale, sizes)
            title = f"{words} its derivative in {name}, times {scale}, is"
            tolerance = 1e-5 * (1.0 + abs(float(symbolic)))
            assert_close("symbolic_log_eppf", owner, title, derivative * scale, slope(moved, 1e-3), 1e-5, tolerance)


def _scale(measure, name):
    """Scale, up to a factor, of steps of a hyperparameter in both directions; 0 at the end of its support."""
    value = float(getattr(measure, name))
    scale = abs(value) or 1.0
    for _ in range(60):
        if all(_is_allowed(measure._replace(**{name: value + side * scale})) for side in (-0.99, 0.99)):
            return scale
        scale *= 0.5
    return 0.0


def _is_allowed(measure):
    try:
        check_values(measure)
    except ValueError:
        return False
    return True


def _log_eppf_at(measure, name, scale, counts, step):
    """``log_eppf`` with one hyperparameter shifted by a multiple of its scale."""
    return log_eppf(measure._replace(**{name: getattr(measure, name) + step * scale}), counts)


def _check_numbers_of_clusters(measure):
    owner = type(measure)
    log_p, partitions = _probabilities(measure, _N_ITEMS)
    pmf = np.bincount(partitions.max(axis=1), weights=np.exp(log_p))
    computed = np.exp(n_clusters_log_pmf(measure, _N_ITEMS))
    assert_close("n_clusters_log_pmf", owner, f"its value for {_N_ITEMS} items is", computed, pmf)
    mean = n_clusters_mean(measure, _N_ITEMS)
    assert_close("n_clusters_mean", owner, f"for {_N_ITEMS} items it is", mean, pmf @ np.arange(1, _N_ITEMS + 1))
    total = np.exp(n_clusters_log_pmf(measure, 200)).sum()
    assert_close("n_clusters_log_pmf", owner, "the sum of the probabilities for 200 items is", total, 1.0)


def _check_tables(measure, rng):
    owner = type(measure)
    for n, k in ((1, 1), (5, 2), (30, 12)):
        table = weights(measure, n, draw_log_auxiliary(measure, n, k, rng))
        for name, values in table._asdict().items():
            if values.shape != (n + 1,):
                words = f"{name} for {n} items has shape {values.shape}, not {(n + 1,)}"
                raise CheckError(f"weights of {owner.__name__} is wrong: {words}")
        sums = np.concatenate([[0.0], np.cumsum(table.join[:-1])])
        assert_close("weights", owner, "moment differs from the sums of join: it is", table.moment, sums)


def _check_increments(measure, rng):
    for n, k in ((1, 1), (30, 12)):
        log_u = draw_log_auxiliary(measure, n, k, rng)
        terms = [log_joint_term(measure, size, log_u) for size in (n, n + 1)]
        what = f"from {n} to {n + 1} items it differs from the increment of log_joint_term: it is"
        increment, tolerance = log_joint_increment(measure, n, log_u), 1e-9 * (1.0 + abs(terms[0]))
        assert_close("log_joint_increment", type(measure), what, increment, terms[1] - terms[0], 1e-9, tolerance)


@kernel
def _log_densities(measure, counts, log_u):
    """Log joint density of a partition and of log u, at values of log u."""
    n = counts.sum()
    values = np.empty(log_u.shape[0])
    for i in range(log_u.shape[0]):
        moment = weights(measure, n, log_u[i]).moment
        # The last term makes it the density in log u.
        values[i] = log_joint_term(measure, n, log_u[i]) + log_u[i]
        for size in counts:
            values[i] += moment[size]
    return values


def _integrate(measure, counts, rng, compiled):
    """Values of log u, their log joint density with a partition, and its log integral by the trapezoid rule."""
    log_densities = runner(compiled)(_log_densities)
    n = int(counts.sum())
    draws = np.array([draw_log_auxiliary(measure, n, len(counts), rng) for _ in range(200)])
    ends = [draws.min(), draws.max()]
    highest = log_densities(measure, counts, draws).max()
    for side, step in ((0, -1.0), (1, 1.0)):
        width = max(ends[1] - ends[0], 1e-3)
        while log_densities(measure, counts, np.array([ends[side]]))[0] > highest - 45.0:
            ends[side] += step * width
    grid = np.linspace(*ends, 8001 if compiled else 1001)
    values = log_densities(measure, counts, grid)
    return grid, values, float(np.logaddexp.reduce(values) + math.log(grid[1] - grid[0]))


def _check_auxiliary(measure, counts, rng, compiled):
    owner = type(measure)
    log_u, log_density, log_integral = _integrate(measure, counts, rng, compiled)
    expected = log_eppf(measure, counts)
    if not np.isclose(log_integral, expected, rtol=0.0, atol=1e-5):
        # If all partitions of the same number of items are off by one factor, log_joint_term is to blame.
        n = int(counts.sum())
        excess = [
            _integrate(measure, sizes, rng, compiled)[2] - log_eppf(measure, sizes)
            for sizes in (np.array([n]), np.ones(n, dtype=np.int64))
        ]
        common = np.isclose(excess, log_integral - expected, rtol=0.0, atol=1e-5).all() and n > 1
        what = f"the integral over u of the joint density for cluster sizes {counts.tolist()} is"
        blamed = "log_joint_term" if common else "weights or log_joint_term"
        assert_close(blamed, owner, what, math.exp(log_integral), math.exp(expected), rtol=1e-5, atol=0.0)
    draws = np.array([draw_log_auxiliary(measure, int(counts.sum()), len(counts), rng) for _ in range(2000)])
    share = np.cumsum(np.exp(log_density - log_density.max()))
    at = np.interp(draws, log_u, share / share[-1])
    distance = stats.kstest(at, "uniform", method="asymp").statistic
    # A correct sampler exceeds this with probability 3e-6, by Kolmogorov's distribution.
    limit = 2.6 / math.sqrt(len(at))
    if not distance < limit:
        raise CheckError(
            f"draw_log_auxiliary of {owner.__name__} is wrong: for cluster sizes {counts.tolist()} the distribution "
            f"functions of {len(at)} draws and of the joint density differ by {distance:.3g}, more than "
            f"{limit:.3g}"
        )


def _check_partitions(measure, rng):
    owner, n, n_draws = type(measure), 4, 3000
    draws = np.array([draw_partition(measure, n, rng) for _ in range(n_draws)])
    for size in (0, 1):
        if draw_partition(measure, size, rng).tolist() != [0] * size:
            raise CheckError(
                f"draw_partition of {owner.__name__} is wrong: for {size} items its labels are not a vector of zeros"
            )
    for labels in [draw_partition(measure, 100, rng), *draws]:
        if labels.dtype != np.int64 or not np.array_equal(labels, canonical_labels(labels)):
            words = f"labels {labels.tolist()} of type {labels.dtype} are not int64 in order of appearance"
            raise CheckError(f"draw_partition of {owner.__name__} is wrong: {words}")
    log_p, partitions = _probabilities(measure, n)
    occurs = (draws[:, None] == partitions).all(axis=2)
    common = n_draws * np.exp(log_p) > 10.0
    occurs = np.column_stack([occurs[:, common], occurs[:, ~common].any(axis=1)])
    probabilities = np.append(np.exp(log_p[common]), np.exp(log_p[~common]).sum())
    likely = n_draws * np.minimum(probabilities, 1.0 - probabilities) > 10.0
    what = f"the share of a partition of {n} items, less its probability,"
    if likely.any():
        assert_zero("draw_partition", owner, what, (occurs - probabilities)[:, likely])
    sizes = np.array([draw_partition(measure, 200, rng).max() + 1.0 for _ in range(300)])
    log_pmf = n_clusters_log_pmf(measure, 200)
    mean = np.exp(log_pmf) @ np.arange(1, 201)
    if sizes.std() > 0.0:
        assert_zero("draw_partition", owner, "the number of clusters of 200 items, less its mean,", sizes - mean)


@kernel
def _figures(measure, counts, log_u, rng):
    n = counts.sum()
    table = weights(measure, n, log_u)
    return (
        table.join,
        log_joint_term(measure, n, log_u),
        draw_log_auxiliary(measure, n, counts.shape[0], rng),
        log_eppf(measure, counts),
        draw_partition(measure, 50, rng),
    )


def _check_interpreted(measure, seed):
    names = ("weights", "log_joint_term", "draw_log_auxiliary", "log_eppf", "draw_partition")
    arguments = measure, np.array([3, 2, 1]), 0.5
    compiled = _figures(*arguments, np.random.default_rng(seed))
    python = _figures.__wrapped__(*arguments, np.random.default_rng(seed))
    for name, compiled_value, expected in zip(names, compiled, python, strict=True):
        assert_close(name, type(measure), "its compiled value differs from Python: it is", compiled_value, expected)
