"""Slice sampling of a partition, given the jumps of the random measure and the parameters of components.

Given the auxiliary variable u, a draw is one call of a kernel:

1. draw the jump of each cluster, a gamma variable, and its parameters given its data;
2. draw a slice for each item, uniform below the jump of its cluster;
3. draw the other jumps above the lowest slice, a Poisson process, and their parameters from the base measure;
4. draw the label of each item among the jumps above its slice, by the density of its data.

Read next ``moves/slice_labels.py``, these four parts and the limit on the number of jumps; ``steps/base.py``, the
course of a draw.
"""

from typing import Any

import numpy as np
from pymc.exceptions import SamplingError

from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.needs import COMPONENT_PANEL
from pymc_nrm.moves.slice_labels import check_gibbs_type, expected_large_jumps, slice_move
from pymc_nrm.steps.base import PartitionStep

# A prior with more jumps than this above 1, in units of 1 / (1 + u), makes nearly all items singletons.
_MOST_JUMPS = 1_000_000
# Jumps that a draw may expect, at least and for each item: more of them take far longer than the items.
_LEAST_LIMIT, _LIMIT_PER_ITEM = 10_000, 10
# Parameters of all components together are at most about this many numbers.
_MOST_NUMBERS = 25_000_000


class SliceSampler(PartitionStep):
    """Slice sampling: all labels at once, given the jumps of the random measure and the parameters of components.

    It leaves the posterior invariant and is irreducible.  It is the conditional sampler with which Favaro & Teh (2013)
    and Lee & Choi (2015) compare theirs, and meant for such comparisons: conditioning on jumps and parameters makes
    labels independent, but the chain slower.  :class:`TreeGuided` and :class:`MarginalGibbs` integrate both out.

    The measure must be a prior of Gibbs type, as all measures of this package are, and families must have draws of
    parameters and densities given parameters.

    Parameters
    ----------
    vars : list of Partition
    %(step_options)s

    Raises
    ------
    ValueError
        If the model uses the labels in a way that the step does not understand.
    NotImplementedError
        If a family lacks draws of parameters or densities given them, or the measure is not of Gibbs type.
    pymc.exceptions.SamplingError
        If over a million jumps are expected above 1, in units of ``1 / (1 + u)``.

    Notes
    -----
    Given u, a draw makes these steps; the explanation of conditional samplers proves that they are exact:

    1. jumps J of the clusters, gamma variables of shape ``n_c - sigma``, and their parameters given their data;
    2. for each item a slice, uniform between 0 and the jump of its cluster;
    3. all other jumps above the lowest slice, with parameters from the base measure;
    4. for each item one of the jumps above its slice, with probability proportional to the density of its data.

    The number of jumps is random and has no limit for sigma > 0: it grows as ``S^-sigma`` if the lowest slice S tends
    to 0.  Items with slices above which over 10,000 jumps, or ten times the number of items, are expected keep their
    labels for this draw; fewer if components have many parameters.  The choice depends on slices and u alone, so that
    nothing is lost but time.

    Statistics of a draw, in addition to the ones that all steps report: ``n_moved``, the number of items that changed
    their cluster; ``n_kept``, of items that kept their labels for the reason above; ``n_jumps``, of jumps drawn in the
    third step.

    References
    ----------
    Walker (2007), "Sampling the Dirichlet mixture model with slices"; Griffin & Walker (2011), "Posterior simulation of
    normalized random measure mixtures"; Favaro & Teh (2013), "MCMC for normalized random measure mixture models".

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.NormalizedInverseGaussian(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     step = nrm.steps.SliceSampler([z])
    >>> [variable.name for variable in step.vars]
    ['z']
    """

    name = "slice_sampler"
    needs = (*PartitionStep.needs, parameters_size, draw_parameters, *COMPONENT_PANEL)
    stats_dtypes_shapes = {
        **PartitionStep.common_stats,
        "n_moved": (np.int64, []),
        "n_kept": (np.int64, []),
        "n_jumps": (np.int64, []),
    }

    def __init__(self, vars: Any = None, **kwargs: Any) -> None:
        super().__init__(vars, options={}, **kwargs)

    def check_weights(self, measure, table, at_start):
        """Check that the measure is of Gibbs type, and that not too many jumps are expected."""
        if at_start:
            check_gibbs_type(measure, table, "SliceSampler needs; MarginalGibbs, SplitMerge and TreeGuided do not")
        expected = expected_large_jumps(table)
        if not expected <= _MOST_JUMPS:
            raise SamplingError(
                f"SliceSampler allows {_MOST_JUMPS:,} jumps of the random measure in a draw; partition "
                f"{self.partition.name!r} needs about {expected:.3g}, given {measure}. Take TreeGuided or "
                "MarginalGibbs, whose cost does not depend on jumps, or a prior under which these values are smaller"
            )

    def calls(self, rng, n, table, family, data):
        """One draw of all labels."""
        most = min(max(_LEAST_LIMIT, _LIMIT_PER_ITEM * n), _MOST_NUMBERS // max(parameters_size(family), 1))
        yield slice_move, float(most)
