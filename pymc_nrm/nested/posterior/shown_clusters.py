"""The clusters of a tree that descriptions and pictures show by default."""

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.nested.partitions.nested import WeightedNested
from pymc_nrm.nested.stats.nested_point_estimate import nested_point_estimate
from pymc_nrm.posterior.default_clusters import ShownClusters
from pymc_nrm.stats.levels import component_draws, levels
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.result import posterior_of, shows_bars, with_chains


def clusters_of_tree(kind, idata, model, rv, estimate, components, level):
    """The nodes of a level, or else the components, or the nodes of the deepest level."""
    posterior, has_components = with_chains(posterior_of(idata)), isinstance(kind, WeightedNested)
    options = {"random_seed": 0, "progressbar": shows_bars(idata)}
    check_count("level", level, 1, kind.depth, optional=True)
    if components and (level is not None or not has_components):
        reason = f"with level={level}" if has_components else f"for {rv.name!r}, a nested partition without weights"
        raise ValueError(f"components must be False {reason}")
    if has_components and level is None:
        draws, of_tree = component_draws(posterior, rv.name), "the components of the tree"
        default = None if estimate is not None else point_estimate(draws, **options)
    else:
        level = kind.depth if level is None else int(level)
        of_levels, of_tree = levels(posterior, rv.name), f"the nodes of level {level} of {kind.depth}"
        draws = of_levels.isel({of_levels.dims[2]: level - 1}, drop=True)
        default = None
        if estimate is None:
            default = nested_point_estimate(posterior, var_name=rv.name, **options).labels(level)
    estimate = default if estimate is None else estimate
    labels, names = read_estimate(estimate, draws)
    kept = np.ones(len(labels), dtype=bool)
    return ShownClusters(estimate, labels, names, draws, draws, kept, None, None, of_tree)
