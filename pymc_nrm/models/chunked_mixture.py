"""Data in chunks given a partition of their rows: a mixture whose value is the sums of cluster statistics."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.random.op import RandomVariable

from pymc_nrm.common.checks import naming, plain_values
from pymc_nrm.common.pymc_internals import logprob, support_point
from pymc_nrm.common.text_levels import LevelColumn
from pymc_nrm.families.arguments import broadcast_hyperparameters, with_extremes
from pymc_nrm.families.base import complete, localise, prepare_data
from pymc_nrm.families.definitions.categorical_dirichlet import CategoricalDirichlet
from pymc_nrm.families.fast import log_marginals_with_gradient
from pymc_nrm.families.needs import check_needs
from pymc_nrm.families.shared.scale import to_scale
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.models.marginal_likelihood import likelihood_of_sums, shapes_of_fields
from pymc_nrm.models.origin import UNKNOWN, Origin
from pymc_nrm.models.partition import PartitionRV
from pymc_nrm.models.random_variables import printed_names, with_conditions
from pymc_nrm.models.text_data import name_levels
from pymc_nrm.models.values import kernel_family
from pymc_nrm.partitions.chunked import NO_DRAWS, Chunked, Rows


class ChunkedData:
    """Rows in chunks and their sums: a property of operations, equal if the rows are."""

    def __init__(self, rows, measured):
        self.rows, self.measured, self.key = rows, measured, rows.key

    def __eq__(self, other):
        return isinstance(other, ChunkedData) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        return f"{type(self.rows).__name__}({self.rows.n} rows)"


class ChunkedMixtureRV(RandomVariable):
    """Sums of cluster statistics, in whole quanta; inputs are cluster sizes and hyperparameters."""

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "family_class", "data")

    def __init__(self, family_class, data, origin=UNKNOWN, **kwargs):
        self.family_class, self.data = family_class, data
        # No property, as in MixtureRV; what was recorded is that of the followed rows.
        self.origin = origin
        self.rows, self.measured = data.rows, data.measured
        cores = [spec.core for spec in family_class.hyperparameters.values()]
        self.univariate = len(self.rows.columns) == 1
        kwargs["name"], self._print_name = printed_names("Mixture", family_class)
        kwargs["signature"] = ",".join(["(k)", *(f"({','.join(core)})" for core in cores)]) + "->(k,s)"
        super().__init__(**kwargs)

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return [dist_params[0].shape[0], pt.constant(len(self.measured.sums), dtype="int64")]

    def partition(self, node):
        """The partition of a variable, from its node."""
        return self.dist_params(node)[0]

    def family(self, node):
        """The family of a variable, from its node; the fields are tensors in their full shape."""
        return self.family_class(*self.dist_params(node)[1:])

    def n_features(self, hyperparameters):
        """The number of features."""
        return len(self.rows.columns)

    def rng_fn(self, rng, *inputs):
        raise NotImplementedError(f"a mixture of rows in chunks {NO_DRAWS}")


def add_chunked_mixture(name, partition, family, rows, origin=UNKNOWN, **kwargs):
    """Add the mixture of columns of rows in chunks to the model in the context."""
    if not lacking(type(family), [to_scale]):
        raise NotImplementedError(f"{type(family).__name__} does not support rows in chunks; pass Chunks of logarithms")
    passed = {option: value for option, value in kwargs.items() if value is not None}
    if passed:
        raise ValueError(f"Mixture {name!r} of rows in chunks does not take {', '.join(passed)}; got {passed}")
    kind = partition.owner.op.kind if isinstance(partition.owner.op, PartitionRV) else None
    if not isinstance(rows, Rows):
        raise TypeError(
            f"observed of Mixture {name!r} must be Chunks, or columns of Chunks, since partition {partition.name!r} "
            f"has rows in chunks; got {type(rows).__name__}"
        )
    if not isinstance(kind, Chunked) or kind.rows is not rows.chunks:
        raise ValueError(
            f"partition of Mixture {name!r} must be a Partition with chunks= these Chunks; got {partition.name!r}"
        )
    for column in rows.columns:
        levels = rows.chunks.levels.get(column)
        if levels is not None and not (levels and isinstance(family, CategoricalDirichlet)):
            raise TypeError(
                f"column {column!r} of Mixture {name!r} must hold numbers; got {'text' if levels else 'dates'}. "
                "mixture_model takes Chunks and reads all columns, and CategoricalDirichlet takes text"
            )
    check_needs(type(family), (prepare_data, log_marginals_with_gradient), "a Mixture of rows in chunks")
    if origin is UNKNOWN and any(column in rows.chunks.levels for column in rows.columns):
        origin = Origin(tuple(LevelColumn(column, rows.chunks.levels.get(column, ())) for column in rows.columns))
        name_levels(name, origin.readings)
    family = plain_values(family)
    per_item = {name: spec for name, spec in family.hyperparameters.items() if "n" in spec.core}
    for field, spec in per_item.items():
        if not spec.for_draws_alone:
            raise NotImplementedError(
                f"{type(family).__name__} has hyperparameters for each item, which rows in chunks do not support"
            )
        if getattr(family, field) is not None:
            raise ValueError(
                f"{field} of {type(family).__name__} must be None for rows in chunks, which provide it; got "
                f"{getattr(family, field)!r}"
            )
    with naming(f"observed data of Mixture {name!r}"):
        # Only draws of data read hyperparameters of items, and rows in chunks have no draws: one value keeps the shape.
        row_family = complete(family, rows.sampled_values[:1])
        family = complete(family, with_extremes(rows, rows.sampled_values))
        family = family._replace(**{field: getattr(row_family, field) for field in per_item})
        full = broadcast_hyperparameters(family, 1, len(rows.columns))
        measured = rows.measured(numbers_like(full, len(rows.columns)))
    fields = [pt.as_tensor(value) for value in full]
    rng = pt.random.shared_rng(seed=None)
    op = ChunkedMixtureRV(type(family), ChunkedData(rows, measured), origin)
    _, sums = op(partition, *fields, rng=rng, return_next_rng=True)
    return pm.modelcontext(None).register_rv(sums, name)


def numbers_like(family, d):
    """A family with numbers in the shapes of its fields; constant fields keep their values."""
    values, fields = [], type(family)(*map(pt.as_tensor, family))
    for name, field, shape in zip(family._fields, fields, shapes_of_fields(fields, d), strict=True):
        if None in shape:
            raise ValueError(f"{name} of {type(family).__name__} must have a fixed shape; got {field.type}")
        values.append(getattr(field, "data", np.ones(shape)))
    return kernel_family(type(family), values)


@support_point.register(ChunkedMixtureRV)
def _chunked_mixture_support_point(op, rv, rng, size, counts, *hyperparameters):
    """All rows in one cluster, as the partition starts."""
    rows = op.rows.chunks
    start = np.zeros((min(rows.n, rows.max_clusters), len(op.measured.sums)), dtype=np.int64)
    start[0] = op.measured.sums
    return pt.constant(start)


@logprob.register(ChunkedMixtureRV)
def _chunked_mixture_logp(op, values, rng, size, counts, *hyperparameters, **kwargs):
    [sums] = values
    family = op.family_class(*hyperparameters)
    preparation, quanta, _ = op.measured
    # One row represents the form of the data, since the likelihood reads only their centre.
    data = preparation(op.rows.chunks.sample_values[:1])
    value = likelihood_of_sums(localise(family, data), data, counts, quanta.quantum, sums)
    return with_conditions(value, family, d=len(op.rows.columns))
