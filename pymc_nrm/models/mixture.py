"""Data given a random partition, as a PyMC random variable with the parameters of clusters integrated out."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc import Distribution
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import graph_inputs
from pytensor.link.utils import compile_function_src
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.subtensor import Subtensor
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.common.checks import check_count, check_values, naming, plain_values
from pymc_nrm.common.named_dims import tensor_behind
from pymc_nrm.common.pymc_internals import logprob, support_point
from pymc_nrm.families.arguments import broadcast_hyperparameters, numeric_data
from pymc_nrm.families.base import canonical, complete, log_likelihood, prepare_data
from pymc_nrm.families.gaps import check_filled, draws_gaps
from pymc_nrm.families.needs import ITEMS, check_needs, is_family
from pymc_nrm.models.chunked_mixture import add_chunked_mixture
from pymc_nrm.models.data_labels import labels_message, valid_labels
from pymc_nrm.models.dims_of_data import checked_dims, without_names
from pymc_nrm.models.item_counts import count_value, rows_message
from pymc_nrm.models.marginal_likelihood import (
    has_marginal_likelihood,
    likelihood_with_gaps,
    marginal_likelihood,
    with_constants_per_item,
)
from pymc_nrm.models.missing_entries import add_missing_entries, gaps_of
from pymc_nrm.models.origin import UNKNOWN, Origin
from pymc_nrm.models.partition import PartitionRV
from pymc_nrm.models.prepared import fixed_fields, prepared_data
from pymc_nrm.models.random_variables import printed_names, register_numba, with_conditions
from pymc_nrm.models.row_arguments import (
    COUNTS_MESSAGE,
    check_use_of_counts,
    checked_counts,
    checked_rows,
    n_rows,
    of_observations,
    rows_of_observations,
)
from pymc_nrm.models.text_data import read_text, warn_of_holes
from pymc_nrm.models.values import (
    as_observed,
    computed_by,
    constant_value,
    kernel_family,
    kernel_values,
    may_become_fractions,
    sparse_origin,
    with_present_shape,
    without_casts,
)
from pymc_nrm.partitions.chunked import Chunked, Rows
from pymc_nrm.partitions.clusters import draw_data


class MixtureRV(RandomVariable):
    """Data given a partition; inputs are the labels and the hyperparameters of the family in their full shape.

    If items have several rows of data or none, the second input is the item of each row; if rows stand for several
    equal observations, it is their number.  The parameters of clusters, or the means of the nodes of a tree, are
    integrated out.
    """

    __props__ = (
        *("name", "signature", "dtype", "inplace"),
        *("family_class", "univariate", "kind", "has_rows", "has_counts"),
    )

    def __init__(self, family_class, univariate, kind, has_rows=False, has_counts=False, origin=UNKNOWN, **kwargs):
        self.family_class, self.univariate, self.kind = family_class, univariate, kind
        self.has_rows, self.has_counts = has_rows, has_counts
        # No property, since draws do not depend on it.
        self.origin = origin
        kwargs["name"], self._print_name = printed_names("Mixture", family_class)
        # PyTensor allows names of dimensions only.
        cores = [spec.core for spec in family_class.hyperparameters.values()]
        self._cores = [["t" if axis == "depth + 1" else axis for axis in core] for core in cores]
        labels = "(n,l)" if kind.takes_trees else "(n)"
        labels = "(items),(n)" if has_rows else "(n),(n)" if has_counts else labels
        inputs = [labels, *[f"({','.join(core)})" for core in self._cores]]
        kwargs["signature"] = f"{','.join(inputs)}->{'(n)' if univariate else '(n,d)'}"
        super().__init__(**kwargs)
        # None for a family with a single number for each item.
        self._feature_axis = next(((i, core.index("d")) for i, core in enumerate(cores) if "d" in core), None)

    def partition(self, node):
        """Return the partition of a variable, from its node; for components of a nested partition, the latter."""
        labels = self.dist_params(node)[0]
        return labels.owner.inputs[0] if computed_by(labels, Subtensor) else labels

    def family(self, node):
        """Return the family of a variable, from its node; the fields are tensors in their full shape."""
        return self.family_class(*self.dist_params(node)[1 + self.has_rows + self.has_counts :])

    def rows(self, node):
        """Return the item of each row as an index of labels, from the node of a variable."""
        return self.dist_params(node)[1].data if self.has_rows else slice(None)

    def counts(self, node):
        """Return the number of observations of each row, or None if each is one, from the node of a variable."""
        return self.dist_params(node)[1].data if self.has_counts else None

    def n_features(self, hyperparameters):
        """Return the number of features, from the values of all hyperparameters in their full shape."""
        if self._feature_axis is None:
            return 1
        i, axis = self._feature_axis
        return np.shape(hyperparameters[i])[axis]

    def check_draws(self):
        """Raise an error if data cannot be drawn."""
        if self.has_counts:
            raise NotImplementedError(
                "a Mixture with counts has no forward draws: equal observations are not draws of their distribution. "
                "Leave it out of var_names, or repeat its rows, without counts"
            )
        check_needs(self.family_class, () if self.kind.takes_trees else ITEMS, "a forward draw of a Mixture")

    def rng_fn(self, rng, *inputs_and_size):
        *inputs, size = inputs_and_size
        if size:
            raise NotImplementedError("batches of data can only be drawn with the numba backend")
        self.check_draws()
        places, fields = inputs[: 1 + self.has_rows], kernel_family(self.family_class, inputs[1 + self.has_rows :])
        source, environment, _ = self.draw_source()
        return compile_function_src(source, "draw", environment)(rng, *kernel_values(places), *fields)

    def draw_source(self):
        """Return the source of a function that draws data, and the names that it uses, for numba."""
        try:
            self.check_draws()
        except NotImplementedError as error:
            # After a NotImplementedError, PyTensor would run Python code instead.
            raise TypeError(str(error)) from None
        names = list(self.family_class._fields)
        arguments = [name if core else f"float({name})" for name, core in zip(names, self._cores, strict=True)]
        family, n_features = f"family({', '.join(arguments)})", "1"
        if self._feature_axis is not None:
            n_features = f"{names[self._feature_axis[0]]}.shape[{self._feature_axis[1]}]"
        call = f"draw_data({family}, labels, rng, {n_features})"
        call = f"draw_data({family}, labels, rng)" if self.kind.takes_trees else call
        rows = "rows, " if self.has_rows else ""
        test, *options = self.kind.test_of_labels
        holds = f"{test.__name__}({', '.join(['labels', *map(str, options)])})"
        holds += " and rows.max() < labels.shape[0]" if self.has_rows else ""
        # Labels that are data, as after pm.do, may be any numbers.
        source = (
            f"def draw(rng, labels, {rows}{', '.join(names)}):\n"
            f"    if not ({holds}):\n        raise ValueError({labels_message(self.kind)!r})\n"
            f"    labels = labels{'[rows]' if self.has_rows else ''}\n"
            f"    return {call}{'[:, 0]' if self.univariate else ''}.astype(dtype)\n"
        )
        draw = self.kind.tree_law.draw_data if self.kind.takes_trees else draw_data
        environment = {"draw_data": draw, "dtype": np.dtype(self.dtype), test.__name__: test}
        return source, environment | {"family": self.family_class}, self.family_class


class Mixture(Distribution):
    """Data clustered by a random partition, with the parameters of each cluster integrated out.

    Parameters
    ----------
    name : str
    partition : Partition or NestedPartition
        Random partition of the items; several mixtures may share one.  A nested partition with weights is used as the
        partition into components; without weights, the family must be a tree family.
    family : NormalWishart, NormalGamma, NormalRegression, BernoulliBeta, PoissonGamma, ...
        Any family, including your own.  Its hyperparameters are numbers, arrays, tensors or random variables.  Dims of
        ``pymc.dims`` that are those of the items or features may be in any order, here and in ``observed``.
    observed : array_like, sparse matrix or Chunks, shape (n, d) or (n,), optional
        Data; a vector has one feature.  NaN means missing, if the family allows it: it is excluded from the likelihood,
        or, with ``NormalWishart``, it is an entry of the free variable ``{name}_missing``, which
        :class:`~pymc_nrm.steps.MissingGibbs` draws.  Without data the mixture is a latent variable, sampled given the
        partition.  ``CategoricalDirichlet`` takes text and pandas categories, see its ``learned``.
    dims : str or tuple of str, optional
        Names of the dimensions, one for a vector and two for a matrix.
    shape : tuple of int, optional
        Shape of a latent mixture; required if neither ``dims`` nor hyperparameters determine the number of features.
    rows : array_like of int, shape (n_rows,), optional
        Item of each row, from 0 to n - 1, if items have several rows of data, such as visits of patients, or none.
        Rows of an item are independent given the parameters of its cluster; data, and covariates if the family has
        them, have the shape (n_rows, d) or (n_rows,).  The partition must be flat.  By default every item has one row.
    counts : array_like of int, shape (n,), optional
        Number of equal observations that each row of observed data stands for, at least 1, such as the rows of a table
        of patterns.  An item then has ``counts[i]`` observations in one cluster, at the cost of one row.

    Raises
    ------
    TypeError
        If ``partition`` is not a Partition, or ``family`` is not a family.
    ValueError
        If the data are outside the support of the family or do not have one row for each item, or for each entry of
        ``rows``, ``dims`` do not fit the data, a hyperparameter or item is out of range, or ``counts`` are not whole
        numbers of at least 1, or given with ``rows``, without data, or with missing values that are drawn; or if there
        are no data and the family is ``HurdleLogNormal``.

    Notes
    -----
    Forward draws, as in ``pm.sample_prior_predictive``, draw new parameters of each cluster from the base measure.
    This is correct for the prior predictive.  ``pm.sample_posterior_predictive`` does the same, so its draws are data
    for the same partition from *new* clusters, not replicated data from the posterior clusters.

    With ``counts``, the sufficient statistics of a row are multiplied.  The model equals one of the rows repeated in a
    partition with ``together``: the measure counts each row once, and new rows are single observations.  Where equal
    observations may be in different clusters, as in a contingency table, repeat the rows instead.  There are then no
    forward draws.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.random.default_rng(1).normal(size=(20, 2))
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=20)
    ...     x = nrm.Mixture("x", z, nrm.NormalWishart.from_data(X), observed=X)
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](20, 1)
    z_n_clusters = Deterministic(f(z))
    x ~ Mixture[NormalWishart](z, <constant>, 0.1, <constant>, 8)
    """

    rv_type = MixtureRV

    def __new__(
        cls,
        name: str,
        partition: TensorVariable,
        family: tuple[Any, ...],
        *,
        observed: Any = None,
        dims: Any = None,
        shape: Any = None,
        rows: Any = None,
        counts: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        for option in ("size", "total_size"):
            if kwargs.get(option) is not None:
                raise ValueError(f"Mixture does not take {option}; got {kwargs[option]!r}")
        partition = tensor_behind(partition)
        _check_kinds(partition, family)
        rows = checked_rows(f"rows of Mixture {name!r}", rows, partition)
        counts = checked_counts(f"counts of Mixture {name!r}", counts, partition)
        family, observed, dims = without_names(name, partition, family, observed, rows, dims)
        if isinstance(observed, Rows) or isinstance(partition.owner.op.kind, Chunked):
            return add_chunked_mixture(name, partition, family, observed, dims=dims, shape=shape, **kwargs)
        if observed is not None:
            observed, origin = read_text(name, family, observed)
            kwargs |= {} if origin is None else {"origin": origin}
        elif getattr(type(family), "has_atoms", False):
            raise ValueError(
                f"Mixture {name!r} of {type(family).__name__} must have observed data, since no step samples values "
                "that are 0 with positive probability; draw from the prior with pm.draw(Mixture.dist(...))"
            )
        read = None if observed is None else _read_observed(name, partition, family, observed, rows)
        if counts is not None:
            check_use_of_counts(f"counts of Mixture {name!r}", family, rows, read)
        if read is not None:
            family, observed, shape = read.family, read.observed, read.values.shape
            is_real = family.continuous or read.has_gaps or may_become_fractions(read.observed)
            kwargs["dtype"] = "float64" if is_real else "int64"
        model = pm.modelcontext(None)
        dims = checked_dims(name, dims, shape, model)
        start = kwargs.pop("initval", None) if read is None else None
        rv = super().__new__(
            cls, name, partition, family, observed=observed, dims=dims, shape=shape, rows=rows, counts=counts, **kwargs
        )
        if read is not None and read.draws_gaps:
            add_missing_entries(model, rv, read.values)
        if start is not None:
            with naming(f"initval of Mixture {name!r}"):
                model.set_initval(rv, start)
        return rv

    @classmethod
    def dist(
        cls,
        partition: TensorVariable,
        family: tuple[Any, ...],
        *,
        shape: Any = None,
        rows: Any = None,
        counts: Any = None,
        dtype: str | None = None,
        rng: Any = None,
        return_next_rng: bool = False,
        origin: Origin = UNKNOWN,
    ) -> Any:
        """Create data outside a model, for example for ``pm.draw``; arguments as in :class:`Mixture`."""
        partition = tensor_behind(partition)
        _check_kinds(partition, family)
        family = plain_values(family)
        kind, rows = partition.owner.op.kind, checked_rows("rows of a Mixture", rows, partition)
        counts = checked_counts("counts of a Mixture", counts, partition)
        n, n_columns = _checked_shape(partition, shape, rows)
        if not kind.takes_trees:
            check_values(type(family)(*map(with_present_shape, family)), n, n_columns)
        n_features = _n_features(family, shape)
        if any(value is None for value in canonical(family)):
            missing = [name for name, value in canonical(family)._asdict().items() if value is None]
            raise ValueError(f"{type(family).__name__} without observed data requires {', '.join(missing)}; got None")
        univariate = n_features is None or (shape is not None and len(shape) == 1)
        if not univariate and not any("d" in spec.core for spec in family.hyperparameters.values()):
            raise ValueError(f"data of {type(family).__name__} must be a vector, one number for each item; got {shape}")
        n = partition.owner.op.n_items(partition.owner) if rows is None else n
        full = _full_shape(partition, family, n, 1 if n_features is None else n_features)
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        dtype = dtype or ("float64" if family.continuous else "int64")
        register_numba(MixtureRV, MixtureRV.draw_source)
        op = MixtureRV(type(family), univariate, kind, rows is not None, counts is not None, origin, dtype=dtype)
        inputs = [
            kind.cluster_labels(partition),
            *[pt.constant(array) for array in (rows, counts) if array is not None],
        ]
        next_rng, values = op(*inputs, *[pt.as_tensor(value) for value in full], rng=rng, return_next_rng=True)
        return (next_rng, values) if return_next_rng else values


class _Observed(NamedTuple):
    """Observed data that were read for a family."""

    # The family, complete for these data; the values; and what PyMC observes.
    family: Any
    values: Any
    observed: Any
    # Whether values are missing, and whether they are drawn with the clusters.
    has_gaps: bool
    draws_gaps: bool


def _read_observed(name, partition, family, observed, rows):
    """Check observed data, complete the family for them, and prepare them for kernels where they are constant."""
    title, values = f"observed data of Mixture {name!r}", numeric_data(f"observed data of Mixture {name!r}", observed)
    n, counted = n_rows(partition, rows)
    if values.ndim not in (1, 2) or values.shape[0] != n:
        raise ValueError(
            f"{title} must have one row for each of the {counted}, shape (n, d) or (n,); got shape {values.shape}"
        )
    X = values[:, None] if values.ndim == 1 else values
    family = plain_values(family)
    with naming(title):
        passed, family = family, complete(family, X)
    full = _full_shape(partition, family, *X.shape)
    has_gaps = not hasattr(X, "tocsr") and bool(np.isnan(X).any())
    is_drawn = has_gaps and draws_gaps(type(family))
    observed = as_observed(observed, values)
    with naming(title):
        if is_drawn:
            prepare_data(full, X)
        else:
            # In the type in which the model has them.
            as_read = X.astype("float64") if hasattr(X, "tocsr") or X.dtype.kind == "f" else X
            prepared_data(full, as_read, fixed_fields(full, pm.modelcontext(None).rvs_to_values), observed)
    warn_of_holes(title, passed, X)
    if is_drawn and rows is not None:
        raise ValueError(
            f"{title} must have no NaN if rows is given; {type(family).__name__} draws missing values only for items "
            "with one row. Omit these rows, or use NormalGamma"
        )
    return _Observed(family, values, observed, has_gaps, is_drawn)


def _check_kinds(partition, family):
    op = partition.owner.op if isinstance(partition, Variable) and partition.owner else None
    if not isinstance(op, PartitionRV):
        raise TypeError(
            f"partition must be a Partition or a NestedPartition; got {partition!r} of type {type(partition).__name__}"
        )
    if not is_family(family):
        raise TypeError(f"family must be a family such as NormalWishart(...); got {family!r}")
    for_trees = getattr(type(family), "for_trees", False)
    if op.kind.takes_trees and not for_trees:
        raise TypeError(
            f"family must be a tree family such as NormalDiffusion(...), or {op.kind.title} {partition.name!r} needs "
            f"weights=HierarchicalDirichletProcess(...), since {type(family).__name__} is for components; got a "
            "NestedPartition without weights"
        )
    if for_trees and not op.kind.takes_trees:
        raise TypeError(
            f"partition must be a NestedPartition without weights, since the means of {type(family).__name__} diffuse "
            f"down a tree; got {partition.name!r}, a {op.kind.title} "
            f"{op.kind.description}"
        )
    needed = op.kind.tree_law.symbolic_log_likelihood if for_trees else log_likelihood
    check_needs(type(family), (prepare_data, needed), "Mixture")


def _full_shape(partition, family, n, d):
    """The family with hyperparameters of full shape."""
    kind = partition.owner.op.kind
    if kind.takes_trees:
        return kind.tree_law.broadcast_hyperparameters(family, n, d, kind.depth)
    return broadcast_hyperparameters(family, n, d)


def _checked_shape(partition, shape, rows):
    """Check the shape; return the number of rows and, if the shape determines it, of features."""
    n, counted = n_rows(partition, rows)
    if shape is None:
        return n, None
    if np.ndim(shape) == 0 or len(shape) not in (1, 2):
        raise ValueError(f"shape of a Mixture must be (n, d) or (n,); got {shape}")
    lengths = tuple(count_value(length) if isinstance(length, Variable) else length for length in shape)
    for axis, length in enumerate(lengths):
        check_count(f"shape[{axis}] of a Mixture", length, 1)
    if lengths[0] != n:
        raise ValueError(f"shape of a Mixture must begin with the {counted}; got {lengths}")
    return n, lengths[1] if len(lengths) == 2 else 1


def _n_features(family, shape):
    """Number of features, or None if neither the shape nor a hyperparameter determines it."""
    if shape is not None:
        return shape[1] if len(shape) == 2 else 1
    for name, value in canonical(family)._asdict().items():
        core = family.hyperparameters[name].core
        if value is not None and "d" in core and np.ndim(value) >= len(core) - core.index("d"):
            size = pt.as_tensor(value).type.shape[core.index("d") - len(core)]
            return size if size is not None else pt.as_tensor(value).shape[core.index("d") - len(core)]
    return None


def _without_gaps(labels, n):
    """Number labels below n from 0 in a graph, omitting labels that no row has."""
    is_used = pt.zeros(n, dtype="int64")[labels].set(1)
    return (pt.cumsum(is_used) - 1)[labels]


@logprob.register(MixtureRV)
def _mixture_logp(op, values, rng, size, labels, *hyperparameters, **kwargs):
    [value] = values
    labels = valid_labels(op.kind, labels)
    rows, hyperparameters = (hyperparameters[0], hyperparameters[1:]) if op.has_rows else (None, hyperparameters)
    counts, hyperparameters = (hyperparameters[0], hyperparameters[1:]) if op.has_counts else (None, hyperparameters)
    family = with_constants_per_item(op.family_class(*hyperparameters))
    X = value[:, None] if op.univariate else sparse_origin(value)
    known = without_casts(value)
    if draws_gaps(op.family_class) and all(isinstance(x, Constant | SharedVariable) for x in graph_inputs([known])):
        # Mixture has not read data of pm.observe.
        check_filled(op.family_class, constant_value(X), "data of a Mixture")
    # Without these checks, kernels of the graph may read beyond the end of an array.
    if rows is not None:
        holds = pt.eq(rows.shape[0], X.shape[0]) & pt.gt(labels.shape[0], rows.max())
        labels = CheckAndRaise(ValueError, rows_message(value, labels, rows))(labels, holds)
    elif value.type.shape[0] is None or value.type.shape[0] != labels.type.shape[0]:
        labels = CheckAndRaise(ValueError, rows_message(value, labels))(labels, pt.eq(labels.shape[0], X.shape[0]))
    if counts is not None and value.type.shape[0] is None:
        X = CheckAndRaise(ValueError, COUNTS_MESSAGE)(X, pt.eq(counts.shape[0], X.shape[0]))
    indices, _ = op.kind.symbolic_indices(labels, labels.shape[0])
    if rows is not None:
        indices = _without_gaps(indices[rows], labels.shape[0])
    if op.kind.takes_trees:
        log_probability = op.kind.tree_law.symbolic_log_likelihood(family, indices, X)
    elif isinstance(known, Constant) and has_marginal_likelihood(family):
        log_probability = marginal_likelihood(family, known, indices, counts)
    elif (gaps := gaps_of(value)) and gaps.are_fixed and has_marginal_likelihood(family):
        log_probability = likelihood_with_gaps(family, gaps, indices)
    elif counts is not None:
        of_observation = rows_of_observations(counts)
        log_probability = log_likelihood(*of_observations(family, X, of_observation), indices[of_observation])
    else:
        log_probability = log_likelihood(family, X, indices)
    return with_conditions(log_probability, family, d=X.shape[1])


@support_point.register(MixtureRV)
def _mixture_support_point(op, rv, rng, size, labels, *hyperparameters):
    mu = pt.as_tensor(getattr(op.family(rv.owner), "mu", 0))
    return pt.zeros_like(rv) + (mu[0] if op.univariate and mu.ndim else mu).astype(rv.dtype)
