"""Hidden states of an estimate: the probability of each at every time, and transition probabilities between them."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_count, interval_probability, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.families.needs import COMPONENT_PANEL, PARAMETERS, check_needs
from pymc_nrm.models.rvs import checked_model, family_of, find_partition
from pymc_nrm.posterior.any_draws import draws_class
from pymc_nrm.states.partitions.filtering import draw_rows
from pymc_nrm.states.posterior.draws import StateDraws
from pymc_nrm.states.posterior.smoothing import forward_backward
from pymc_nrm.stats.contingency import contingency_table, match_clusters
from pymc_nrm.stats.draws import item_coords, item_dimension, partition_draws, stack_draws
from pymc_nrm.stats.point_estimate import chosen_estimate, evenly_spaced

_LEAST = 1e-300


def state_probabilities(
    idata: xr.DataTree | xr.Dataset,
    model: Model | None = None,
    estimate: Any = None,
    *,
    n_draws: int = 200,
    var_name: str | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Probabilities of the hidden states of an estimate at every time, given all data: smoothing.

    Parameters
    ----------
    %(idata)s
    model : pymc.Model, optional
        The sampled model: probabilities are then forward-backward sums, with less noise than the shares of the draws
        that are in a state, which are returned without it.
    %(states_estimate)s
    n_draws : int
        Number of evenly spaced draws for forward-backward sums; all draws if there are fewer.
    %(states)s
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    Dataset
        ``probability``, dims (item, state), with the labels of the estimate in the coordinate ``state``, and
        ``other_probability``, dims (item), of states that are not in the estimate; together they add up to one.
        ``labels`` is the most probable state of each time, -1 for another one.

    Raises
    ------
    NotImplementedError
        If the model is given, and a family lacks draws or densities of its parameters.
    ValueError
        If the partition has no hidden states, the estimate has a different number of items, or the draws or the model
        lack a variable.

    Notes
    -----
    In each draw, states are matched to states of the estimate one to one, such that as many times as possible are in
    matched states.

    With the model, the weights of states, their transition probabilities and their parameters are drawn given the
    labels of a draw, and the probabilities of each time given these and the data are computed (Rabiner 1989, "A
    tutorial on hidden Markov models and selected applications in speech recognition", eq. 27).  Sums are over the
    states whose weight is above 0.01, empty ones among them; times in others keep their state.  This set depends on
    weights alone, so that the mean over draws of these probabilities is exact, however many states there are.  At
    every discount of a Pitman-Yor process, the search for empty states of such weights ends when less than 1e-17 of
    them are expected to be left, after at most a few thousand.  With ``max_states`` sums are over all states, and
    parameters that labels index are those of the draw.

    Examples
    --------
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "time"), [[[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 2]]])})
    >>> smoothed = state_probabilities(posterior, estimate=[0, 0, 1, 1])
    >>> smoothed.probability.sel(state=1).round(2).values.tolist(), smoothed.other_probability.round(2).values.tolist()
    ([0.0, 0.33, 1.0, 0.67], [0.0, 0.0, 0.0, 0.33])
    """
    check_count("n_draws", n_draws, 1)
    if model is None:
        draws = partition_draws(idata, var_name)
        labels, names = chosen_estimate(estimate, draws, random_seed=0)
        rows = stack_draws(draws)
        tables = (np.eye(len(names) + 1)[match_states(row, labels)[row]] for row in rows)
        n_used = len(rows)
    else:
        model = checked_model(model)
        rv = find_states(model, var_name)
        draws = partition_draws(idata, rv.name)
        labels, names = chosen_estimate(estimate, draws, random_seed=0)
        used = _thinned(idata, model, rv, n_draws)
        tables, n_used = _smoothed(used, labels, len(names), random_generator(random_seed), progressbar), len(used)
    total = np.zeros((len(labels), len(names) + 1))
    for table in tables:
        total += table
    total /= n_used
    dim, coords = item_dimension(draws), item_coords(draws)
    [state] = added_names({dim, *coords}, "state")
    return result_dataset(
        {
            "probability": ((dim, state), total[:, :-1]),
            "other_probability": (dim, total[:, -1]),
            "labels": (dim, np.append(names, -1)[total.argmax(axis=1)]),
        },
        {**coords, state: names},
    )


def transition_matrix(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    ci_prob: float | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Transition probabilities between the hidden states of an estimate, with intervals.

    Parameters
    ----------
    %(idata)s
    %(model)s
    %(states_estimate)s
    %(states)s
    ci_prob : float, optional
        Probability of the intervals, which have equal tails; by default ``arviz_base.rcParams["stats.ci_prob"]``.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    Dataset
        ``mean``, ``low`` and ``high``, dims (state, next_state): posterior mean and interval of the probability that
        ``next_state`` follows ``state``.  States are the labels of the estimate; the last ``next_state``, -1, stands
        for all others together.  ``probability``, dims (state), is the share of the draws that have the state, over
        which means are taken; rows are NaN for a state that no draw has.

    Raises
    ------
    ValueError
        If the partition has no hidden states, the estimate has a different number of items, ``ci_prob`` is not between
        0 and 1, or the draws or the model lack a variable.

    Notes
    -----
    In each draw, states are matched to states of the estimate as in :func:`~pymc_nrm.states.state_probabilities`.
    Given its labels, the weights beta of the states are drawn exactly, and then row j from the Dirichlet distribution
    with parameters ``N[j, k] + alpha beta_k + kappa [j = k]``, where N counts transitions (Fox, Sudderth, Jordan &
    Willsky 2011).

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, 5.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9, 8])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1]] * 500])})
    >>> matrix = nrm.states.transition_matrix(posterior, model, [0, 0, 1, 1], random_seed=1)
    >>> matrix["mean"].sel(state=0).round(1).values.tolist()
    [0.8, 0.2, 0.0]
    """
    ci_prob = interval_probability(ci_prob)
    model = checked_model(model)
    rv = find_states(model, var_name)
    labels, names = chosen_estimate(estimate, partition_draws(idata, rv.name), random_seed=0)
    draws, rng, n_states = draws_class(rv)(idata, model, rv), random_generator(random_seed), len(names)
    entries = np.full((len(draws), n_states, n_states + 1), np.nan)
    for draw in tracked(draws, "Drawing transition probabilities", progressbar):
        counts, match = draws.counts(draw), match_states(draw.labels, labels)
        weights = draws.state_weights(draw, counts, rng)
        rows = draw_transitions(rng, counts, draw.prior, weights)[1:]
        for k in np.flatnonzero(match < n_states):
            entries[draw.index, match[k]] = np.bincount(np.append(match, n_states), rows[k], n_states + 1)
    is_matched = ~np.isnan(entries[:, :, 0])
    table = np.full((3, n_states, n_states + 1), np.nan)
    for k in np.flatnonzero(is_matched.any(axis=0)):
        of_k = entries[is_matched[:, k], k]
        table[0, k], table[1:, k] = of_k.mean(axis=0), np.quantile(of_k, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    dims = ("state", "next_state")
    variables = {name: (dims, values) for name, values in zip(("mean", "low", "high"), table, strict=True)}
    variables["probability"] = ("state", is_matched.mean(axis=0))
    return xr.Dataset(variables, {"state": names, "next_state": np.append(names, -1)})


def match_states(labels, estimate):
    """State of an estimate for each state of a draw, or their number for a state without a match."""
    match = match_clusters(contingency_table(labels, estimate))
    return np.where(match < 0, int(estimate.max()) + 1, match)


def find_states(model, var_name):
    """Find the hidden states of a model, by name if there are several partitions."""
    rv = find_partition(model, var_name)
    if not issubclass(draws_class(rv), StateDraws):
        raise ValueError(f"var_name must name HiddenStates; {rv.name!r} is a Partition, whose items have no order")
    return rv


def _thinned(idata, model, rv, n_draws):
    """Evenly spaced draws, after a check that all of them are draws of the model."""
    draws = draws_class(rv)(idata, model, rv)
    for name in draws.mixtures:
        needs = [*PARAMETERS, *COMPONENT_PANEL]
        check_needs(type(family_of(model[name])), needs, "state_probabilities", ["state_probabilities without model"])
    return draws_class(rv)(evenly_spaced(draws.posterior, n_draws), model, rv)


def draw_transitions(rng, counts, prior, weights):
    """Draw the transition probabilities of starts and of all states, given the weights of states.

    Shapes: ``counts`` (K + 1, K) of at most as many states as there are ``weights`` (A + 1,), whose last is that of all
    further states; returns (A + 1, A + 1).
    """
    places = np.arange(counts.shape[1])
    rows = draw_rows(rng, counts, prior, places, np.ascontiguousarray(weights[:-1]), float(weights[-1]))
    return np.column_stack([rows, np.maximum(1.0 - rows.sum(axis=1), 0.0)])


def _smoothed(draws, estimate, n_states, rng, progressbar):
    """Probabilities of the states of an estimate, the last of any other, given each draw; shape (n, n_states + 1)."""
    for draw in tracked(draws, "Smoothing states", progressbar):
        probabilities, *_ = smooth(draws, draw, rng)
        match = np.full(probabilities.shape[1], n_states)
        matched = match_states(draw.labels, estimate)
        match[: len(matched)] = matched
        yield probabilities @ np.eye(n_states + 1)[match]


def smooth(draws, draw, rng):
    """Probabilities of the states of a draw, then new ones, at all times, given weights and parameters drawn given it.

    Shapes: returns probabilities (n, A), weights (A + 1,), and parameters (A, parameters_size).
    """
    counts = draws.counts(draw)
    weights = draws.weights_of_all(draw, counts, rng)
    n_all = len(weights) - 1
    densities, parameters = draws.densities_of_all(draw, n_all, rng)
    is_free, in_state = weights[:-1] > draws.level, np.arange(n_all) == draw.labels[:, None]
    densities[~np.where(is_free[draw.labels][:, None], is_free, in_state)] = -np.inf
    # Probabilities of rare states underflow, and would leave a time without any possible state.
    transitions = np.maximum(draw_transitions(rng, counts, draw.prior, weights)[:, :-1], _LEAST)
    probabilities = np.empty_like(densities)
    forward_backward(densities, np.ascontiguousarray(transitions), draw.prior.starts, probabilities)
    return probabilities, weights, parameters
