"""The random partition as a PyMC random variable."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.pymc_internals import logprob, support_point
from pymc_nrm.distributions.conditions import with_conditions
from pymc_nrm.distributions.item_counts import checked_count, count_value
from pymc_nrm.distributions.numba_dispatch import register_numba
from pymc_nrm.distributions.own_step import of_own_step
from pymc_nrm.distributions.printing import printed_names
from pymc_nrm.distributions.start import DefaultStart
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.base import check_measure_hyperparameters, draw_partition, symbolic_log_eppf
from pymc_nrm.partitions.slot_labels import draw_slot_labels, failed_draw, labels_of

# Steps keep some numbers for each slot.
_MOST_SLOTS = 10**6


class PartitionRV(RandomVariable):
    """Labels of a random partition; its inputs are the number of items and the hyperparameters of the measure."""

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "measure_class", "max_clusters")

    def __init__(self, measure_class, max_clusters=None, **kwargs):
        self.measure_class, self.max_clusters = measure_class, max_clusters
        kwargs["name"], self._print_name = printed_names("partition", measure_class)
        kwargs["signature"] = ",".join(["()"] * (1 + len(measure_class._fields))) + "->(n)"
        super().__init__(**kwargs)

    def n_items(self, node):
        """Return the symbolic number of items of a variable, given its node."""
        return self.dist_params(node)[0]

    def measure(self, node):
        """Return the measure of a variable, given its node; the fields are tensors."""
        return self.measure_class(*self.dist_params(node)[1:])

    def prior_inputs(self, node):
        """Return the tensors that the law of a variable depends on besides its number of items."""
        return self.dist_params(node)[1:]

    def numeric_prior(self, values):
        """Return the law as kernels read it, here the measure, from values of :meth:`prior_inputs`."""
        return self.measure_class(*[float(value) for value in values])

    def value(self, name):
        """Return the type of the values of a variable with this name."""
        return labels_of(name, self.max_clusters)

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return [dist_params[0]]

    def rng_fn(self, rng, n, *hyperparameters_and_size):
        *hyperparameters, size = hyperparameters_and_size
        if size:
            raise NotImplementedError("batches of partitions are drawn by the numba backend only")
        measure = self.measure_class(*[float(value) for value in hyperparameters])
        if self.max_clusters is None:
            return draw_partition(measure, int(n), rng)
        labels = draw_slot_labels(measure, int(n), self.max_clusters, rng)
        if labels[0] < 0:
            raise ValueError(failed_draw(self.max_clusters))
        return labels


class Partition(pm.Discrete):
    """Random partition of n items, with the Dirichlet process or another measure as its prior.

    The value is a vector of labels, shape (n,).  Labels are only names: what matters is which items share one.  They
    are numbered from 0 in order of appearance; with ``max_clusters`` they are slots instead, which index the parameters
    of a likelihood of your own, as in ``slope[z]``.  The model also gets the deterministic ``<name>_n_clusters``.

    Parameters
    ----------
    name : str
    measure : Measure or ElicitedPrior
        One of ``pymc_nrm.measures``, such as ``DirichletProcess(alpha)``.  Its hyperparameters are numbers, tensors or
        random variables.
    n : int or integer tensor, optional
        Number of items; needed unless ``dims`` is given.  It follows ``pm.set_data`` if it is ``X.shape[0]`` for a
        ``pm.Data`` X, or if ``dims`` is a dimension of one.
    dims : str, optional
        Name of the dimension of the items.
    max_clusters : int or str, optional
        Number of slots K, or the name of the dimension of the model that has this length: labels are then from 0 to
        K - 1, and variables of length K hold the parameters of clusters.  Choose more than you expect, for example with
        :func:`suggest_max_clusters`; the cost of sampling hardly depends on K.
    initval : array_like of int, shape (n,), optional
        Start of the sampler; any integer labels, which are renamed in order of appearance, or slots, which stay as they
        are.  One cluster by default, except that :class:`TreeGuided` then starts from a clustering of the data.
    observed : array_like of int, shape (n,), optional
        A known partition; labels as for ``initval``.

    Raises
    ------
    TypeError
        If ``measure`` is not a measure.
    ValueError
        If neither ``n`` nor ``dims`` is given, they disagree, n is not a whole number from 1 to 1e9, a hyperparameter
        is outside its range, there is not one label for each item, or ``max_clusters`` is neither a positive whole
        number nor a dimension of the model.

    Notes
    -----
    The log-probability of labels in order of appearance is the log exchangeable partition probability function of the
    measure, with its auxiliary variable integrated out.  It is minus infinity for any other labels, so
    that the probabilities of all values sum to one.

    With ``max_clusters`` the clusters of a partition own different slots, and all ``K! / (K - k)!`` ways to give k
    clusters their slots have the same share of the probability of the partition.  If the parameters of the slots are
    independent and identically distributed given hyperparameters, this is the mixture with infinitely many components,
    conditioned on at most K clusters: the same posterior if K is at least the number of items, and one that differs
    from it by the posterior probability of more than K clusters otherwise.  ``nrm.sample`` warns if draws use all
    slots.  Priors that differ between slots are allowed; labels then carry meaning.  Forward draws are repeated until
    there are at most K clusters, so that with random hyperparameters their law is not quite that of the model if K is
    small.

    ``pm.sample`` and :func:`pymc_nrm.sample` sample the partition.  ``pm.find_MAP`` leaves it at its start without a
    warning.  Generic steps such as ``pm.Metropolis``, ``pm.sample_smc``, ``pm.fit`` and samplers other than those of
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
        max_clusters: Any = None,
        initval: Any = None,
        observed: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        check_options("Partition", kwargs)
        dims = (dims,) if isinstance(dims, str) else dims
        if n is None and dims is None and observed is not None:
            n = np.size(observed)
        model = pm.modelcontext(None)
        measure = measure_in_model(measure)
        n = number_of_items("Partition", name, n, dims, model)
        max_clusters = _number_of_slots(name, max_clusters, model)
        value = labels_of(name, max_clusters)
        initval = renamed(initval, n, f"initval of Partition {name!r}", value)
        observed = renamed(observed, n, f"observed of Partition {name!r}", value)
        labels = super().__new__(
            cls, name, measure, n, max_clusters=max_clusters, dims=dims, initval=initval, observed=observed, **kwargs
        )
        pm.Deterministic(f"{name}_n_clusters", value.n_clusters(labels))
        return labels

    @classmethod
    def dist(
        cls,
        measure: tuple[Any, ...],
        n: Any,
        *,
        max_clusters: int | None = None,
        shape: Any = None,
        rng: Any = None,
        return_next_rng: bool = False,
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
        if max_clusters is not None:
            check_count("max_clusters of a Partition", max_clusters, 1, _MOST_SLOTS)
            max_clusters = int(max_clusters)
        next_rng, labels = PartitionRV(type(measure), max_clusters)(n, *hyperparameters, rng=rng, return_next_rng=True)
        return (next_rng, labels) if return_next_rng else labels


def measure_in_model(measure):
    """The measure of an argument: itself, or that of an elicited prior, whose hyperprior becomes a variable."""
    if isinstance(measure, type) and hasattr(measure, "hyperparameters"):
        arguments = ", ".join(f"{name}=..." for name in measure._fields)
        raise TypeError(f"measure must have its hyperparameters, as in {measure.__name__}({arguments}); got the class")
    return measure.in_model() if hasattr(measure, "in_model") else measure


def check_options(kind, kwargs):
    """Check that options of PyMC that have no meaning for a kind of partition are not given."""
    for option in ("shape", "size", "total_size", "transform"):
        if kwargs.get(option) is not None:
            raise ValueError(f"{kind} does not take {option}; got {kwargs[option]!r}. Use n or dims")


def number_of_items(kind, name, n, dims, model):
    """Number of items of a variable of some kind, from ``n`` or from the one name in ``dims``."""
    if dims is not None and (not isinstance(dims, tuple | list) or len(dims) != 1):
        raise ValueError(f"dims of a {kind} must be one name; got {dims}")
    known = dims is not None and dims[0] in model.dim_lengths
    if n is None and not known:
        raise ValueError(
            f"{kind} {name!r} needs its number of items: n was None and dims={dims!r} is none of the model's "
            f"dimensions {sorted(model.dim_lengths)}"
        )
    if n is not None:
        n = checked_count(f"n of {kind} {name!r}", n)
    if known:
        length = count_value(model.dim_lengths[dims[0]])
        if n is not None and count_value(n) != length:
            raise ValueError(f"n={count_value(n)} of {kind} {name!r} is not the length {length} of dims {dims[0]!r}")
        return model.dim_lengths[dims[0]]
    return n


def _number_of_slots(name, max_clusters, model):
    title = f"max_clusters of Partition {name!r}"
    if isinstance(max_clusters, str):
        if max_clusters not in model.dim_lengths:
            raise ValueError(
                f"{title} must be a whole number or a dimension of the model, {sorted(model.dim_lengths)}; got "
                f"{max_clusters!r}"
            )
        return count_value(model.dim_lengths[max_clusters])
    if max_clusters is not None:
        check_count(title, max_clusters, 1, _MOST_SLOTS)
    return max_clusters


def renamed(labels, n, argument, value):
    """Labels from a user in canonical form; None and names of starts stay as they are."""
    if labels is None or isinstance(labels, str):
        return labels
    return value.renamed(labels, count_value(n), argument)


@logprob.register(PartitionRV)
def _partition_logp(op, values, rng, size, n, *hyperparameters, **kwargs):
    [labels] = values
    measure = op.measure_class(*hyperparameters)
    value = op.value("labels")
    sizes, valid = value.symbolic_sizes(of_own_step(labels), n)
    log_probability = symbolic_log_eppf(measure, pt.maximum(sizes, 1)) + value.log_share_of_names(sizes.shape[0])
    return with_conditions(pt.switch(valid, log_probability, -np.inf), measure)


@support_point.register(PartitionRV)
def _partition_support_point(op, rv, *inputs):
    return DefaultStart()(pt.zeros_like(rv))


def _numba_draw(op):
    hyperparameters = ", ".join(op.measure_class._fields)
    environment = {"measure": op.measure_class, "draw_partition": draw_partition}
    if op.max_clusters is None:
        source = (
            f"def draw(rng, n, {hyperparameters}):\n    return draw_partition(measure({hyperparameters}), n, rng)\n"
        )
        return source, environment, op.measure_class
    environment["draw_slot_labels"] = draw_slot_labels
    source = (
        f"def draw(rng, n, {hyperparameters}):\n"
        f"    labels = draw_slot_labels(measure({hyperparameters}), n, {op.max_clusters}, rng)\n"
        "    if labels[0] < 0:\n"
        f"        raise ValueError({failed_draw(op.max_clusters)!r})\n"
        "    return labels\n"
    )
    return source, environment, op.measure_class
