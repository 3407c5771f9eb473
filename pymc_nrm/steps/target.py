"""What a step reads of a PyMC model: the measure of one partition, and the families and data of its mixtures."""

from functools import partial

from pymc_nrm.common.checks import check_values
from pymc_nrm.families.base import check_resolution
from pymc_nrm.measures.base import check_measure_hyperparameters
from pymc_nrm.models.item_counts import check_labels, check_shape
from pymc_nrm.models.parts import PartitionParts, joint_data, joint_family
from pymc_nrm.models.rvs import check_uses, kind_of, mixtures_of
from pymc_nrm.models.values import Values


class Target:
    """The part of a model's log-probability that depends on one partition, in the form that kernels read."""

    def __init__(self, model, partition, point, compile_kwargs=None):
        check_uses(model, partition)
        self._partition, self.mixtures = partition, mixtures_of(model, partition)
        self._kind = kind_of(partition)
        evaluate = partial(Values.at_points, model, compile_kwargs=compile_kwargs)
        self._parts = PartitionParts(partition, self.mixtures, evaluate)
        self._checked = False
        self.has_mixtures = bool(self.mixtures)
        self.data_are_fixed = not any(self._parts.data_vary)
        self.at(point)

    def refresh(self):
        """Read data and constants again, since ``pm.set_data`` may have changed them."""
        self._parts.refresh()
        self._checked = False

    def parts(self, point):
        """Measure, and name, family in full shape, data and item of each row of each mixture, before they are prepared
        for kernels.
        """
        return self._parts.at(point)

    def at(self, point):
        """Return measure, family and data at a point, as kernels read them. If several mixtures share the partition,
        family and data are products.
        """
        if not self._checked:
            self._check(point)
        measure, families, data = self._parts.prepared(point)
        return measure, *self._kind.kernel_parts(joint_family(families), joint_data(data))

    @staticmethod
    def _check_prior(measure):
        check_measure_hyperparameters(measure)

    def _check(self, point):
        measure, mixtures = self.parts(point)
        self._check_prior(measure)
        check_labels(len(point[self._partition.name]), self._partition)
        for rv, (name, family, X, rows) in zip(self.mixtures, mixtures, strict=True):
            d = rv.owner.op.n_features(family)
            check_shape(name, X.shape, d, self._partition, rows)
            check_values(family, X.shape[0], d, f" where the sampling of {name!r} starts")
        _, families, data = self._parts.prepared(point)
        for (name, *_), family, rows in zip(mixtures, families, data, strict=True):
            check_resolution(family, rows, f"data of {name!r}")
        self._checked = True
