"""What a step reads of a PyMC model: the measure of one partition, and the families and data of its mixtures."""

from functools import partial

import numpy as np

from pymc_nrm.distributions.item_counts import check_labels, check_shape
from pymc_nrm.families.base import check_resolution
from pymc_nrm.hyperparameters import check_values
from pymc_nrm.measures.base import check_measure_hyperparameters
from pymc_nrm.model.dependents import check_uses, mixtures_of
from pymc_nrm.model.parts import PartitionParts, joint_data, joint_family
from pymc_nrm.model.rvs import n_slots
from pymc_nrm.model.values import Values


class Target:
    """The part of a model's log-probability that depends on one partition, in the form that kernels read.

    Parameters
    ----------
    model : pymc.Model
    partition : TensorVariable
        A partition of the model.
    point : dict
        Any point of the model; it fixes the types of the arguments of kernels.
    compile_kwargs : dict, optional
        Options for the compilation of hyperparameters and data that depend on other variables.

    Raises
    ------
    ValueError
        If anything except the data of a :class:`Mixture` depends on labels that are no slots.

    Attributes
    ----------
    mixtures : list of TensorVariable
        Mixtures that depend on the labels.
    has_mixtures : bool
        Whether there are any.
    data_are_fixed : bool
        Whether the data of every mixture stay the same during a chain.
    """

    def __init__(self, model, partition, point, compile_kwargs=None):
        if n_slots(partition) is None:
            check_uses(model, partition)
        self._partition, self.mixtures = partition, mixtures_of(model, partition)
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
        """Return measure, families and data at a point, before they are prepared for kernels.

        Parameters
        ----------
        point : dict
            Values of the value variables.

        Returns
        -------
        measure : Measure
            With float fields.
        mixtures : list of (str, Family, array)
            Name, family with hyperparameters in their full shape, and data of each mixture.
        """
        return self._parts.at(point)

    def at(self, point):
        """Return measure, family and data at a point, as kernels read them.

        Parameters
        ----------
        point : dict
            Values of the value variables.

        Returns
        -------
        measure : Measure
            With float fields.
        family, data : NamedTuple
            Products, if several mixtures share the partition.

        Raises
        ------
        ValueError
            If numbers of items differ or hyperparameters are outside their supports.  Only the first point after
            construction or :meth:`refresh` is checked: later ones come from draws, whose log-probability is finite.
        """
        if not self._checked:
            self._check(point)
        measure, families, data = self._parts.prepared(point)
        return measure, joint_family(families), joint_data(data)

    @staticmethod
    def _check_prior(measure):
        check_measure_hyperparameters(measure)

    def _check(self, point):
        measure, mixtures = self.parts(point)
        self._check_prior(measure)
        check_labels(len(point[self._partition.name]), self._partition)
        for rv, (name, family, X) in zip(self.mixtures, mixtures, strict=True):
            field, axis = rv.owner.op.feature_axis
            d = np.shape(family[field])[axis]
            check_shape(name, X.shape, d, self._partition)
            check_values(family, X.shape[0], d, f" where the sampling of {name!r} starts")
        _, families, data = self._parts.prepared(point)
        for (name, _, _), family, rows in zip(mixtures, families, data, strict=True):
            check_resolution(family, rows, f"data of {name!r}")
        self._checked = True
