"""Labels added to draws from a model in which they are summed out."""

from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from pymc_nrm.common.checks import random_generator
from pymc_nrm.common.marks import NAME, NUMBER, partition_number
from pymc_nrm.common.progress import tracked
from pymc_nrm.models.imputed_entries import integrate_out_imputed
from pymc_nrm.models.itemwise.flow import check_one_partition, terms_of
from pymc_nrm.models.rvs import checked_model, dims_of, kind_of, mixtures_of, n_items, partitions_of
from pymc_nrm.partitions.weighted_components import WeightedComponents, draw_of_rows
from pymc_nrm.posterior.component_draws import ComponentDraws
from pymc_nrm.posterior.label_dependence import mark_variables
from pymc_nrm.stats.result import posterior_of


def draw_labels(
    idata: Any, model: pm.Model | None = None, *, random_seed: Any = None, progressbar: bool = True
) -> xr.DataTree:
    """Draw the labels of all partitions with ``log_weights``, given draws from the model of :func:`summed_out`.

    Given everything else in a draw, labels of different items are independent: each is drawn from its exact conditional
    distribution.

    Parameters
    ----------
    idata : DataTree or Dataset
        Draws of all other variables.
    model : pm.Model, optional
        The model with labels, by default the model of the context.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    DataTree
        The same result, with labels and numbers of clusters in the group ``posterior``, and the marks of
        :func:`~pymc_nrm.sample`: parameters of components, which change places when these are renamed, are left out of
        :func:`~pymc_nrm.summary` and not judged.

    Raises
    ------
    ValueError
        If the model has no such partition, or a Mixture over one, draws lack a variable, or an item is impossible in
        every component given a draw, as when the data of the model changed after sampling.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> import xarray as xr
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", log_weights=np.log([0.5, 0.5]), n=4)
    ...     rate = pm.Gamma("rate", 1, 1, shape=2)
    ...     x = pm.Poisson("x", rate[z], observed=[0, 1, 8, 9])
    >>> posterior = xr.Dataset({"rate": (("chain", "draw", "rate_dim_0"), [[[0.1, 9.0]] * 3])})
    >>> nrm.draw_labels(posterior, model, random_seed=1)["posterior"]["z"].values[0, 0].tolist()
    [0, 0, 1, 1]
    """
    model, rng = checked_model(model), random_generator(random_seed)
    partitions = list(partitions_of(model, WeightedComponents))
    if not partitions:
        raise ValueError(f"model must have a Partition with log_weights; got one with {sorted(model.named_vars)}")
    for rv in partitions:
        for mixture in mixtures_of(model, rv):
            raise ValueError(
                f"model must have no Mixture over {rv.name!r}; got {mixture.name!r}, whose parameters are integrated "
                "out, so that labels depend on each other: nrm.sample draws them"
            )
    posterior, integrated = posterior_of(idata, by_chain=True), integrate_out_imputed(model)
    if integrated.names.isdisjoint(posterior.data_vars):
        # Missing entries of data are integrated out of the draws.
        model = integrated.model
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    dims = {rv: ("chain", "draw", *dims_of(model, rv)) for rv in partitions}
    lengths = {rv: n_items(rv) for rv in partitions}
    # Classes of draws read labels, on which nothing here depends.
    blank = posterior.assign({rv.name: (dims[rv], np.zeros((*shape, lengths[rv]), dtype=int)) for rv in partitions})
    # Data, potentials, and latent variables that depend on labels, as for the steps that draw labels.
    terms_by_partition = {rv: {term.name for term in terms_of(model, rv)} for rv in partitions}
    check_one_partition(terms_by_partition.values())
    added = {}
    for rv in partitions:
        draws = ComponentDraws(blank, model, rv)
        labels = np.empty((len(draws), lengths[rv]), dtype=np.int64)
        terms = terms_by_partition[rv]
        for draw in tracked(draws, "Drawing labels", progressbar):
            table = draws.shares(draw)
            if terms:
                table = table + draws.log_densities(draws.point(draw), terms)
            labels[draw.index] = draw_of_rows(rng, np.ascontiguousarray(table))
            if labels[draw.index].min() < 0:
                chain, place = divmod(draw.index, shape[1])
                raise ValueError(
                    f"idata must be draws given the data that the model has: in draw {place} of chain {chain}, item "
                    f"{np.argmin(labels[draw.index])} of {rv.name!r} is impossible in all components"
                )
        added[rv.name] = xr.DataArray(labels.reshape(*shape, -1), dims=dims[rv], attrs=kind_of(rv).marks())
        if model.coords.get(dims[rv][2]) is not None:
            added[rv.name] = added[rv.name].assign_coords({dims[rv][2]: np.asarray(model.coords[dims[rv][2]])})
        added[f"{rv.name}_n_clusters"] = (("chain", "draw"), kind_of(rv).n_clusters(labels).reshape(shape))
    tree = idata.copy() if isinstance(idata, xr.DataTree) else xr.DataTree.from_dict({"posterior": posterior})
    tree["posterior"] = xr.DataTree(tree["posterior"].to_dataset().assign(added))
    mark_variables(tree, model)
    # Readers warn of labels that no step of this package reports.
    numbers = np.full((*shape, len(partitions)), [partition_number(rv.name) for rv in partitions])
    several = len(partitions) > 1
    reported = xr.DataArray(numbers if several else numbers[..., 0], dims=("chain", "draw", NAME)[: 2 + several])
    if several:
        reported = reported.assign_coords({NAME: [rv.name for rv in partitions]})
    stats = tree["sample_stats"].to_dataset() if "sample_stats" in tree.children else xr.Dataset()
    tree["sample_stats"] = xr.DataTree(stats.assign({NUMBER: reported}))
    return tree
