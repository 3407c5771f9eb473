"""The target of a step: the priors and data of a partition at points, and checks that the density is finite."""

import functools
from functools import partial

import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy
from pymc.exceptions import SamplingError
from pytensor.compile.mode import Mode

from pymc_nrm.common.checks import check_values
from pymc_nrm.families.base import check_resolution, log_likelihood
from pymc_nrm.kernels.kernel_cache import function_fingerprint
from pymc_nrm.measures.base import check_measure_hyperparameters, log_eppf
from pymc_nrm.models.item_counts import check_labels, check_shape
from pymc_nrm.models.parts import ChunkedParts, PartitionParts, joint_data, joint_family
from pymc_nrm.models.rvs import check_uses, kind_of, mixtures_of, n_items, partition_of
from pymc_nrm.models.values import Values
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.partitions.weighted_components import LogWeights


class Target:
    """The terms of a model's log-probability that depend on one partition, in the form that kernels read."""

    def __init__(self, model, partition, point, compile_kwargs=None):
        check_uses(model, partition, self.uses_of_step(model, partition))
        self._partition, self.mixtures = partition, mixtures_of(model, partition)
        self._kind = kind_of(partition)
        evaluate = partial(Values.at_points, model, compile_kwargs=compile_kwargs)
        self._parts = PartitionParts(partition, self.mixtures, evaluate)
        self._checked = False
        self.has_mixtures = bool(self.mixtures)
        self.data_are_fixed = not any(self._parts.data_vary)
        self.at(point)

    @staticmethod
    def uses_of_step(model, partition):
        """Variables besides mixtures that may depend on the labels, since the step reads them as well."""
        return []

    def refresh(self):
        """Read data and constants again, since ``pm.set_data`` may have changed them."""
        self._parts.refresh()
        self._checked = False

    def parts(self, point):
        """Measure, and name, family, data and item of each row of each mixture, not yet prepared for kernels."""
        return self._parts.at(point)

    def at(self, point):
        """Measure, family and data at a point, as kernels read them; products if mixtures share the partition."""
        if not self._checked:
            self._check(point)
        measure, families, data = self._parts.prepared(point)
        return measure, *self._kind.kernel_parts(joint_family(families), joint_data(data))

    def _check_prior(self, prior):
        # Weights of the user's own are not a measure: their step checks their values.
        if isinstance(prior, LogWeights) and len(prior.log_weights) != n_items(self._partition):
            raise ValueError(
                f"log_weights of partition {self._partition.name!r} must have a row for each of its "
                f"{n_items(self._partition)} items; got shape {prior.log_weights.shape}"
            )
        if hasattr(prior, "hyperparameters"):
            check_measure_hyperparameters(prior)

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


class GivenPartition:
    """A partition and some of its mixtures at points, for steps that are given the clusters.

    Options are passed to :class:`~pymc_nrm.models.parts.PartitionParts`.
    """

    def __init__(self, model, partition, mixtures, compile_kwargs=None, **options):
        self.kind = kind_of(partition)
        evaluate = partial(Values.at_points, model, compile_kwargs=compile_kwargs)
        self._value, self._parts = evaluate([partition]), PartitionParts(partition, mixtures, evaluate, **options)

    def refresh(self):
        """Read data and constants again, since ``pm.set_data`` may have changed them."""
        self._value.refresh()
        self._parts.refresh()

    def at(self, point):
        """Clusters of the items in order of appearance, measure, families and data, as kernels read them."""
        value = self.kind.of_items(self.kind.read({self.kind.name: self._value(point)[0]}))
        return canonical_labels(self.kind.cluster_labels(value)), *self._parts.prepared(point)


class SumsOfChunks:
    """Statistics of the clusters of rows in chunks at points, which have them, for steps that are given the clusters.

    ``family`` has other hyperparameters, as in :class:`GivenPartition`.
    """

    def __init__(self, model, mixture, family, compile_kwargs):
        partition = partition_of(mixture)
        self._kind, self._mixture = kind_of(partition), mixture.name
        self._quantum = mixture.owner.op.measured.quanta.quantum
        evaluate = partial(Values.at_points, model, compile_kwargs=compile_kwargs)
        self._parts = ChunkedParts(partition, [mixture], evaluate, [family], has_measure=False)
        self._family = None

    def refresh(self):
        """Read constants again, since ``pm.set_data`` may have changed them."""
        self._parts.values.refresh()
        self._family = None

    def at(self, point):
        """The family of the mixture at a point, and a row of statistics for each cluster."""
        # Mostly all other hyperparameters are constant.
        if self._family is None or any(self._parts.values.varies):
            _, [self._family] = self._parts.at(point)
        n_clusters = len(self._kind.counts(self._kind.read(point)))
        return self._family, point[self._mixture][:n_clusters] * self._quantum


# The log densities of kernels and graph may differ by this share of their sum, or by this amount for each item.
_TOLERANCE = 1e-6
# Data sets with more values are not copied for a check.
_MOST_VALUES = 10_000_000


def graph_log_likelihoods(mixtures, labels):
    """Log densities of the data of mixtures given the partition, from the graph that NUTS sees."""
    return [graph_log_likelihood(family, X, canonical_labels(labels[rows])) for _, family, X, rows in mixtures]


def log_densities_by_graph(mixtures, labels, by_graph=graph_log_likelihoods):
    """The same, or None for more than ten million values."""
    if sum(np.prod(X.shape) for _, _, X, _ in mixtures) > _MOST_VALUES:
        return None
    return by_graph(mixtures, labels)


def graph_log_likelihood(family, X, labels, density=log_likelihood):
    """Log density of the data of one mixture, from the graph of a generic function of family, data and labels (n,), or
    of family, paths (n, depth) and data. Shapes: ``X`` (n, d) or (n,).
    """
    fields = tuple(np.asarray(value) for value in family)
    if scipy.sparse.issparse(X):
        from pytensor.sparse import as_sparse_variable  # imports scipy.sparse

        values = scipy.sparse.csr_matrix(X)
        values_type = as_sparse_variable(values).type
    else:
        values = np.ascontiguousarray(X[:, None] if X.ndim == 1 else X)
        values_type = pt.matrix(dtype=values.dtype).type
    # An implementation that is registered anew, or edited in place, has a graph of its own.
    implementation = function_fingerprint(density.dispatch(type(family)))
    types = tuple((field.dtype.name, field.ndim) for field in fields)
    # The depth of a tree is static.
    labels_type = pt.TensorType("int64", shape=(None, *labels.shape[1:]))
    with np.errstate(all="ignore"):
        function = _interpreted(density, implementation, type(family), types, values_type, labels_type)
        return float(function(*fields, values, labels))


@functools.lru_cache(maxsize=32)
def _interpreted(density, implementation, family_class, types, values_type, labels_type):
    """The log-likelihood as a function of hyperparameters, data and labels; few values do not pay for compilation."""
    fields = [pt.tensor(dtype=dtype, shape=(None,) * ndim) for dtype, ndim in types]
    values, labels = values_type(), labels_type()
    arguments = (labels, values) if labels.ndim > 1 else (values, labels)
    graph = density(family_class(*fields), *arguments)
    mode = Mode(linker="py", optimizer="minimum_compile")
    return pytensor.function([*fields, values, labels], graph, mode=mode, on_unused_input="ignore")


def check_against_graph(partition, mixtures, labels, log_density, by_graph=graph_log_likelihoods):
    """Check that kernels and graph agree about the log density of the data where a chain starts."""
    parts = log_densities_by_graph(mixtures, labels, by_graph)
    if parts is None:
        return
    expected = sum(parts)
    if abs(log_density - expected) <= _TOLERANCE * (len(labels) + abs(expected)):
        return
    raise SamplingError(
        f"the log density of the data of partition {partition!r} where a chain starts is {expected} by the graph of "
        f"the model, which NUTS sees, and {log_density} by the kernels of the step: values are too large or too far "
        "apart for double precision, or log_likelihood and log_marginal of a family disagree. "
        + " ".join(_of_mixture(mixture, part) for mixture, part in zip(mixtures, parts, strict=True))
    )


def not_finite(kind, measure, mixtures, labels, value, when):
    """The error for a log density that is not finite; it names the part that is not, and all values it depends on."""
    labels = kind.of_items(labels)
    log_prior = log_eppf(measure, kind.counts(labels))
    parts = graph_log_likelihoods(mixtures, labels)
    return error_of_parts(f"partition {kind.name!r}", f"with {measure}", log_prior, mixtures, parts, value, when)


def error_of_parts(title, prior, log_prior, mixtures, parts, value, when):
    """The error for a log density that is not finite, from the log densities of its parts."""
    finite = np.isfinite([log_prior, *parts]).all()
    sentences = [
        _of_mixture(mixture, part)
        for mixture, part in zip(mixtures, parts, strict=True)
        if finite or not np.isfinite(part)
    ]
    if finite:
        sentences.insert(0, "By the graph of the model it is finite: the kernels of the step lose all digits.")
    if finite or not np.isfinite(log_prior):
        sentences.append(f"That of the partition is {log_prior} {prior}.")
    return SamplingError(
        f"the log joint density of {title} and its data is not finite {when}: {value}. "
        + " ".join(sentences)
        + " Rescale the data, or change hyperparameters, or priors that allow such values of them"
    )


def _of_mixture(mixture, value):
    name, family, X, _ = mixture
    values = X.data if scipy.sparse.issparse(X) else X
    with np.errstate(all="ignore"):
        low, high = (np.nanmin(values), np.nanmax(values)) if np.size(values) else (np.nan, np.nan)
    hyperparameters = ", ".join(f"{field}={_short(h)}" for field, h in family._asdict().items())
    return (
        f"That of Mixture {name!r}, data between {low:.6g} and {high:.6g}, is {value} with "
        f"{type(family).__name__}({hyperparameters})."
    )


def _short(value):
    array = np.asarray(value)
    if array.size and (array == array.flat[0]).all():
        array = array.flat[0]
    return np.array2string(np.asarray(array), threshold=10, separator=", ", max_line_width=10_000).replace("\n", "")
