"""The random partition as a PyMC random variable."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.distributions.conditions import with_conditions
from pymc_nrm.distributions.item_counts import checked_count, count_value
from pymc_nrm.distributions.numba_dispatch import register_numba
from pymc_nrm.distributions.printing import printed_names
from pymc_nrm.distributions.start import DefaultStart
from pymc_nrm.generic import lacking
from pymc_nrm.measures.base import check_measure_hyperparameters, draw_partition, symbolic_log_eppf
from pymc_nrm.partitions.value import FlatLabels
from pymc_nrm.pymc_internals import logprob, support_point


class PartitionRV(RandomVariable):
    """Labels of a random partition; its inputs are the number of items and the hyperparameters of the measure."""

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "measure_class")

    def __init__(self, measure_class, **kwargs):
        self.measure_class = measure_class
        kwargs["name"], self._print_name = printed_names("partition", measure_class)
        kwargs["signature"] = ",".join(["()"] * (1 + len(measure_class._fields))) + "->(n)"
        super().__init__(**kwargs)

    def n_items(self, node):
        """Return the symbolic number of items of a variable, given its node."""
        return self.dist_params(node)[0]

    def measure(self, node):
        """Return the measure of a variable, given its node; the fields are tensors."""
        return self.measure_class(*self.dist_params(node)[1:])

    def value(self, name):
        """Return the type of the values of a variable with this name."""
        return FlatLabels(name)

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return [dist_params[0]]

    def rng_fn(self, rng, n, *hyperparameters_and_size):
        *hyperparameters, size = hyperparameters_and_size
        if size:
            raise NotImplementedError("batches of partitions are drawn by the numba backend only")
        return draw_partition(self.measure_class(*[float(value) for value in hyperparameters]), int(n), rng)


class Partition(pm.Discrete):
    """Random partition of n items, with the Dirichlet process or another measure as its prior.

    The value is a vector of labels, shape (n,), numbered from 0 in order of appearance.  Labels are only names: what
    matters is which items share one.  The model also gets the deterministic ``<name>_n_clusters``.

    Parameters
    ----------
    name : str
    measure : Measure
        One of ``pymc_nrm.measures``, such as ``DirichletProcess(alpha)``.  Its hyperparameters are numbers, tensors or
        random variables.
    n : int or integer tensor, optional
        Number of items; needed unless ``dims`` is given.  It follows ``pm.set_data`` if it is ``X.shape[0]`` for a
        ``pm.Data`` X, or if ``dims`` is a dimension of one.
    dims : str, optional
        Name of the dimension of the items.
    initval : array_like of int, shape (n,), optional
        Start of the sampler; any integer labels, which are renamed in order of appearance.  One cluster by default,
        except that :class:`TreeGuided` then starts from a clustering of the data.
    observed : array_like of int, shape (n,), optional
        A known partition; any integer labels, which are renamed in order of appearance.

    Raises
    ------
    TypeError
        If ``measure`` is not a measure.
    ValueError
        If neither ``n`` nor ``dims`` is given, they disagree, n is not a whole number from 1 to 1e9, a hyperparameter
        is outside its range, or there is not one label for each item.

    Notes
    -----
    The log-probability of labels in order of appearance is the log exchangeable partition probability function of the
    measure, with its auxiliary variable integrated out.  It is minus infinity for any other labels, so
    that the probabilities of all values sum to one.

    ``pm.sample`` and :func:`pymc_nrm.sample` sample the partition.  ``pm.find_MAP`` leaves it at its start without a
    warning, and ``pm.sample_smc`` is wrong for more than about ten items.  ``pm.fit`` and samplers other than those of
    PyMC refuse it.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model(coords={"obs": range(5)}):
    ...     z = nrm.Partition("z", nrm.DirichletProcess(pm.Gamma("alpha", 2, 1)), dims="obs")
    """

    rv_type = PartitionRV

    def __new__(
        cls,
        name: str,
        measure: tuple[Any, ...],
        n: Any = None,
        *,
        dims: Any = None,
        initval: Any = None,
        observed: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        for option in ("shape", "size", "total_size", "transform"):
            if kwargs.get(option) is not None:
                raise ValueError(f"Partition does not take {option}; got {kwargs[option]!r}. Use n or dims")
        dims = (dims,) if isinstance(dims, str) else dims
        if n is None and dims is None and observed is not None:
            n = np.size(observed)
        n = _number_of_items(name, n, dims, pm.modelcontext(None))
        initval, observed = _renamed(initval, n, "initval"), _renamed(observed, n, "observed")
        labels = super().__new__(cls, name, measure, n, dims=dims, initval=initval, observed=observed, **kwargs)
        pm.Deterministic(f"{name}_n_clusters", FlatLabels.n_clusters(labels))
        return labels

    @classmethod
    def dist(
        cls, measure: tuple[Any, ...], n: Any, *, shape: Any = None, rng: Any = None, return_next_rng: bool = False
    ) -> Any:
        """Create labels outside a model, for example for ``pm.draw``; arguments as in :class:`Partition`."""
        if lacking(type(measure), [symbolic_log_eppf]):
            raise TypeError(f"measure must be a measure such as DirichletProcess(alpha); got {measure!r}")
        measure = check_measure_hyperparameters(measure)
        n = pt.as_tensor(checked_count("n of a Partition", n), dtype="int64")
        if shape is not None and np.ndim(shape) == 1 and len(shape) != 1:
            raise ValueError(f"shape of a Partition must have one entry, its number of items; got {shape}")
        register_numba(PartitionRV, _numba_draw)
        # Make a number a float64 constant, which PyMC prints as a number, unlike the cast of a smaller type.
        values = [value if isinstance(value, Variable) else np.float64(value) for value in measure]
        hyperparameters = [pt.as_tensor(value).astype("float64") for value in values]
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        next_rng, labels = PartitionRV(type(measure))(n, *hyperparameters, rng=rng, return_next_rng=True)
        return (next_rng, labels) if return_next_rng else labels


def _number_of_items(name, n, dims, model):
    if dims is not None and (not isinstance(dims, tuple | list) or len(dims) != 1):
        raise ValueError(f"dims of a Partition must be one name; got {dims}")
    known = dims is not None and dims[0] in model.dim_lengths
    if n is None and not known:
        raise ValueError(
            f"Partition {name!r} needs its number of items: n was None and dims={dims!r} is none of the model's "
            f"dimensions {sorted(model.dim_lengths)}"
        )
    if n is not None:
        n = checked_count(f"n of Partition {name!r}", n)
    if known:
        length = count_value(model.dim_lengths[dims[0]])
        if n is not None and count_value(n) != length:
            raise ValueError(f"n={count_value(n)} of Partition {name!r} is not the length {length} of dims {dims[0]!r}")
        return model.dim_lengths[dims[0]]
    return n


def _renamed(labels, n, argument):
    if labels is None or isinstance(labels, str):
        return labels
    return FlatLabels.renamed(labels, count_value(n), f"{argument} of a Partition")


@logprob.register(PartitionRV)
def _partition_logp(op, values, rng, size, n, *hyperparameters, **kwargs):
    [labels] = values
    measure = op.measure_class(*hyperparameters)
    sizes, valid = FlatLabels.symbolic_sizes(labels, n)
    log_probability = symbolic_log_eppf(measure, pt.maximum(sizes, 1))
    return with_conditions(pt.switch(valid, log_probability, -np.inf), measure)


@support_point.register(PartitionRV)
def _partition_support_point(op, rv, *inputs):
    return DefaultStart()(pt.zeros_like(rv))


def _numba_draw(op):
    hyperparameters = ", ".join(op.measure_class._fields)
    source = f"def draw(rng, n, {hyperparameters}):\n    return draw_partition(measure({hyperparameters}), n, rng)\n"
    return source, {"measure": op.measure_class, "draw_partition": draw_partition}, op.measure_class
