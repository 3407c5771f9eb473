"""The step for the missing entries of a mixture.

A draw visits each item with gaps in random order.  It takes the item out of its cluster, draws its label given the
observed entries, with the missing ones integrated out, and then the missing entries given the label and the observed
ones.  Labels stay as they are where the step of the partition alone may move them.

Read next ``moves/gibbs.py``, the kernel ``missing_entries_sweep``; ``models/missing_entries.py``, the variable that
holds the entries; ``steps/step.py``, the course of a draw.
"""

from typing import Any

import numpy as np
from pymc.exceptions import SamplingError
from pytensor.graph.basic import Variable

from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.families.base import log_predictive
from pymc_nrm.families.fast import update_cache
from pymc_nrm.families.shared.scale import from_scale
from pymc_nrm.kernels.generic import kernels_in_python, precompile
from pymc_nrm.measures.base import Weights
from pymc_nrm.models.default_start import is_default_start
from pymc_nrm.models.itemwise.item_table import with_noise
from pymc_nrm.models.missing_entries import MissingEntriesRV, check_gaps, gaps_of
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.models.rvs import depends_on, family_of, kind_of, mixtures_of, partition_of
from pymc_nrm.models.values import computed_by
from pymc_nrm.moves.gibbs import ItemsWithGaps, draw_weights, missing_entries_sweep
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.step import Draw, Step
from pymc_nrm.steps.target import GivenPartition


class MissingGibbs(Step):
    """Gibbs sampling of the missing entries of a mixture: the default step for them.

    A draw visits every item with gaps, in random order.  It draws the label of the item given its observed entries,
    with the missing ones integrated out, and then these given the observed ones and the cluster: both from their exact
    conditionals given all other items, a Student t distribution for ``NormalWishart``.  An item without any values thus
    comes from the prior of its cluster.  Labels are left to the step of the partition where they are known or shared,
    index parameters, or belong to a nested partition; labels of items with many gaps then mix more slowly.

    :func:`pymc_nrm.sample` makes this step before all others, so that the statistics of a partition, such as
    ``n_clusters``, are those of the labels in the result.  Put it first in ``step=`` as well.  ``pm.sample`` makes it
    after the step of the partition, whose statistics are then those of the labels before it moves them.

    Parameters
    ----------
    vars : list of variables
        The variable ``{name}_missing`` of a :class:`~pymc_nrm.Mixture`; by default all of them.
    %(step_options)s

    Raises
    ------
    TypeError
        If ``vars`` are not missing entries of mixtures.
    ValueError
        If anything else in the model depends on the data with gaps, for example as covariates.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.array([[0.0, 1.0], [0.5, np.nan], [8.0, 9.0], [9.0, 8.0]])
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.NormalWishart(mu=[4, 4], kappa=0.1, Psi=np.eye(2), nu=8), observed=X)
    ...     step = nrm.steps.MissingGibbs(model["x_missing"])
    >>> [variable.name for variable in step.vars]
    ['x_missing']
    """

    name = "missing_gibbs"
    stats_dtypes_shapes = {"n_moved_with_gaps": (np.int64, [])}

    def __init__(self, vars: Any = None, **kwargs: Any) -> None:
        super().__init__(vars, options={}, **kwargs)

    @classmethod
    def value_variables(cls, vars, model):
        missing = [rv for rv in model.free_RVs if isinstance(rv.owner.op, MissingEntriesRV)]
        asked = missing if vars is None else list(vars) if isinstance(vars, list | tuple) else [vars]
        chosen = [
            model.values_to_rvs.get(variable, variable) if isinstance(variable, Variable) else variable
            for variable in asked
        ]
        if not chosen or not all(any(variable is rv for rv in missing) for variable in chosen):
            names = [rv.name for rv in missing]
            raise TypeError(f"vars must be variables of missing entries; the model has {names}, got {vars!r}")
        return [model.rvs_to_values[rv] for rv in chosen]

    def read_model(self, model):
        entries = model.values_to_rvs[self.vars[0]]
        mixture = entries.owner.inputs[0]
        _check_uses(model, mixture, entries)
        self._partition = partition = partition_of(mixture)
        self._names = partition.name, mixture.name, entries.name
        self._draws_labels = type(kind_of(partition)) is Ordered and partition in model.free_RVs
        self._mixtures = mixtures_of(model, partition) if self._draws_labels else [mixture]
        self._place, self._value = self._mixtures.index(mixture), model.rvs_to_values[mixture]
        # Items with gaps, and where the columns of each item start among the columns of all entries.
        self._rows, self._columns = gaps_of(self._value).rows_and_columns
        self._items, starts = np.unique(self._rows, return_index=True)
        self._starts = np.append(starts, len(self._rows))
        return [type(family_of(mixture)) for mixture in self._mixtures]

    def compile(self, model, point, compile_kwargs):
        self._given = GivenPartition(model, self._partition, self._mixtures, compile_kwargs)
        arguments, *_ = self.read_point(point)
        precompile(missing_entries_sweep, *arguments)

    def read_point(self, point):
        """Arguments of the kernel at a point, the centre of the data of the mixture, and its family."""
        labels, measure, families, data = self._given.at(point)
        family, rows, mixture_data, n = joint_family(families), joint_data(data), data[self._place], len(labels)
        table = Weights(np.zeros(n + 1), np.zeros(n + 1))
        # A default start is left to the step of the partition, which replaces it.
        draws_labels = self._draws_labels and not is_default_start(point[self._names[0]])
        if draws_labels:
            table, _, _ = draw_weights(self.rng, measure, n, int(labels.max()) + 1)
        order = self.rng.permutation(len(self._items))
        gaps = ItemsWithGaps(self._items, self._starts, self._columns, order, mixture_data.values, draws_labels)
        center = getattr(mixture_data, "center", np.zeros(mixture_data.values.shape[1]))
        return (self.rng, build_state(labels, family, rows), table, family, rows, gaps), center, families[self._place]

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        check_gaps(self._names[1], self._value)
        self._given.refresh()

    def draw(self, point, inputs):
        arguments, center, family = inputs
        state, n_moved = missing_entries_sweep(*arguments)
        gaps = arguments[-1]
        drawn = gaps.values[self._rows, self._columns] + center[self._columns]
        drawn = from_scale(family, self._columns, drawn)
        point = {**point, self._names[2]: drawn}
        if gaps.draws_labels:
            point = self._given.kind.write(point, state)
        return Draw(point, drawn, {"n_moved_with_gaps": n_moved})

    def moves_to_compare(self, rng, point):
        """A move of one entry, weighed by the predictive density of its item."""
        k, name = int(rng.integers(len(self._rows))), self._names[2]
        entries, log_densities = np.array(point[name]), []
        entries[k] = with_noise(entries[k], rng)
        points = point, {**point, name: entries}
        for place in points:
            (_, state, _, family, rows, _), _, _ = self.read_point(place)
            item = int(self._rows[k])
            with kernels_in_python():
                slot = state.labels[item]
                statistics, cache = state.statistics[slot], state.cache[slot]
                update_cache(family, statistics, cache, rows, item, -1.0)
                log_densities.append(log_predictive(family, cache, rows, item))
        yield OwnMove(f"entry {k} of {name!r} moves", *points, log_densities[1] - log_densities[0])

    def not_finite_error(self, point, value):
        return SamplingError(
            f"{self._names[2]} cannot be drawn: at these hyperparameters the distribution of an entry is not finite"
        )

    @classmethod
    def competence(cls, var, has_grad):
        return Competence.IDEAL if computed_by(var, MissingEntriesRV) else Competence.INCOMPATIBLE


def _check_uses(model, mixture, entries):
    """Refuse data with gaps on which more than their own likelihood depends."""
    for variable in (*model.basic_RVs, *model.potentials):
        parents = [variable] if variable in model.potentials else variable.owner.inputs
        if variable is not entries and any(depends_on(parents, source, model) for source in (mixture, entries)):
            raise ValueError(
                f"vars must be missing entries that nothing else depends on; {variable.name!r} depends on "
                f"{mixture.name!r}. Leave out items with gaps, or take NormalGamma for {mixture.name!r}"
            )
