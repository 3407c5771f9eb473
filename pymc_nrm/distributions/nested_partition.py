"""The random nested partition, a tree of fixed depth over the items, as a PyMC random variable."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.checks import check_count
from pymc_nrm.distributions.conditions import with_conditions
from pymc_nrm.distributions.item_counts import checked_count
from pymc_nrm.distributions.numba_dispatch import register_numba
from pymc_nrm.distributions.partition import check_options, number_of_items, renamed
from pymc_nrm.distributions.printing import printed_names
from pymc_nrm.distributions.start import DefaultStart
from pymc_nrm.generic import lacking
from pymc_nrm.nested.forward import draw_nested, draw_paths
from pymc_nrm.nested.labels import NestedLabels
from pymc_nrm.nested.levels import broadcast_to_levels, levels_of, symbolic_levels_of
from pymc_nrm.nested.prior import symbolic_log_nested_prior
from pymc_nrm.nested.weights import HierarchicalDirichletProcess, concentrations_of
from pymc_nrm.pymc_internals import logprob, support_point


class NestedPartitionRV(RandomVariable):
    """Labels of a nested partition; its inputs are the number of items and the parameters of measure and weights."""

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "measure_class", "depth", "has_weights")
    # Number of slots of a partition whose labels index parameters.
    max_clusters = None

    def __init__(self, measure_class, depth, has_weights, **kwargs):
        self.measure_class, self.depth, self.has_weights = measure_class, depth, has_weights
        kwargs["name"], self._print_name = printed_names("nested_partition", measure_class)
        fields = ["(l)"] * len(measure_class._fields) + ["(l)", "()"] * has_weights
        kwargs["signature"] = ",".join(["()", *fields]) + "->(n,m)"
        super().__init__(**kwargs)

    def n_items(self, node):
        """Return the symbolic number of items of a variable, given its node."""
        return self.dist_params(node)[0]

    def prior_inputs(self, node):
        """Return the tensors that the law of a variable depends on besides its number of items."""
        return self.dist_params(node)[1:]

    def measure_and_weights(self, parameters):
        """Return the measure and the weights, which may be None, from :meth:`prior_inputs` or their values."""
        n_fields = len(self.measure_class._fields)
        weights = HierarchicalDirichletProcess(*parameters[n_fields:]) if self.has_weights else None
        return self.measure_class(*parameters[:n_fields]), weights

    def numeric_prior(self, values):
        """Return levels and, with weights, concentrations as kernels read them, from values of :meth:`prior_inputs`.

        Returns
        -------
        levels : Levels
        gammas : ndarray of float64, shape (depth + 1,), or None
        """
        measure, weights = self.measure_and_weights([np.array(value, dtype="float64", order="C") for value in values])
        gammas = None if weights is None else np.concatenate([[weights.gamma_0], weights.gamma])
        return levels_of(measure), gammas

    def value(self, name):
        """Return the type of the values of a variable with this name."""
        return NestedLabels(name, self.depth, self.has_weights)

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return [dist_params[0], pt.constant(self.value(None).shape(0)[1])]

    def rng_fn(self, rng, n, *parameters_and_size):
        *parameters, size = parameters_and_size
        if size:
            raise NotImplementedError("batches of nested partitions are drawn by the numba backend only")
        return draw_value(rng, *self.numeric_prior(parameters), int(n))


def draw_value(rng, levels, gammas, n):
    """Forward draw of a value, with tables unless ``gammas`` is None."""
    return draw_paths(rng, levels, n) if gammas is None else draw_nested(rng, levels, gammas, n)


class NestedPartition(pm.Discrete):
    """Random tree of fixed depth over n items: a nested Chinese restaurant process, with mixing weights at its nodes.

    Every item has a path from the root to a leaf.  The items of a node are shared among its children as by the
    measure: with a :class:`DirichletProcess` this is the nested Chinese restaurant process.  With ``weights`` the nodes
    also have mixing weights over components that the whole tree shares, and every item draws its component from its
    leaf.

    The value is a matrix of labels, shape (n, depth), with the node of each item at levels 1 to ``depth``; with
    ``weights`` further columns follow, shape (n, 2 depth + 1): the tables of the item at levels ``depth`` to 0, of
    which the last one is its component.  Each column is numbered from 0 in order of appearance.  The model also
    gets the deterministic ``<name>_n_nodes``, shape (depth,), and with weights ``<name>_n_components``.

    Parameters
    ----------
    name : str
    measure : DirichletProcess or PitmanYorProcess
        Its hyperparameters are numbers, tensors or random variables, scalars or with one entry for each level, that of
        the root first.
    depth : int
        Number of levels below the root.
    weights : HierarchicalDirichletProcess, optional
        Mixing weights of the nodes, for a :class:`Mixture` whose components do not know where they are in the tree.
        Without weights a :class:`Mixture` needs a family of data that is made for trees.
    n : int or integer tensor, optional
        Number of items; needed unless ``dims`` is given.
    dims : str, optional
        Name of the dimension of the items.
    initval : array_like of int, shape (n, depth) or that of the value, optional
        Start of the sampler; any integer labels, which are renamed.  By default :class:`NestedGibbs` finds one.
    observed : array_like of int, as ``initval``, optional
        A known tree.

    Raises
    ------
    TypeError
        If ``measure`` or ``weights`` is something else.
    ValueError
        If ``depth`` is no whole number of at least 1, neither ``n`` nor ``dims`` tells the number of items, a
        hyperparameter has a wrong shape or is outside its range, or labels have a wrong shape or are not nested.

    Notes
    -----
    With weights, a table of level l is a customer in the parent of its node, as in the Chinese restaurant franchise of
    Teh, Jordan, Beal & Blei (2006); weights and components are integrated out.  The log-probability is that of paths
    and tables; it is minus infinity for labels that are not nested, or not in order of appearance, so that the
    probabilities of all values sum to one.

    With weights the tree is independent of the data given the components, since each item shows one component once
    and components do not depend on where they are in the tree: which components are near each other in the data says
    nothing about the tree.

    References
    ----------
    Blei, Griffiths & Jordan (2010), "The nested Chinese restaurant process and Bayesian nonparametric inference of
    topic hierarchies".  For the weights: Huang, Laitonjam, Piao & Hurley (2020), "Bayesian hierarchical mixture
    clustering using multilevel hierarchical Dirichlet processes".

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model(coords={"animal": ["cat", "dog", "bee"]}) as model:
    ...     alpha, gamma = pm.Gamma("alpha", 2, 2), pm.Gamma("gamma", 2, 2)
    ...     weights = nrm.HierarchicalDirichletProcess(gamma, gamma_0=1.0)
    ...     h = nrm.NestedPartition("h", nrm.DirichletProcess(alpha), depth=2, weights=weights, dims="animal")
    >>> pm.draw(h, random_seed=1).shape
    (3, 5)
    """

    rv_type = NestedPartitionRV

    def __new__(
        cls,
        name: str,
        measure: tuple[Any, ...],
        depth: int,
        weights: HierarchicalDirichletProcess | None = None,
        *,
        n: Any = None,
        dims: Any = None,
        initval: Any = None,
        observed: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        check_options("NestedPartition", kwargs)
        check_count(f"depth of NestedPartition {name!r}", depth, 1)
        dims = (dims,) if isinstance(dims, str) else dims
        if n is None and dims is None and observed is not None:
            n = len(observed)
        model = pm.modelcontext(None)
        n = number_of_items("NestedPartition", name, n, dims, model)
        value = NestedLabels(name, depth, weights is not None)
        initval = renamed(initval, n, f"initval of NestedPartition {name!r}", value)
        observed = renamed(observed, n, f"observed of NestedPartition {name!r}", value)
        if dims is not None:
            dims = (dims[0], f"{name}_column")
            model.add_coord(dims[1], value.columns)
        labels = super().__new__(
            cls, name, measure, depth, weights, n=n, dims=dims, initval=initval, observed=observed, **kwargs
        )
        pm.Deterministic(f"{name}_n_nodes", value.n_nodes(labels))
        if weights is not None:
            pm.Deterministic(f"{name}_n_components", value.n_components(labels))
        return labels

    @classmethod
    def dist(
        cls,
        measure: tuple[Any, ...],
        depth: int,
        weights: HierarchicalDirichletProcess | None = None,
        *,
        n: Any,
        shape: Any = None,
        rng: Any = None,
        return_next_rng: bool = False,
    ) -> Any:
        """Create labels outside a model, for example for ``pm.draw``; arguments as in :class:`NestedPartition`."""
        if not isinstance(measure, tuple) or lacking(type(measure), [levels_of]):
            raise TypeError(
                f"measure of a NestedPartition must be DirichletProcess(...) or PitmanYorProcess(...); got {measure!r}"
            )
        if weights is not None and not isinstance(weights, HierarchicalDirichletProcess):
            raise TypeError(
                f"weights of a NestedPartition must be HierarchicalDirichletProcess(...) or None; got {weights!r}"
            )
        check_count("depth of a NestedPartition", depth, 1)
        measure = broadcast_to_levels(measure, depth)
        fields = [*measure, *(() if weights is None else broadcast_to_levels(weights, depth))]
        n = pt.as_tensor(checked_count("n of a NestedPartition", n), dtype="int64")
        register_numba(NestedPartitionRV, _numba_draw)
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        op = NestedPartitionRV(type(measure), int(depth), weights is not None)
        next_rng, labels = op(n, *fields, rng=rng, return_next_rng=True)
        return (next_rng, labels) if return_next_rng else labels


@logprob.register(NestedPartitionRV)
def _nested_partition_logp(op, values, rng, size, n, *parameters, **kwargs):
    [labels] = values
    measure, weights = op.measure_and_weights(parameters)
    gammas = None if weights is None else concentrations_of(weights)
    value, levels = op.value("labels"), symbolic_levels_of(measure)
    log_probability = with_conditions(symbolic_log_nested_prior(value, levels, gammas, labels, n), measure)
    return log_probability if weights is None else with_conditions(log_probability, weights)


@support_point.register(NestedPartitionRV)
def _nested_partition_support_point(op, rv, *inputs):
    return DefaultStart()(pt.zeros_like(rv))


def _numba_draw(op):
    fields = op.measure_class._fields
    environment = {"measure": op.measure_class, "levels_of": levels_of}
    if op.has_weights:
        environment |= {"draw_labels": draw_nested, "concatenate": np.concatenate, "array": np.array}
        names, gammas = [*fields, "gamma", "gamma_0"], "concatenate((array([float(gamma_0)]), gamma)), "
    else:
        environment["draw_labels"] = draw_paths
        names, gammas = fields, ""
    source = (
        f"def draw(rng, n, {', '.join(names)}):\n"
        f"    return draw_labels(rng, levels_of(measure({', '.join(fields)})), {gammas}n)\n"
    )
    return source, environment, op.measure_class
