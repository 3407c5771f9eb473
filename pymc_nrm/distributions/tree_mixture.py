"""Data given a random tree, as a PyMC random variable with the means of the nodes integrated out."""

import numpy as np
import pytensor.tensor as pt
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.random.op import RandomVariable

from pymc_nrm.common.pymc_internals import logprob, support_point
from pymc_nrm.distributions.conditions import with_conditions
from pymc_nrm.distributions.item_counts import rows_message
from pymc_nrm.distributions.numba_dispatch import register_numba
from pymc_nrm.distributions.printing import printed_names
from pymc_nrm.tree_families.base import symbolic_log_likelihood
from pymc_nrm.tree_families.draws import draw_data


class TreeMixtureRV(RandomVariable):
    """Data of the leaves of a tree; its inputs are the paths and the hyperparameters of the family in full shape."""

    __props__ = ("name", "signature", "dtype", "inplace", "family_class", "univariate", "depth")
    dtype = "float64"
    # Number of slots of a partition whose labels index parameters.
    max_clusters = None

    def __init__(self, family_class, univariate, depth, **kwargs):
        self.family_class, self.univariate, self.depth = family_class, univariate, depth
        kwargs["name"], self._print_name = printed_names("mixture", family_class)
        # PyTensor allows names of dimensions only.
        cores = [["t" if axis == "depth + 1" else axis for axis in core] for core in _cores(family_class)]
        inputs = ["(n,l)", *[f"({','.join(core)})" for core in cores]]
        kwargs["signature"] = f"{','.join(inputs)}->{'(n)' if univariate else '(n,d)'}"
        super().__init__(**kwargs)
        self.feature_axis = next((i, core.index("d")) for i, core in enumerate(cores) if "d" in core)

    def partition(self, node):
        """Return the nested partition of a variable, given its node."""
        return self.dist_params(node)[0]

    def family(self, node):
        """Return the family of a variable, given its node; the fields are tensors in their full shape."""
        return self.family_class(*self.dist_params(node)[1:])

    def rng_fn(self, rng, paths, *hyperparameters_and_size):
        *hyperparameters, size = hyperparameters_and_size
        if size:
            raise NotImplementedError("batches of data are drawn by the numba backend only")
        fields = [float(h) if np.ndim(h) == 0 else np.array(h, dtype="float64", order="C") for h in hyperparameters]
        values = draw_data(self.family_class(*fields), np.ascontiguousarray(paths), rng)
        return values[:, 0] if self.univariate else values


def _cores(family_class):
    return [list(specification.core) for specification in family_class.hyperparameters.values()]


def tree_mixture(partition, family, univariate, rng):
    """Make the random variable."""
    register_numba(TreeMixtureRV, _numba_draw)
    op = TreeMixtureRV(type(family), univariate, partition.owner.op.depth)
    return op(partition, *[pt.as_tensor(value) for value in family], rng=rng, return_next_rng=True)


@logprob.register(TreeMixtureRV)
def _tree_mixture_logp(op, values, rng, size, paths, *hyperparameters, **kwargs):
    [value] = values
    family = op.family_class(*hyperparameters)
    X = value[:, None] if op.univariate else value
    if value.type.shape[0] is None or value.type.shape[0] != paths.type.shape[0]:
        # Without this check, kernels of the graph may read beyond the end of an array.
        paths = CheckAndRaise(ValueError, rows_message(value, paths))(paths, pt.eq(paths.shape[0], X.shape[0]))
    in_range = pt.all(paths >= 0) & pt.all(paths < paths.shape[0])
    paths = pt.specify_shape(pt.switch(in_range, paths, 0), (None, op.depth))
    return with_conditions(symbolic_log_likelihood(family, paths, X), family, d=X.shape[1])


@support_point.register(TreeMixtureRV)
def _tree_mixture_support_point(op, rv, rng, size, paths, *hyperparameters):
    mu = op.family_class(*hyperparameters).mu
    return pt.zeros_like(rv) + (mu[0] if op.univariate else mu)


def _numba_draw(op):
    names = list(op.family_class._fields)
    cores = _cores(op.family_class)
    arguments = [name if core else f"float({name})" for name, core in zip(names, cores, strict=True)]
    source = (
        f"def draw(rng, paths, {', '.join(names)}):\n"
        f"    return draw_data(family({', '.join(arguments)}), paths, rng){'[:, 0].copy()' if op.univariate else ''}\n"
    )
    return source, {"family": op.family_class, "draw_data": draw_data}, op.family_class
