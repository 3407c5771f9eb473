"""Joint distribution tests: compare a model's steps with forward draws from the model."""

from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.model import BaseModel, Model, modelcontext
from pymc.pytensorf import compile as compile_function
from pymc.step_methods import BlockedStep
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.checks import random_generator
from pymc_nrm.common.pymc_internals import StepMethodState, dataclass_state
from pymc_nrm.families.definitions.categorical_dirichlet import CategoricalDirichlet
from pymc_nrm.models.model_graphs import at_values
from pymc_nrm.models.rvs import (
    family_of,
    is_mixture,
    kind_of,
    n_items,
    other_uses,
    partition_of,
    partitions_of,
    rows_of,
)
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.partitions.flat import Flat
from pymc_nrm.testing.scores import mean_and_error

# Data and their differences are clipped here, so that means over draws exist.
_LARGEST = 10.0


@dataclass_state
class ForwardDrawState(StepMethodState):
    """State needed to resume the step."""


class ForwardDraw(BlockedStep):
    """Draw variables from their conditional distribution given their parents in the graph, ignoring their children.

    Together with the other steps of a model it leaves the *prior* of all variables invariant, provided that nothing
    depends on the variables it draws.  :func:`geweke` builds a test on this.

    Parameters
    ----------
    vars : list of random variables
    **kwargs
        ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step.

    Raises
    ------
    ValueError
        If another random variable or a potential depends on one of the variables.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), shape=(3,))
    ...     step = ForwardDraw([x])
    >>> [variable.name for variable in step.vars]
    ['x']
    """

    name = "forward_draw"
    _state_class = ForwardDrawState
    default_blocked = False

    def __init__(self, vars, *, model=None, rng=None, initial_point=None, compile_kwargs=None, blocked=False):
        model = modelcontext(model)
        [self._value] = self.vars = get_value_vars_from_user_vars(vars, model)
        variable = model.values_to_rvs[self._value]
        others = [rv for rv in [*model.basic_RVs, *model.potentials] if rv is not variable]
        if any(variable in set(ancestors([rv])) for rv in others):
            raise ValueError(
                f"vars must be variables on which no other variable or potential depends; something depends on "
                f"{variable.name!r}"
            )
        self.rng = get_random_generator(rng)
        op, node = variable.owner.op, variable.owner
        rng_in = pt.random.type.random_generator_type("rng")
        parameters = at_values(model, op.dist_params(node))
        drawn = op.make_node(rng_in, op.size_param(node), *parameters).outputs
        graph_inputs = set(ancestors(drawn))
        inputs = [value for value in model.value_vars if value in graph_inputs]
        self._names = [value.name for value in inputs]
        self._draw = compile_function([rng_in, *inputs], drawn, on_unused_input="ignore", **(compile_kwargs or {}))

    def step(self, point):
        self.rng, value = self._draw(self.rng, *[point[name] for name in self._names])
        return {**point, self._value.name: value}, [{}]


def geweke(
    model: Model,
    functionals: Any = None,
    *,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    step: Any = None,
    random_seed: Any = None,
    **kwargs: Any,
) -> dict[str, float]:
    """Joint distribution test of a model and the steps that sample it (Geweke 2004).

    The model holds its data as latent variables: every ``Mixture``, and every variable whose parameters labels index,
    has no ``observed``.  A chain that alternates between forward draws of the data and the model's own steps has the
    prior as its stationary distribution.  The test compares means over this chain with means over forward draws from
    the model.

    Parameters
    ----------
    model : pymc.Model
        With latent data on which nothing else depends.
    functionals : dict, optional
        Name to function of an ``xarray.Dataset`` with dimensions ``chain`` and ``draw``, which returns an array with
        these two dimensions, of finite numbers.  By default: every scalar variable and its square, and for arrays the
        means of both over all entries; the number of clusters and the entropy of every partition, for a nested
        partition in each column; the mean absolute value of all data, with values clipped at 10; and the mean over all
        pairs of rows of their absolute difference, clipped at 10, where they share a cluster, and 0 elsewhere.  For
        levels, equality takes the place of the difference.  Only the means over pairs notice a step that ignores the
        data: it leaves the marginal distributions of labels and data as they are.
    draws, tune, chains : int
        As for ``pm.sample``; the number of forward draws equals the number of draws of all chains.
    step : step or list of steps, optional
        Steps to use instead of those that PyMC assigns.
    random_seed : int, optional
    **kwargs
        More arguments of ``pm.sample``.

    Returns
    -------
    dict
        Name to z-score; compare with :func:`largest_z`.  Where a functional is constant in both samples, the score is 0
        if the two constants agree, and infinite otherwise.

    Raises
    ------
    ValueError
        If the model has observed variables, or no latent data, or a functional is not finite.

    References
    ----------
    Geweke (2004), "Getting it right: joint distribution tests of posterior simulators", JASA 99, 799-804.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), shape=(3,))
    >>> z_scores = geweke(model, draws=200, tune=0, chains=2, random_seed=1)  # doctest: +SKIP
    >>> sorted(z_scores)  # doctest: +SKIP
    ['x within z', 'x: size', 'z: entropy', 'z: n_clusters']
    """
    if not isinstance(model, BaseModel):
        raise TypeError(f"model must be a pymc.Model; got {model!r}")
    seeds = random_generator(random_seed).bit_generator.seed_seq.generate_state(2)
    data = _latent_data(model)
    if model.observed_RVs or not data:
        raise ValueError("model must have latent mixtures and no observed variables for geweke")
    functionals = _default_functionals(model) if functionals is None else functionals
    free = [rv.name for rv in model.free_RVs]
    names = free + [variable.name for variable in model.deterministics]
    with model:
        # Names of variables only: transformed values belong to the sampler.
        forward = pm.sample_prior_predictive(chains * draws, var_names=names, random_seed=int(seeds[0])).prior.dataset
        starts = [{name: forward[name].values[0, chain] for name in free} for chain in range(chains)]
        steps = [ForwardDraw(data)] + ([] if step is None else list(np.atleast_1d(step)))
        kwargs = {"progressbar": False, "quiet": True, "compute_convergence_checks": False, "cores": 1} | kwargs
        sampled = pm.sample(
            draws, tune=tune, chains=chains, step=steps, initvals=starts, random_seed=int(seeds[1]), **kwargs
        ).posterior.dataset
    return {name: _score(name, functional(sampled), functional(forward)) for name, functional in functionals.items()}


def _score(name, sampled, forward):
    """Standardised difference between the mean of a functional over chains and over independent draws."""
    sampled, forward = np.asarray(sampled, dtype="float64"), np.asarray(forward, dtype="float64").ravel()
    largest = np.max([np.abs(sampled).max(), np.abs(forward).max()])
    if not np.isfinite(largest):
        raise ValueError(f"functionals must be finite in every draw; {name!r} is not")
    mean, error, _ = mean_and_error(sampled)
    difference = mean - forward.mean()
    total = np.hypot(error, forward.std(ddof=1) / np.sqrt(forward.size))
    # Constants have no standard error; rounding errors do not count.
    if total <= 1e-14 * largest:
        return 0.0 if abs(difference) <= 1e-12 * largest else float(np.copysign(np.inf, difference))
    return float(difference / total)


def _latent_data(model):
    """Latent mixtures, and latent variables that depend on labels and have no dependents."""
    latent = [rv for rv in model.free_RVs if is_mixture(rv)]
    everything = [*model.basic_RVs, *model.potentials]
    for partition in partitions_of(model, Flat):
        for rv in other_uses(model, partition):
            is_used = any(rv in set(ancestors([other])) for other in everything if other is not rv)
            if rv in model.free_RVs and rv not in latent and not is_used:
                latent.append(rv)
    return latent


def _default_functionals(model):
    functionals, data = {}, _latent_data(model)
    for rv in model.free_RVs:
        name = rv.name
        if kind_of(rv):
            for column, place in kind_of(rv).random_columns().items():
                of_column = partial(_of_column, name=name, place=place)
                functionals[f"{name}: {column or 'n_clusters'}"] = partial(of_column, _n_labels)
                functionals[f"{name}: {', '.join(filter(None, [column, 'entropy']))}"] = partial(of_column, _entropies)
        elif rv in data:
            functionals[f"{name}: size"] = lambda draws, name=name: _mean_size(draws[name].values)
            functionals |= _pair_functionals(model, rv)
        elif rv.ndim == 0:
            functionals[name] = lambda draws, name=name: draws[name].values
            functionals[f"{name} squared"] = lambda draws, name=name: draws[name].values ** 2
        else:
            functionals[f"{name}: mean"] = lambda draws, name=name: _mean_entry(draws[name].values)
            functionals[f"{name}: mean square"] = lambda draws, name=name: _mean_entry(draws[name].values ** 2)
    return functionals


def _pair_functionals(model, data):
    """Functionals of data and labels together, for each partition of the rows of the data, and each of its columns."""
    functionals = {}
    has_levels = is_mixture(data) and isinstance(family_of(data), CategoricalDirichlet)
    contrast = np.equal if has_levels else _clipped_distance
    for partition, kind in partitions_of(model).items():
        shares_rows = is_mixture(data) and partition_of(data) is partition
        rows = rows_of(data) if shares_rows else slice(None)
        # Other data may read labels through any index; only data whose rows are the items are paired with them.
        is_item_wise = data in other_uses(model, partition) and data.type.shape[:1] == (n_items(partition),)
        if isinstance(kind, Chunked) or not (shares_rows or is_item_wise):
            continue
        for column, place in kind.random_columns().items():
            title = f"{data.name} within {', '.join(filter(None, [partition.name, column]))}"
            functionals[title] = partial(
                lambda draws, names, place, rows, contrast: _mean_within(
                    draws[names[0]].values, draws[names[1]].values[place][..., rows], contrast
                ),
                names=(data.name, partition.name),
                place=place,
                rows=rows,
                contrast=contrast,
            )
    return functionals


def _of_column(functional, draws, name, place):
    return functional(draws[name].values[place])


def _n_labels(labels):
    return (np.diff(np.sort(labels, axis=-1), axis=-1) > 0).sum(axis=-1) + 1


def _entropies(labels):
    shares = (labels[..., None] == np.arange(labels.shape[-1])).mean(axis=-2)
    return -(shares * np.log(np.where(shares > 0.0, shares, 1.0))).sum(axis=-1)


def _mean_size(values):
    sizes = np.minimum(np.abs(values), _LARGEST)
    return _mean_of(np.nansum(sizes, axis=_entries(values)), np.isfinite(sizes).sum(axis=_entries(values)))


def _mean_entry(values):
    # A mean that is 0 by a constraint is not its rounding error.
    values = values.astype("float64")
    mean, size = values.mean(axis=_entries(values)), np.abs(values).max(axis=_entries(values), initial=0.0)
    return np.where(np.abs(mean) > 1e-14 * size, mean, 0.0)


def _mean_within(values, labels, contrast):
    """Mean over pairs of rows, and features, of the contrast of two values in a cluster; other pairs have 0.

    Pairs with a missing value are left out. Shapes: ``values`` (chains, draws, n, ...), ``labels`` (chains, draws, n).
    """
    values = values.reshape(*labels.shape, -1).astype("float64")
    total, n_pairs = np.zeros(labels.shape[:2]), np.zeros(labels.shape[:2])
    for step in range(1, labels.shape[2]):
        first, second = values[:, :, step:], values[:, :, :-step]
        together = (labels[:, :, step:] == labels[:, :, :-step])[..., None]
        is_known = ~(np.isnan(first) | np.isnan(second))
        total += np.where(together & is_known, contrast(first, second), 0.0).sum(axis=(2, 3))
        n_pairs += is_known.sum(axis=(2, 3))
    return _mean_of(total, n_pairs)


def _clipped_distance(first, second):
    return np.minimum(np.abs(first - second), _LARGEST)


def _entries(values):
    """Axes behind chains and draws."""
    return tuple(range(2, values.ndim))


def _mean_of(total, number):
    return total / np.maximum(number, 1)
