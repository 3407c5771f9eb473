"""The random partition as a PyMC random variable."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.link.utils import compile_function_src
from pytensor.scalar.basic import TrueDiv
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Sum
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.special import Softmax
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.common.checks import check_flag
from pymc_nrm.common.named_dims import in_order, lowered, variable_behind, without_dims
from pymc_nrm.common.pymc_internals import logprob, support_point
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.base import check_measure_hyperparameters, symbolic_log_eppf
from pymc_nrm.models.default_start import DefaultStart
from pymc_nrm.models.item_counts import checked_count, count_value
from pymc_nrm.models.known_labels import tell_all_known
from pymc_nrm.models.own_step import OfOwnStep
from pymc_nrm.models.random_variables import printed_names, register_numba, with_conditions
from pymc_nrm.models.values import computed_by, kernel_values, with_present_shape
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.partitions.flat import InOrder, Ordered
from pymc_nrm.partitions.known_labels import KnownLabels
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.partitions.slots import Slots
from pymc_nrm.partitions.together import Together
from pymc_nrm.partitions.user_labels import numbered_if_text
from pymc_nrm.partitions.weighted_components import LogWeights, WeightedComponents

# Kinds of flat partitions by the options of a Partition.
_KINDS = {"max_clusters": Slots, "together": Together, "known": KnownLabels, "chunks": Chunked}


class PartitionRV(RandomVariable):
    """Labels of a random partition of some kind; inputs are the number of items and the parameters of its prior."""

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "measure_class", "kind")
    # Name of the only step that samples the variable, where data of a wing depend on its labels; no property, since
    # draws do not depend on it.
    own_step = None

    def __init__(self, measure_class, kind, **kwargs):
        self.measure_class, self.kind = measure_class, kind
        self._prior_classes = (measure_class, *kind.further_priors)
        self._cores = [kind.field_core] * len(measure_class._fields)
        self._cores += [core for cores in kind.further_priors.values() for core in cores]
        kwargs["name"], self._print_name = printed_names(kind.title, measure_class)
        kwargs["signature"] = f"{','.join(['()', *self._cores])}->{kind.value_core}"
        super().__init__(**kwargs)

    def n_items(self, node):
        """Return the symbolic number of items of a variable, from its node."""
        return self.dist_params(node)[0]

    def prior_inputs(self, node):
        """Return the tensors that the prior of a variable depends on, except its number of items."""
        return self.dist_params(node)[1:]

    def priors(self, parameters):
        """Return the measure and all further priors, from :meth:`prior_inputs` or their values."""
        remaining = iter(parameters)
        return [prior_class(*[next(remaining) for _ in prior_class._fields]) for prior_class in self._prior_classes]

    def kernel_prior(self, values):
        """Return the prior in the form that kernels of steps read, from values of :meth:`prior_inputs`."""
        return self.kind.kernel_prior(self.priors(kernel_values(values)))

    def draw_source(self):
        """Return the source of a function that draws a value, and the names that it uses, for numba."""
        if self.kind.no_draws is not None:
            raise NotImplementedError(self.kind.no_draws)
        environment = {self.kind.draw.__name__: self.kind.draw}
        environment |= {f"prior_{k}": prior_class for k, prior_class in enumerate(self._prior_classes)}
        # Priors may share names of fields.
        fields = [f"{name}_{k}" for k, prior in enumerate(self._prior_classes) for name in prior._fields]
        arguments = [f"float({name})" if core == "()" else name for name, core in zip(fields, self._cores, strict=True)]
        priors = [f"prior_{k}({', '.join(prior)})" for k, prior in enumerate(self.priors(arguments))]
        call = ", ".join(["rng", "n", *priors, *map(repr, self.kind.draw_options)])
        source = f"def draw(rng, n, {', '.join(fields)}):\n    labels = {self.kind.draw.__name__}({call})\n"
        if self.kind.failed_draw is not None:
            source += f"    if labels[0] < 0:\n        raise ValueError({self.kind.failed_draw!r})\n"
        return f"{source}    return labels\n", environment, self.measure_class

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return [pt.as_tensor(length) for length in self.kind.shape(dist_params[0])]

    def rng_fn(self, rng, n, *parameters_and_size):
        *parameters, size = parameters_and_size
        if size:
            raise NotImplementedError("batches of partitions can only be drawn with the numba backend")
        source, environment, _ = self.draw_source()
        return compile_function_src(source, "draw", environment)(rng, int(n), *kernel_values(parameters))

    @classmethod
    def make(cls, measure_class, n, kind, fields, rng, return_next_rng):
        """Make a variable, from checked fields of the measure and of further priors."""
        register_numba(cls, cls.draw_source)
        n = kind.n_items if n is None else n
        check_number(f"a {kind.title}", kind, n)
        n = pt.as_tensor(checked_count(f"n of a {kind.title}", n), dtype="int64")
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        next_rng, labels = cls(measure_class, kind)(n, *fields, *kind.further_fields(n), rng=rng, return_next_rng=True)
        return (next_rng, labels) if return_next_rng else labels


class Partition(pm.Discrete):
    """Random partition of n items, with the Dirichlet process or another measure as its prior.

    The value is a vector of labels, shape (n,).  Only the partition matters, that is, which items share a label.
    Labels are numbered from 0 in order of appearance.  With ``max_clusters`` they are slots instead, which index the
    parameters of your own likelihood, as in ``slope[z]``.  The model also gets the deterministic
    ``<name>_n_clusters``.

    Parameters
    ----------
    name : str
    measure : Measure or ElicitedPrior, optional
        A measure of ``pymc_nrm.measures``, such as ``DirichletProcess(alpha)``.  Its hyperparameters are numbers,
        tensors or random variables.  Required unless ``log_weights`` is given.
    n : int or integer tensor, optional
        Number of items; required unless ``dims`` is given.  It follows ``pm.set_data`` if it is ``X.shape[0]`` for a
        ``pm.Data`` X, or if ``dims`` is a dimension of X.
    dims : str, optional
        Name of the dimension of the items.
    log_weights : tensor or array_like, shape (n, K) or (K,), optional
        Log weights of K components for each item, or for all items, in place of a measure.  They may depend on any
        variables of the model but labels, need not be normalised, and minus infinity makes a component impossible.
        Labels are then from 0 to K - 1; ``max_clusters`` may name K where the shape does not say it.  Variables of
        ``pymc.dims`` may have the two dims in any order, if ``dims`` or ``max_clusters`` names one of them.
    max_clusters : int or str, optional
        Number of slots K, or the name of the dimension of the model with this length: labels are then from 0 to K - 1,
        and variables of length K hold the parameters of clusters.  Choose more than you expect, for example with
        :func:`suggest_max_clusters`; the cost of sampling hardly depends on K.
    together : array_like of int or str, shape (n,), optional
        Groups of items that always share a cluster, such as twins or repeated measurements of a person, and unique
        labels for other items.  The measure is then the prior of the partition of the groups, each of which counts
        once.
    known : array_like of int or str, shape (n,), optional
        Labels of the items whose cluster is known; -1, NaN or None for all others, or "-1" and empty text.  Items with
        equal known labels share a cluster, items with different known labels never do.  Clusters without a known item
        may appear.  If all labels are known, the partition is observed, as with ``observed``, and a line in the log
        says so.
    only_known : bool
        Whether all items are in the clusters of known labels: the posterior given that there are no other clusters.
    chunks : Chunks, optional
        Rows of data that are too many for ordinary steps.  The value is then the sizes of the clusters, and results
        hold the labels of the followed rows.  A model may have one such partition, without ``dims``.
    initval : array_like of int, shape (n,), optional
        Initial labels; any integers, which are renamed in order of appearance, or slots, which are kept.  By default
        one cluster, except that :class:`TreeGuided` then starts from a clustering of the data.
    observed : array_like of int or str, shape (n,), optional
        A known partition, such as the species of all items; labels as for ``initval``, or text.  Labels that index
        parameters are whole numbers.

    Raises
    ------
    TypeError
        If ``measure`` is not a measure, and ``log_weights`` is not given.
    ValueError
        If neither ``n`` nor ``dims`` is given, they disagree, n is not a whole number from 1 to 1e9, a hyperparameter
        is out of range, there is not one label for each item, labels put items of a group in several clusters or
        disagree with known labels, ``max_clusters`` is neither a positive whole number nor a dimension of the model,
        more than one of ``max_clusters``, ``together`` and ``known`` is given, or ``log_weights`` has a wrong shape or
        comes with a measure or one of these.

    Notes
    -----
    The log-probability of labels in order of appearance is the log exchangeable partition probability function of the
    measure, with its auxiliary variable integrated out.  It is minus infinity for any other labels, so that the
    probabilities of all values sum to one.

    With ``max_clusters`` the clusters of a partition occupy different slots, and all ``K! / (K - k)!`` assignments of k
    clusters to slots have the same share of the probability of the partition.  If the parameters of the slots are
    independent and identically distributed given hyperparameters, this is the mixture with infinitely many components,
    conditioned on at most K clusters.  The posterior is the same if K is at least the number of items; otherwise it
    differs by the posterior probability of more than K clusters.  ``nrm.sample`` warns if draws use all slots.  Priors
    that differ between slots are allowed; labels then carry meaning.  Forward draws are repeated until there are at
    most K clusters, so that with random hyperparameters their distribution differs slightly from the model if K is
    small.

    With ``together``, labels that separate items of a group have probability zero.  The partition of the groups has the
    distribution of the measure: items of a group are assigned together, and count once in how clusters grow.  New items
    are groups of their own.  All steps for partitions without slots support such a partition.

    With ``known``, labels are data: the log-probability of a value that agrees with them is the log-probability of the
    partition of all items, and minus infinity otherwise, so that hyperparameters learn from known labels.
    Probabilities of all values sum to the probability of the known labels.  Forward draws are exact given known labels
    and hyperparameters, but ``pm.sample_prior_predictive`` draws hyperparameters from their prior alone.  The same
    steps support such a partition.  If all labels are known, nothing of the partition is left to sample: the variable
    is observed, as with ``observed``, and hyperparameters have the same posterior.  With ``only_known``, values with a
    cluster that has no known item have probability zero, and nothing else changes.  Forward draws are then exact for
    measures of Gibbs type, as all measures of this package are.  New items may still be in new clusters: divide
    probabilities by the probability of a known cluster to condition on there being no new cluster.

    With ``log_weights`` labels are independent given the weights, ``P(z_i = k) = softmax(log_weights[i])_k``: mixtures
    of experts, exactly K components, or weights that follow time or space.  Components without items are not clusters.
    :func:`pymc_nrm.sample` sums labels out for NUTS (:class:`WeightedNUTS`) and draws them all at once.

    ``pm.sample`` and :func:`pymc_nrm.sample` sample the partition.  ``pm.find_MAP`` leaves it at its initial point
    without a warning.  Generic steps such as ``pm.Metropolis``, ``pm.sample_smc``, ``pm.fit`` and samplers outside PyMC
    refuse it.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model(coords={"obs": range(5)}) as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(pm.Exponential("alpha", np.log(5))), dims="obs")
    >>> print(model.str_repr())
    alpha ~ Exponential(<constant>)
    z ~ Partition[DirichletProcess](5, alpha)
    z_n_clusters = Deterministic(f(z))
    """

    rv_type = PartitionRV

    def __new__(
        cls,
        name: str,
        measure: tuple[Any, ...] | None = None,
        n: Any = None,
        *,
        dims: Any = None,
        log_weights: Any = None,
        max_clusters: Any = None,
        together: Any = None,
        known: Any = None,
        only_known: bool = False,
        chunks: Any = None,
        initval: Any = None,
        observed: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        check_options("Partition", kwargs)
        dims = (dims,) if isinstance(dims, str) else dims
        model = pm.modelcontext(None)
        measure = measure_in_model(measure)
        dims_of_weights = (dims[0] if dims else None, max_clusters if isinstance(max_clusters, str) else None)
        log_weights = in_order(f"log_weights of Partition {name!r}", log_weights, dims_of_weights)
        max_clusters = number_of_slots(f"max_clusters of Partition {name!r}", max_clusters, model)
        options = {"max_clusters": max_clusters, "together": together, "known": known, "chunks": chunks}
        kind, log_weights = _kind_and_weights(f"Partition {name!r}", measure, log_weights, only_known, **options)
        if chunks is not None:
            _check_chunks(name, dims, model)
        known_rows = dims is not None and dims[0] in model.dim_lengths
        if n is None and log_weights is not None and log_weights.ndim == 2 and not known_rows:
            n = log_weights.shape[0]
        n, starts = items_and_labels(kind, name, n, dims, model, initval=initval, observed=observed)
        if isinstance(kind, KnownLabels) and kind.all_known:
            # The labels that are given as well, which agree, add nothing.
            starts = {"observed": canonical_labels(kind.known)}
            kind, only_known, options["known"] = Ordered(), False, None
            tell_all_known(f"Partition {name!r}", starts["observed"])
        options |= {"only_known": only_known, "log_weights": log_weights}
        labels = super().__new__(cls, name, measure, n, dims=dims, **starts, **options, **kwargs)
        add_deterministics(name, kind, labels)
        return labels

    @classmethod
    def dist(
        cls,
        measure: tuple[Any, ...] | None = None,
        n: Any = None,
        *,
        log_weights: Any = None,
        max_clusters: int | None = None,
        together: Any = None,
        known: Any = None,
        only_known: bool = False,
        chunks: Any = None,
        shape: Any = None,
        rng: Any = None,
        return_next_rng: bool = False,
    ) -> Any:
        """Create labels outside a model, for example for ``pm.draw``; arguments as in :class:`Partition`."""
        if shape is not None and np.ndim(shape) == 1 and len(shape) != 1:
            raise ValueError(f"shape of a Partition must have one entry, its number of items; got {shape}")
        options = {"max_clusters": max_clusters, "together": together, "known": known, "chunks": chunks}
        kind, log_weights = _kind_and_weights("a Partition", measure, log_weights, only_known, **options)
        if log_weights is not None:
            n = log_weights.shape[0] if n is None and log_weights.ndim == 2 else n
            fields = [_of_items("log_weights of a Partition", log_weights, n)]
            return PartitionRV.make(LogWeights, n, kind, fields, rng, return_next_rng)
        if lacking(type(measure), [symbolic_log_eppf]):
            raise TypeError(
                "measure must be a measure such as DirichletProcess(alpha), unless log_weights is given; got "
                f"{measure!r}"
            )
        measure = check_measure_hyperparameters(measure)
        # Make a number a float64 constant, which PyMC prints as a number, unlike the cast of a smaller type.
        values = [value if isinstance(value, Variable) else np.float64(value) for value in measure]
        fields = [pt.as_tensor(value).astype("float64") for value in values]
        return PartitionRV.make(type(measure), n, kind, fields, rng, return_next_rng)


def _check_chunks(name, dims, model):
    """Check that a partition of rows in chunks has no dims, and is the only one in the model."""
    if dims is not None:
        raise ValueError(
            f"dims of Partition {name!r} must be None with chunks, since results hold the followed rows alone; got "
            f"{dims}"
        )
    for other in model.free_RVs:
        if other.owner is not None and isinstance(getattr(other.owner.op, "kind", None), Chunked):
            raise ValueError(
                f"chunks of Partition {name!r} must be None, since a model may have one partition of rows in chunks, "
                f"and has {other.name!r}"
            )


def _kind_and_weights(title, measure, log_weights, only_known, **options):
    """The kind of a flat partition, and the log weights of components as a tensor, (n, K) or (K,), if it has them."""
    if log_weights is None:
        return _kind(title, only_known, **options), None
    if measure is not None:
        raise ValueError(f"measure of {title} must be omitted with log_weights; got {measure!r}")
    passed = {name: value for name, value in options.items() if value is not None and name != "max_clusters"}
    if passed or only_known:
        remedy = (
            "; write minus infinity into log_weights for components that an item cannot have"
            if "known" in passed
            else ""
        )
        raise ValueError(
            f"{' and '.join(passed or ['only_known'])} of {title} must be omitted with log_weights{remedy}"
        )
    weights = pt.as_tensor(without_dims(log_weights))
    title = f"log_weights of {title}"
    if weights.ndim not in (1, 2) or weights.type.numpy_dtype.kind not in "fiu":
        raise ValueError(
            f"{title} must be real numbers of shape (n, K) or (K,), with K the number of components; got shape "
            f"{weights.type.shape} and dtype {weights.dtype}"
        )
    if _are_probabilities(weights):
        source = variable_behind(weights).name
        what = f"the probabilities {source!r}" if source else "probabilities"
        raise ValueError(f"{title} must be logarithms of weights; got {what}: give pt.log of them")
    # Lengths of dimensions are variables, whose present value counts.
    n_components, wanted = with_present_shape(weights).type.shape[-1], options["max_clusters"]
    if n_components is None and wanted is None:
        raise ValueError(
            f"max_clusters must be given, the number of components K, since the shape of {title} does not say it; got "
            f"shape {weights.type.shape}"
        )
    if None not in (n_components, wanted) and n_components != wanted:
        raise ValueError(f"{title} must have max_clusters={wanted} columns; got {n_components}")
    return WeightedComponents(wanted if n_components is None else n_components, title), weights.astype("float64")


def _are_probabilities(weights):
    """Whether an operation makes weights that sum to one: a Dirichlet variable, a softmax, or x / sum(x)."""
    [graph] = lowered([weights])
    graph = _without_moved_axes(graph)
    if computed_by(graph, Elemwise) and isinstance(graph.owner.op.scalar_op, TrueDiv):
        share, total = map(_without_moved_axes, graph.owner.inputs)
        return computed_by(total, Sum) and total.owner.inputs[0] is share
    return computed_by(graph, (Softmax, type(pm.Dirichlet.rv_op)))


def _without_moved_axes(graph):
    return _without_moved_axes(graph.owner.inputs[0]) if computed_by(graph, DimShuffle) else graph


def _of_items(title, log_weights, n):
    """Log weights with a row for each item, shape (n, K)."""
    if log_weights.ndim == 1:
        return pt.broadcast_to(log_weights, (pt.as_tensor(n), log_weights.shape[0]))
    shape = with_present_shape(log_weights).type.shape
    if shape[0] is not None and shape[0] != count_value(n):
        raise ValueError(f"{title} must have a row for each of {count_value(n)} items; got shape {shape}")
    return log_weights


def _kind(title, only_known, **options):
    """The kind of a flat partition, from the option in use."""
    check_flag(f"only_known of {title}", only_known)
    if only_known and options["known"] is None:
        raise ValueError(f"only_known of {title} must be False unless known, the known labels, is given")
    passed = {option: value for option, value in options.items() if value is not None}
    if len(passed) > 1:
        raise ValueError(f"{' and '.join(passed)} of {title} must not both be given; got {passed}")
    if only_known:
        return KnownLabels(passed["known"], f"known of {title}", only_known=True)
    for option, value in passed.items():
        return _KINDS[option](value, f"{option} of {title}")
    return Ordered()


def check_number(title, kind, n):
    """Check that a variable has as many items as its kind, if the kind has a fixed number."""
    if kind.n_items is not None and n is not None and count_value(n) != kind.n_items:
        raise ValueError(
            f"{kind.argument} of {title} must have one row for each of the {count_value(n)} items; got {kind.n_items} "
            "rows"
        )


def measure_in_model(measure):
    """The measure of an argument: itself, or the measure of an elicited prior, whose hyperprior becomes a variable."""
    if isinstance(measure, type) and hasattr(measure, "hyperparameters"):
        arguments = ", ".join(f"{name}=..." for name in measure._fields)
        raise TypeError(f"measure must have its hyperparameters, as in {measure.__name__}({arguments}); got the class")
    return measure.in_model() if hasattr(measure, "in_model") else measure


def check_options(kind, kwargs):
    """Check that options of PyMC without meaning for a kind of partition are not given."""
    for option in ("shape", "size", "total_size", "transform"):
        if kwargs.get(option) is not None:
            raise ValueError(f"{kind} does not take {option}; got {kwargs[option]!r}. Use n or dims")


def number_of_items(kind, name, n, dims, model, observed):
    """Number of items of a variable, from ``n``, the single name in ``dims``, its kind, or observed labels."""
    if dims is not None and (not isinstance(dims, tuple | list) or len(dims) != 1):
        raise ValueError(f"dims of a {kind.title} must be one name; got {dims}")
    has_length = dims is not None and dims[0] in model.dim_lengths
    if n is None and not has_length:
        n = len(np.atleast_1d(observed)) if dims is None and observed is not None else None
        n = n if kind.n_items is None else kind.n_items
    title = f"{kind.title} {name!r}"
    if n is None and not has_length:
        raise ValueError(
            f"n of {title}, the number of items, must be given, or dims be a dimension of the model, one of "
            f"{sorted(model.dim_lengths)}; got dims={dims[0] if dims else None!r}"
        )
    if n is not None:
        n = checked_count(f"n of {title}", n)
    if has_length:
        length = count_value(model.dim_lengths[dims[0]])
        if n is not None and count_value(n) != length:
            raise ValueError(f"n of {title} must be {length}, the length of dims {dims[0]!r}; got {count_value(n)}")
        n = model.dim_lengths[dims[0]]
    check_number(title, kind, n)
    return n


def add_deterministics(name, kind, labels):
    """Add the deterministics that every result has for a partition to a model."""
    for ending, graph in kind.deterministics(labels).items():
        pm.Deterministic(f"{name}_{ending}", graph)


def number_of_slots(title, number, model):
    """A number of slots, which users may write as the name of a dimension."""
    if not isinstance(number, str):
        return number
    if number not in model.dim_lengths:
        raise ValueError(
            f"{title} must be a whole number or a dimension of the model, {sorted(model.dim_lengths)}; got {number!r}"
        )
    return count_value(model.dim_lengths[number])


def items_and_labels(kind, name, n, dims, model, **labels):
    """Number of items of a variable, and its arguments ``initval`` and ``observed`` with labels in canonical form. None
    and names of initial points are unchanged.
    """
    n = number_of_items(kind, name, n, dims, model, labels["observed"])
    for argument, values in labels.items():
        if values is not None and not isinstance(values, str):
            title = f"{argument} of {kind.title} {name!r}"
            if argument == "observed" and isinstance(kind, InOrder):
                values = numbered_if_text(title, values)
            labels[argument] = kind.renamed(values, count_value(n), title)
    return n, labels


@logprob.register(PartitionRV)
def _partition_logp(op, values, rng, size, n, *parameters, **kwargs):
    [labels] = values
    priors = op.priors(parameters)
    log_probability = op.kind.log_density(priors, OfOwnStep(labels.name)(labels), n)
    for prior in priors:
        log_probability = with_conditions(log_probability, prior)
    return log_probability


@support_point.register(PartitionRV)
def _partition_support_point(op, rv, *inputs):
    node = rv.owner
    # PyMC evaluates initial points without rewriting them, so the shape of `rv` itself would cost a draw.
    shapes = [tuple(parameter.shape) for parameter in op.dist_params(node)]
    zeros = pt.zeros(op.infer_shape(node, [None, None, *shapes])[1], dtype=rv.dtype)
    return DefaultStart()(op.kind.default_start(zeros, op.priors(op.prior_inputs(node))))
