"""What the step for nested partitions reads of a PyMC model."""

import numpy as np

from pymc_nrm.partitions.nested_laws.known_paths import KnownPaths
from pymc_nrm.steps.target import Target


class NestedTarget(Target):
    """The part of a model's log-probability that depends on one nested partition."""

    def __init__(self, model, partition, point, compile_kwargs=None):
        super().__init__(model, partition, point, compile_kwargs)
        trees = [rv.name for rv in self.mixtures if rv.owner.op.kind.takes_trees]
        if len(trees) > 1:
            raise ValueError(
                f"NestedPartition {partition.name!r} must have at most one Mixture with a tree family; got {trees}. "
                "Join the features of the data in one matrix"
            )
        self.has_tree_family = bool(trees)

    @staticmethod
    def _check_prior(prior):
        levels, gammas = prior
        values, words = ([], "") if gammas is None else ([gammas], f"gamma {gammas}")
        if not isinstance(levels, KnownPaths):
            values += [levels.alpha + levels.sigma, 1.0 - levels.sigma]
            words = f"alpha {levels.alpha}, discount {levels.sigma}, gamma {gammas}"
        if not all(np.isfinite(value).all() and (value > 0.0).all() for value in values):
            raise ValueError(
                "concentrations of a NestedPartition must be finite and above 0, with discounts above minus the "
                f"discount, where sampling starts; got {words}"
            )
