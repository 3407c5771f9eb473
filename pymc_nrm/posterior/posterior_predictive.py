"""Replications of the data from the clusters found, data of new items, and the pointwise log-likelihood."""

import logging
from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_count, check_name, random_generator
from pymc_nrm.common.dates import written_times
from pymc_nrm.common.progress import tracked
from pymc_nrm.common.wrapping import first_few, wrapped
from pymc_nrm.families.needs import check_needs
from pymc_nrm.models.rvs import checked_model, is_mixture, kind_of, mixtures_of, other_uses, partition_of
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.layout import MixtureLayout, draws_dataset, partition_coords
from pymc_nrm.posterior.log_likelihood_group import check_extension, with_log_likelihood

_log = logging.getLogger("pymc.nrm_results")
# Log densities of items without data are zero up to rounding.
_ROUNDING = 1e-9


def sample_posterior_predictive(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    *,
    new_items: int = 0,
    new_paths: Any = None,
    sequence: Any = None,
    var_names: Any = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Draw replications of the data from the clusters of every posterior draw, and data of new items.

    Parameters of clusters are drawn given the partition and the data.  The clusters of
    ``pm.sample_posterior_predictive``, in contrast, get new parameters from the base measure.

    Parameters
    ----------
    %(idata)s
    %(model)s
    new_items : int
        Number of new items of every partition involved; of hidden states, of next times.
    %(new_paths)s
    %(sequence)s
    var_names : str or sequence of str, optional
        Names of mixtures.  By default all observed mixtures, or all mixtures if none is observed.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    DataTree
        The group ``posterior_predictive`` has the replications, dims (chain, draw) and the dims of the mixture.  The
        group ``predictions``, which exists only with new items, has their data, and their labels under the name of the
        partition, with the dimension ``new_<dim of the partition's items>``, for a nested partition also with the
        dimension of its columns; next times of hidden states have coordinates as in
        :func:`~pymc_nrm.states.forecast_density`.  The group ``observed_data`` is copied from ``idata``, if it has one.

    Raises
    ------
    ValueError
        If the draws or the model lack a variable, groups of new items are missing or have no meaning, ``new_items`` is
        not a whole number of at least 0, or there are new items but a hyperparameter has one value for each old item.

    Notes
    -----
    Labels of new items are drawn in turn from the predictive distribution of the partition with u integrated out
    (ratios of partition probabilities).  Labels below the number of clusters of the draw are its clusters.  The next
    ones are clusters that new items open and may share; their parameters come from the base measure.  Mixtures over the
    same partition share these labels.  The same holds for nodes, tables and components of a nested partition, and the
    mean of a new node diffuses from the mean of its parent.  New items of hidden states are the next times of a
    sequence.

    Missing entries of the data are drawn as well, and are imputations given the partition and the parameters.
    ``MultinomialDirichlet`` replicates the row sums of the data; for new items, all row sums must be equal.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> drawn = nrm.sample_posterior_predictive(posterior, model, new_items=2, random_seed=1)
    >>> dict(drawn["posterior_predictive"].sizes)
    {'chain': 1, 'draw': 2, 'x_dim_0': 3}
    >>> dict(drawn["predictions"].sizes)
    {'chain': 1, 'draw': 2, 'new_item': 2}
    """
    model = checked_model(model)
    check_count("new_items", new_items, 0)
    for argument, value in {"new_paths": new_paths, "sequence": sequence}.items():
        if value is not None and new_items == 0:
            raise ValueError(f"{argument} must be None unless there are new_items; got {value!r}")
    layouts = _layouts(model, var_names)
    partitions = [draws_of(idata, model, name) for name in dict.fromkeys(layout.partition for layout in layouts)]
    if new_paths is not None:
        # They are for all partitions with known paths; others refuse them.
        for draws in [draws for draws in partitions if draws.takes_new_paths] or partitions:
            draws.take_new_paths(new_paths)
    if sequence is not None:
        for draws in [draws for draws in partitions if draws.takes_sequence] or partitions:
            draws.take_sequence(sequence)
    rng = random_generator(random_seed)
    replicated, predicted, coords, new_coords = {}, {}, {}, {}
    for draws in partitions:
        group = [layout for layout in layouts if layout.partition == draws.partition]
        for layout in group:
            check_needs(layout.family_class, draws.needs_of_data, "sample_posterior_predictive")
        new_dim = f"new_{draws.item_dim}"
        labels, results = _draw(draws, group, new_items, rng, progressbar)
        columns = {f"{draws.partition}_{dim}": names for dim, names in draws.kind.coords().items()}
        predicted[draws.partition] = ((new_dim, *columns), labels)
        new_coords |= columns | draws.coords_of_new(new_dim, new_items)
        for layout in group:
            dims, values = layout.data_dims(layout.item_dim), results[layout.name]
            values = values[..., 0] if layout.univariate else values
            n_rows = values.shape[1] - new_items
            replicated[layout.name] = (dims, values[:, :n_rows])
            predicted[layout.name] = (layout.data_dims(new_dim), values[:, n_rows:])
            new_coords |= layout.coords(dict(zip(dims[1:], values.shape[2:], strict=True)))
            coords |= partition_coords(draws) | layout.coords(dict(zip(dims, values.shape[1:], strict=True)))
    posterior = partitions[0].posterior
    tree = {"posterior_predictive": draws_dataset(posterior, replicated, coords)}
    if new_items:
        tree["predictions"] = draws_dataset(posterior, predicted, new_coords)
    if isinstance(idata, xr.DataTree) and "observed_data" in idata.children:
        tree["observed_data"] = idata["observed_data"].to_dataset()
    return xr.DataTree.from_dict(tree)


def _layouts(model, var_names):
    if not isinstance(var_names, str | list | tuple | None):
        raise TypeError(f"var_names must be a string or a list of strings; got {var_names!r}")
    if var_names is None:
        names = [rv.name for rv in model.basic_RVs if is_mixture(rv)]
        layouts = [MixtureLayout(model, name, nested=True) for name in names]
        if not layouts:
            raise ValueError(
                f"model must have a Mixture; got one with the variables {sorted(model.named_vars)}. For likelihoods "
                "with labels as an index use pm.sample_posterior_predictive, for new items sample_new_labels first"
            )
        return [layout for layout in layouts if layout.observed] or layouts
    names = [var_names] if isinstance(var_names, str) else list(var_names)
    if not names:
        raise ValueError("var_names must name at least one Mixture; got none")
    for name in names:
        check_name("var_names", name, "a Mixture, or a list of names")
    return [MixtureLayout(model, name, nested=True) for name in dict.fromkeys(names)]


def _draw(draws, layouts, new_items, rng, progressbar):
    """Labels of new items and, for each mixture, the data of old items followed by the data of new ones."""
    new_labels, results = [], {}
    for draw in tracked(draws, "Drawing data", progressbar):
        value = draws.labels_with_new(draw, new_items, rng)
        new_labels.append(value[draws.n_items :])
        for layout in layouts:
            values = draws.draw_data(draw, layout, value, rng)
            if draw.index == 0:
                results[layout.name] = np.empty((len(draws), *values.shape), dtype=layout.dtype)
            results[layout.name][draw.index] = values
    return np.array(new_labels), results


def compute_log_likelihood(
    idata: xr.DataTree,
    model: Model,
    *,
    var_name: str | None = None,
    extend_inferencedata: bool = True,
    progressbar: bool = True,
) -> Any:
    """Log-likelihood of each item for ``arviz.loo``, so that ``arviz.compare`` can compare measures and families.

    An item is left out together with its label.  Its value in a draw is its log predictive density given the other
    items, their partition and the hyperparameters, with its own label and all parameters of clusters integrated out.

    Parameters
    ----------
    idata : DataTree
        Posterior draws.
    %(model)s
    var_name : str, optional
        Name of the partition, or of its data if only one variable depends on it; by default the only partition.
    extend_inferencedata : bool
        Whether to add the result to the group ``log_likelihood`` of ``idata``, which must then be a DataTree.
    %(progressbar)s

    Returns
    -------
    DataTree or Dataset
        ``idata`` itself, or a Dataset.  The variable has dims (chain, draw, item) and the name of the data.  If several
        variables depend on the partition, it is the joint log density of all data of an item, all of its rows, and has
        the name of the partition.  Items without data, such as rows of NaN, have log density 0 in every draw.  They
        would not change ``elpd_loo``, but ArviZ has no importance weights for constants: they are left out, and a
        line in the log says which.

    Raises
    ------
    TypeError
        If ``idata`` is to be extended and is not a DataTree.
    ValueError
        If a mixture or another variable that depends on labels is latent, a potential does, the partition has no data,
        or the draws or the model lack a variable.

    Notes
    -----
    Write z for the partition, h for hyperparameters, and -i for all items except i.  Summing over the label of item i,

        ``p(z[-i], h | x) = p(z[-i], h | x[-i]) p(x[i] | z[-i], x[-i], h) / p(x[i] | x[-i])``.

    For a nested partition z holds paths and tables, and the sum is over all paths and components of item i.  Draws
    given all data therefore become draws given x[-i] by the importance weights
    ``1 / p(x[i] | z[-i], x[-i], h)``, and the integrand is the same density.  This is what Pareto-smoothed importance
    sampling does with the values given here (integrated importance sampling, Li, Qiu, Zhang & Feng 2016, "Approximating
    cross-validatory predictive evaluation in Bayesian latent variables models with integrated IS and WAIC"; Vehtari,
    Gelman & Gabry 2017).  It is exact as the number of draws grows, for every measure, and

        ``p(x[i] | z[-i], x[-i], h) = sum_k P(join k) p(x[i] | items of cluster k but i) + P(new) p(x[i] | base)``.

    The density of an item given its own label, ``p(x[i] | z, x[-i])``, would be wrong: a singleton has the density of
    the base measure there, although the other data may predict it well, and the label itself was drawn given
    x[i].  Drawing the parameters and weights of the random measure is not needed and would only add noise.

    For data with parameters of slots, as in ``slope[z]``, the sum is over all K slots, given the parameters theta that
    the draw has in each,

        ``p(x[i] | z[-i], theta, h) = sum_(occupied s) P(join s) p(x[i] | theta_s) + sum_(empty s) P(new) / (K - k)
        p(x[i] | theta_s)``,

    where k clusters are left without the item; if they use all slots, the first sum is normalised.  Here z[-i], theta
    and h take the place of z[-i] and h, and the identity above holds as it stands, since parameters of empty slots are
    a part of the state.  The slot of an item that is alone counts among the empty ones, and its parameters know x[i]:
    an average over other or more draws from the prior in place of the K - k parameters would be biased.  Missing values
    that PyMC imputes are integrated out.

    ``elpd_loo``, its standard error, the Pareto k and comparisons have their usual meaning.  ``p_loo`` does not count
    the parameters of clusters, which are integrated out on both sides.  These values do not define WAIC.  ArviZ refuses
    values with many ties, which arise if no hyperparameter is sampled and the draws repeat a few partitions.

    Pareto k is about the shape of the tail of the weights, not about its size: weights of nearly the same value in all
    draws may have a large k, if a few draws differ because their labels do.  This is frequent for hidden states, where
    an item depends on the states beside it.  With 4000 draws of the annual flow of the Nile, k is above 0.67 in 29 of
    100 years, but the weights have effective sample sizes ``1 / sum(w**2)`` of at least 1565, and runs without the
    year in question, for the nine years with the largest k or the smallest such sizes, give log densities within 0.02.
    If k warns, look at these sizes, with ``w = np.exp(-values) / np.exp(-values).sum(("chain", "draw"))``, or fit the
    model without the item.  In a switching autoregression, the value of an item that is left out remains a covariate
    of the next ones.

    ``pm.compute_log_likelihood`` gives other values, not for ``arviz.loo``: one number per draw for a mixture,
    the joint log density of all its data, which ArviZ would take for one observation; for parameters of slots,
    densities given the label that was drawn with the data of the item.  PyMC asks the model for its log-probability as
    a sampler does, so a model cannot distinguish the two.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> idata = xr.DataTree.from_dict({"posterior": posterior})
    >>> nrm.compute_log_likelihood(idata, model)["log_likelihood"]["x"].round(2).values.tolist()
    [[[-1.97, -2.06, -5.83], [-1.82, -1.46, -5.83]]]
    """
    check_extension(idata, extend_inferencedata)
    model = checked_model(model)
    draws = draws_of(idata, model, _partition_name(model, var_name))
    data = draws.names_of_data()
    if not data:
        raise ValueError(f"no data depend on partition {draws.partition!r}: its items have no likelihood")
    latent = [name for name in draws.mixtures if model[name] not in model.observed_RVs]
    if latent:
        raise ValueError(
            f"Mixture {latent[0]!r} is latent: the likelihood of its items belongs to variables that depend on it; "
            "use pm.compute_log_likelihood for these variables"
        )
    values = np.array([draws.leave_one_out(draw) for draw in tracked(draws, "Evaluating log-likelihoods", progressbar)])
    name = data[0] if len(data) == 1 else draws.partition
    dataset = draws_dataset(draws.posterior, {name: ((draws.item_dim,), values)}, partition_coords(draws))
    dataset = _of_items_with_data(dataset, name, draws.item_dim)
    return with_log_likelihood(idata, dataset, name) if extend_inferencedata else dataset


def _of_items_with_data(dataset, name, dim):
    """Log densities without items whose log density is zero in every draw."""
    empty = (abs(dataset[name]) <= _ROUNDING).all(("chain", "draw")).to_numpy()
    if not empty.any():
        return dataset
    if empty.all():
        raise ValueError(f"{name!r} must have data of at least one item; got none")
    dataset = dataset if dim in dataset.coords else dataset.assign_coords({dim: np.arange(len(empty))})
    names = first_few(np.array(written_times(dataset[dim].to_numpy()))[empty].tolist())
    _log.info(wrapped(f"Left out of log_likelihood: {empty.sum()} of {len(empty)} items without data, {dim} {names}."))
    return dataset.isel({dim: ~empty})


def _partition_name(model, var_name):
    """Name of the partition, given this name or the name of its only data."""
    rv = next((rv for rv in model.basic_RVs if rv.name == var_name), None)
    if rv is None or kind_of(rv) is not None:
        return var_name
    partitions = [candidate for candidate in model.basic_RVs if kind_of(candidate) is not None]
    matches = (
        [partition_of(rv)]
        if is_mixture(rv)
        else [candidate for candidate in partitions if rv in other_uses(model, candidate)]
    )
    if len(matches) != 1:
        return var_name
    [partition] = matches
    others = [
        other.name for other in (*mixtures_of(model, partition), *other_uses(model, partition)) if other is not rv
    ]
    if others:
        raise ValueError(
            f"var_name={var_name!r} shares partition {partition.name!r} with {others}: items are left out as a whole; "
            f"give var_name={partition.name!r}"
        )
    return partition.name
