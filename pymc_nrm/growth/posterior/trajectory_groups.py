"""Curves of the groups of an estimate, probabilities of their members, and effects of covariates on membership."""

from typing import Any, NamedTuple

import numpy as np
import scipy

from pymc_nrm.common.checks import random_generator
from pymc_nrm.families.conjugate import restore_parameters
from pymc_nrm.growth.families import NormalTrajectory
from pymc_nrm.models.origin import origin_of
from pymc_nrm.models.rvs import checked_model, family_of, is_mixture, partition_of
from pymc_nrm.models.values import constant_value
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.layout import NewCovariates
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.draws import partition_draws
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import evenly_spaced, point_estimate
from pymc_nrm.stats.result import posterior_of

# Curves are drawn in so many draws, at so many times; effects are averaged over so many items.
MOST_DRAWS, N_TIMES, _MOST_ITEMS = 400, 61, 400


class TrajectoryGroups(NamedTuple):
    """Groups of trajectories in S draws, in the order of the estimate's labels."""

    # Labels of the items in order of appearance (n,), and what the estimate calls these clusters.
    labels: Any
    names: Any
    estimate: Any
    # Probabilities (n, G) that an item is in a group.
    probability: Any
    # Times of curves (N_TIMES,), and their values (S, G, N_TIMES).
    times: Any
    curves: Any
    # Standard deviations (S, G) of errors and of the intercepts of items.
    noise: Any
    intercepts: Any
    # The dimension of the items, and their times and responses (n, d).
    dim: str
    time: Any
    values: Any
    # The mixture, and how its table was read, or None.
    mixture: Any
    growth: Any


def find_trajectories(model, var_name=None, partition=None):
    """Find the only mixture of trajectories, of a partition if this is given, or the one of a name."""
    matches = [rv for rv in model.observed_RVs if is_mixture(rv) and isinstance(family_of(rv), NormalTrajectory)]
    if partition is not None:
        matches = [rv for rv in matches if partition_of(rv) is partition]
    if var_name is not None:
        matches = [rv for rv in matches if rv.name == var_name]
    if len(matches) != 1:
        names = [rv.name for rv in matches]
        raise ValueError(
            "model must have one observed Mixture of NormalTrajectory, as growth_mixture makes it, or var_name must "
            f"name one of several; got {names if var_name is None else var_name!r}"
        )
    return matches[0]


def trajectory_groups(idata, model, estimate=None, var_name=None, partition=None):
    """Return :class:`TrajectoryGroups` of an estimate, by default the point estimate with seed 0."""
    model = checked_model(model)
    mixture = find_trajectories(model, var_name, partition)
    covariates = NewCovariates(model, mixture.name)
    values = model.rvs_to_values[mixture].data
    if len(covariates.sources) != 1 or model[covariates.sources[0]].ndim != 2:
        raise ValueError(
            f"covariates of {mixture.name!r} must be a function of one pm.Data of shape (n, d), the times of the "
            f"visits; they depend on {covariates.sources}"
        )
    [source] = covariates.sources
    time = constant_value(model[source])
    present = ~np.isnan(values)
    times = np.linspace(time[present].min(), time[present].max(), N_TIMES)
    posterior, partition = posterior_of(idata, by_chain=True), partition_of(mixture)
    labels_of_draws = partition_draws(posterior, partition.name)
    estimate = point_estimate(labels_of_draws, keep_empty_items=True, random_seed=0) if estimate is None else estimate
    labels, names = read_estimate(estimate, labels_of_draws)
    n_groups, rng = int(labels.max()) + 1, random_generator(0)
    draws = draws_of(evenly_spaced(posterior, MOST_DRAWS), model, partition.name)
    curves, noise, intercepts, probability = [], [], [], np.zeros((len(labels), n_groups))
    for draw in draws:
        family, data = draws.mixture(draw, mixture.name)
        rows = restore_parameters(family, data, draws.cluster_parameters(draw, mixture.name, rng))
        members = contingency_table(labels, draw.labels, n_groups, len(rows))
        shares = members / members.sum(axis=1, keepdims=True)
        if not curves:
            design = covariates.at(family, {source: times[None]}).covariates[0]
            start = covariates.at(family, {source: times[None, : N_TIMES // 2]}).covariates[0]
            if not np.allclose(start, design[: len(start)], rtol=1e-9, atol=1e-9):
                raise ValueError(
                    f"covariates of a visit of {mixture.name!r} must be a function of its own time, to be known at "
                    "other times; they depend on other visits, as with the mean of an item"
                )
        # Clusters without members of any group have no weight, whatever their parameters.
        rows = np.where(members.any(axis=0)[:, None], rows, 0.0)
        curves.append(shares @ rows[:, :-1] @ design.T)
        sd = shares @ np.sqrt(rows[:, -1])
        noise.append(sd)
        intercepts.append(np.sqrt(family.ratio) * sd)
        probability += (members / np.maximum(members.sum(axis=0), 1)).T[draw.labels]
    dim = (model.named_vars_to_dims.get(mixture.name) or ("item",))[0]
    return TrajectoryGroups(
        *(labels, names, estimate, probability / len(curves), times),
        *(np.stack(curves), np.stack(noise), np.stack(intercepts)),
        *(dim, time, values, mixture, origin_of(mixture).rows),
    )


class Effect(NamedTuple):
    """Probabilities (S, G) of the groups at two values of a term, averaged over the items."""

    label: str
    low_value: Any
    high_value: Any
    low: Any
    high: Any


def membership_effects(idata, model, groups):
    """Return :class:`Effect` for each term of the membership of a growth mixture.

    The probability of a group is the sum over components of their weights, times the share of the items of the
    component that are in the group: it does not depend on the order of components.
    """
    if groups.growth is None or not groups.growth.membership:
        return []
    posterior = evenly_spaced(posterior_of(idata, by_chain=True), MOST_DRAWS)
    sample = ("chain", "draw")
    level, gate = (posterior[name].stack(sample=sample).transpose("sample", ...).values for name in ("level", "gate"))
    z = posterior[partition_of(groups.mixture).name].stack(sample=sample).transpose("sample", ...).values
    n_groups, n_components = len(groups.names), len(model.coords["group"])
    maps = np.stack([contingency_table(row, groups.labels, n_components, n_groups) for row in z])
    maps = maps / np.maximum(maps.sum(axis=2, keepdims=True), 1)
    X, terms = constant_value(model["membership"]), groups.growth.membership
    step = -(-len(X) // _MOST_ITEMS)
    effects = []
    for place, term in enumerate(terms):
        # An item has one level: it is compared to the one without a term, and the column has no third.
        alike = [k for k, other in enumerate(terms) if other.column == term.column]
        centers = np.array([terms[k].center for k in alike])
        different = np.unique(X[:, place])
        if term.level is not None:
            ends = (-centers, (place == np.array(alike)) - centers)
            [reference] = set(term.levels) - {terms[k].level for k in alike}
            written = [reference, term.level]
        else:
            ends = (different[0], different[-1]) if len(different) == 2 else (-1.0, 1.0)
            written = [term.center + term.scale * end for end in ends]
        shares = []
        for end in ends:
            changed = X[::step].copy()
            changed[:, alike] = end
            logits = level[:, None] + np.einsum("it,stk->sik", changed, gate)
            weights = scipy.special.softmax(logits, axis=2)
            shares.append(np.einsum("sik,skg->sg", weights, maps) / len(changed))
        effects.append(Effect(str(term.column), *written, *shares))
    return effects
