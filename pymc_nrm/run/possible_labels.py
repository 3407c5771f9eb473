"""Default labels that index parameters, where a term of the model forbids them: the likeliest labels that it allows.

A term such as ``pm.Bernoulli("known", allowed[np.arange(n), z], observed=1)`` says which labels an item may have.  The
default start, which reads the prior of the labels alone, may not be among these.
"""

import logging

import numpy as np

from pymc_nrm.common.pymc_internals import initial_point_with
from pymc_nrm.common.wrapping import first_few
from pymc_nrm.models.itemwise.item_table import ItemTable
from pymc_nrm.models.log_density import log_density_of
from pymc_nrm.models.rvs import kind_of, other_uses, partitions_of
from pymc_nrm.partitions.slots import IndexLabels
from pymc_nrm.partitions.weighted_components import WeightedComponents
from pymc_nrm.steps.target import Target

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_runs")
# One evaluation is not worth compiling.
_CHEAP = {"mode": "FAST_COMPILE"}


def with_possible_labels(initvals, model, quiet=False):
    """Initial values with labels that the terms of the model allow, where they forbid the default labels."""
    default = [rv for rv in partitions_of(model, IndexLabels) if model.rvs_to_initial_values.get(rv) is None]
    if not default:
        return initvals
    if isinstance(initvals, list):
        return [_with_possible_labels(start, model, default, quiet) for start in initvals]
    return _with_possible_labels(initvals, model, default, quiet)


def _with_possible_labels(start, model, default, quiet):
    """Initial values of one chain, or of all."""
    given = {getattr(variable, "name", variable) for variable in start or {}}
    for partition in default:
        uses = [term.name for term in other_uses(model, partition)]
        if partition.name in given or not uses:
            continue
        point, density = initial_point_with(model, start), log_density_of(model)
        impossible = [name for name in uses if np.isneginf(density(point)[density.places([name])[0]])]
        if not impossible:
            continue
        start = {**(start or {}), partition.name: _likeliest(model, partition, point)}
        if not quiet:
            terms = first_few([repr(name) for name in impossible])
            _log.info(
                f"Labels of {partition.name!r} start as the likeliest ones, since {terms} "
                f"forbid{'s' * (len(impossible) == 1)} the default start."
            )
    return start


def _likeliest(model, partition, point):
    """The likeliest label of each item given all other variables at a point; as before where all are impossible."""
    kind, before = kind_of(partition), np.asarray(point[partition.name])
    slots = np.arange(kind.max_clusters)
    table = np.zeros((len(before), len(slots)))
    ItemTable(model, partition, len(slots), point, _CHEAP).fill(point, slots, slots, table)
    if isinstance(kind, WeightedComponents):
        prior, _, _ = Target(model, partition, point, _CHEAP).at(point)
        table += prior.log_weights
    return np.where(np.isneginf(table).all(axis=1), before, table.argmax(axis=1)).astype(before.dtype)
