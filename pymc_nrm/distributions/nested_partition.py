"""The random nested partition, a tree of fixed depth over the items, as a PyMC random variable."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.pymc_internals import logprob, support_point
from pymc_nrm.distributions.conditions import with_conditions
from pymc_nrm.distributions.constants import constant_value
from pymc_nrm.distributions.item_counts import checked_count, count_value
from pymc_nrm.distributions.numba_dispatch import register_numba
from pymc_nrm.distributions.own_step import of_own_step
from pymc_nrm.distributions.partition import check_options, measure_in_model, number_of_items, renamed
from pymc_nrm.distributions.printing import printed_names
from pymc_nrm.distributions.start import DefaultStart
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.nested.forward import draw_nested, draw_paths
from pymc_nrm.nested.known_paths import KnownPaths, canonical_paths
from pymc_nrm.nested.labels import NestedLabels
from pymc_nrm.nested.levels import broadcast_to_levels, levels_of, symbolic_levels_of
from pymc_nrm.nested.prior import symbolic_log_nested_prior
from pymc_nrm.nested.weights import HierarchicalDirichletProcess, concentrations_of

# Each level has a column of labels, and hyperparameters of its own.
_MOST_LEVELS = 100


class NestedPartitionRV(RandomVariable):
    """Labels of a nested partition; its inputs are the number of items and the parameters of measure and weights.

    Known paths are a measure with the paths as its parameter.  ``nodes`` are then the labels that the user gave.
    """

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "measure_class", "depth", "has_weights")
    # Number of slots of a partition whose labels index parameters.
    max_clusters = None
    nodes = None

    def __init__(self, measure_class, depth, has_weights, **kwargs):
        self.measure_class, self.depth, self.has_weights = measure_class, depth, has_weights
        kwargs["name"], self._print_name = printed_names("nested_partition", measure_class)
        fields = ["(n,l)"] if self.has_known_paths else ["(l)"] * len(measure_class._fields)
        fields += ["(l)", "()"] * has_weights
        kwargs["signature"] = ",".join(["()", *fields]) + "->(n,m)"
        super().__init__(**kwargs)

    @property
    def has_known_paths(self):
        """Whether the tree is known."""
        return self.measure_class is KnownPaths

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
        """Return levels and, with weights, concentrations as kernels read them, from values of :meth:`prior_inputs`."""
        arrays = [np.asarray(value) for value in values]
        types = ["int64" if array.dtype.kind == "i" else "float64" for array in arrays]
        measure, weights = self.measure_and_weights(
            [np.array(array, dtype=dtype, order="C") for array, dtype in zip(arrays, types, strict=True)]
        )
        gammas = None if weights is None else np.concatenate([[weights.gamma_0], weights.gamma])
        return levels_of(measure), gammas

    def value(self, name, node=None):
        """Return the type of the values of a variable with this name; its node tells the paths, if they are known."""
        known = self.has_known_paths and node is not None
        paths = constant_value(self.prior_inputs(node)[0]) if known else None
        return NestedLabels(name, self.depth, self.has_weights, paths)

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
    """Tree of fixed depth over n items, random or known, with mixing weights at its nodes.

    Every item has a path from the root to a leaf.  The items of a node are shared among its children as by the
    measure: with a :class:`DirichletProcess` this is the nested Chinese restaurant process.  With ``weights`` the nodes
    also have mixing weights over components that the whole tree shares, and every item draws its component from its
    leaf.  With ``weights`` and ``paths`` the tree is known: this is the hierarchical Dirichlet process over groups
    of items, such as patients in hospitals, or over groups within groups.

    The value is a matrix of labels, shape (n, depth), with the node of each item at levels 1 to ``depth``; with
    ``weights`` further columns follow, shape (n, 2 depth + 1): the tables of the item at levels ``depth`` to 0, of
    which the last one is its component.  Each column is numbered from 0 in order of appearance.  The model also
    gets the deterministic ``<name>_n_nodes``, shape (depth,), and with weights ``<name>_n_components``.

    Parameters
    ----------
    name : str
    measure : DirichletProcess or PitmanYorProcess, optional
        Law of a random tree.  Its hyperparameters are numbers, tensors or random variables, scalars or with one entry
        for each level, that of the root first.
    depth : int, optional
        Number of levels of a random tree below the root.
    weights : HierarchicalDirichletProcess, optional
        Mixing weights of the nodes, for a :class:`Mixture` whose components do not know where they are in the tree.
        Without weights a :class:`Mixture` needs a family of data that is made for trees.
    paths : array_like of int or str, shape (n,) or (n, depth), optional
        The groups of the items, in the place of ``measure`` and ``depth``: one column for each level, level 1 first.
        Labels of groups with different parents may be equal.
    n : int or integer tensor, optional
        Number of items; needed unless ``dims`` or ``paths`` is given.
    dims : str, optional
        Name of the dimension of the items.
    initval : array_like of int, shape (n, depth) or that of the value, optional
        Start of the sampler; any integer labels, which are renamed.  By default :class:`NestedGibbs` finds one.
    observed : array_like of int, as ``initval``, optional
        A known tree with known tables; where only the tree is known, give ``paths``.

    Raises
    ------
    TypeError
        If ``measure`` or ``weights`` is something else, or ``paths`` has labels other than whole numbers and strings.
    ValueError
        If both ``paths`` and ``measure`` or ``depth`` are given, ``paths`` lack labels or have no weights, ``depth``
        is no whole number of at least 1, neither ``n``, ``dims`` nor ``paths`` tells the number of items or they
        disagree, a hyperparameter has a wrong shape or is outside its range, or labels have a wrong shape or are not
        nested.

    Notes
    -----
    With weights, a table of level l is a customer in the parent of its node, as in the Chinese restaurant franchise of
    Teh, Jordan, Beal & Blei (2006); weights and components are integrated out.  The log-probability is that of paths
    and tables; it is minus infinity for labels that are not nested, or not in order of appearance, so that the
    probabilities of all values sum to one.  With known ``paths`` it is that of the tables given the paths, and minus
    infinity for other paths.  Values keep their columns of paths, so that everything that reads trees works.

    With weights a random tree is independent of the data given the components, since each item shows one component once
    and components do not depend on where they are in the tree: which components are near each other in the data says
    nothing about the tree.

    References
    ----------
    Blei, Griffiths & Jordan (2010), "The nested Chinese restaurant process and Bayesian nonparametric inference of
    topic hierarchies".  For weights over known groups: Teh, Jordan, Beal & Blei (2006), "Hierarchical Dirichlet
    processes"; over a random tree: Huang, Laitonjam, Piao & Hurley (2020), "Bayesian hierarchical mixture clustering
    using multilevel hierarchical Dirichlet processes".

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

    Known groups:

    >>> with pm.Model():
    ...     weights = nrm.HierarchicalDirichletProcess(gamma=1.0, gamma_0=2.0)
    ...     g = nrm.NestedPartition("g", weights=weights, paths=["north", "south", "north"])
    >>> pm.draw(g, random_seed=1)[:, 0].tolist()
    [0, 1, 0]
    """

    rv_type = NestedPartitionRV

    def __new__(
        cls,
        name: str,
        measure: tuple[Any, ...] | None = None,
        depth: int | None = None,
        weights: HierarchicalDirichletProcess | None = None,
        *,
        paths: Any = None,
        n: Any = None,
        dims: Any = None,
        initval: Any = None,
        observed: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        check_options("NestedPartition", kwargs)
        title = f"NestedPartition {name!r}"
        dims = (dims,) if isinstance(dims, str) else dims
        model = pm.modelcontext(None)
        known = None
        if paths is None:
            check_count(f"depth of {title}", depth, 1, _MOST_LEVELS)
            measure = measure_in_model(measure)
        else:
            known, _ = _known_paths(title, paths, measure, depth, weights)
        given = observed if known is None else known
        if n is None and given is not None and (dims is None or (known is not None and dims[0] not in model.coords)):
            n = len(given)
        n = number_of_items("NestedPartition", name, n, dims, model)
        value = NestedLabels(name, depth if known is None else known.shape[1], weights is not None, known)
        if known is not None:
            _check_number(title, known, n)
        initval = renamed(initval, n, f"initval of {title}", value)
        observed = renamed(observed, n, f"observed of {title}", value)
        if dims is not None:
            dims = (dims[0], f"{name}_column")
            model.add_coord(dims[1], value.columns)
        labels = super().__new__(
            cls,
            name,
            measure,
            depth,
            weights,
            paths=paths,
            n=n,
            dims=dims,
            initval=initval,
            observed=observed,
            **kwargs,
        )
        pm.Deterministic(f"{name}_n_nodes", value.n_nodes(labels))
        if weights is not None:
            pm.Deterministic(f"{name}_n_components", value.n_components(labels))
        return labels

    @classmethod
    def dist(
        cls,
        measure: tuple[Any, ...] | None = None,
        depth: int | None = None,
        weights: HierarchicalDirichletProcess | None = None,
        *,
        paths: Any = None,
        n: Any = None,
        shape: Any = None,
        rng: Any = None,
        return_next_rng: bool = False,
    ) -> Any:
        """Create labels outside a model, for example for ``pm.draw``; arguments as in :class:`NestedPartition`."""
        if weights is not None and not isinstance(weights, HierarchicalDirichletProcess):
            raise TypeError(
                f"weights of a NestedPartition must be HierarchicalDirichletProcess(...) or None; got {weights!r}"
            )
        nodes = None
        if paths is not None:
            known, nodes = _known_paths("a NestedPartition", paths, measure, depth, weights)
            _check_number("a NestedPartition", known, n)
            n, depth = known.shape
            measure = KnownPaths(pt.constant(known))
        else:
            if not isinstance(measure, tuple) or lacking(type(measure), [levels_of]):
                raise TypeError(
                    "measure of a NestedPartition must be DirichletProcess(...) or PitmanYorProcess(...); got "
                    f"{measure!r}"
                )
            check_count("depth of a NestedPartition", depth, 1)
            measure = broadcast_to_levels(measure, depth)
        fields = [*measure, *(() if weights is None else broadcast_to_levels(weights, depth))]
        n = pt.as_tensor(checked_count("n of a NestedPartition", n), dtype="int64")
        register_numba(NestedPartitionRV, _numba_draw)
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        op = NestedPartitionRV(type(measure), int(depth), weights is not None)
        op.nodes = nodes
        next_rng, labels = op(n, *fields, rng=rng, return_next_rng=True)
        return (next_rng, labels) if return_next_rng else labels


def _known_paths(title, paths, measure, depth, weights):
    """Known paths and their nodes, after a check that nothing else says what the tree is and that there are weights."""
    for argument, value in {"measure": measure, "depth": depth}.items():
        if value is not None:
            raise ValueError(f"{argument} of {title} must be left out where paths say what the tree is; got {value!r}")
    if weights is None:
        raise ValueError(
            f"weights of {title} must be HierarchicalDirichletProcess(...) with known paths, since nothing else is "
            "random; got None"
        )
    return canonical_paths(f"paths of {title}", paths)


def _check_number(title, paths, n):
    if n is not None and count_value(n) != len(paths):
        raise ValueError(
            f"paths of {title} must have one row for each of the {count_value(n)} items; got {len(paths)} rows"
        )


@logprob.register(NestedPartitionRV)
def _nested_partition_logp(op, values, rng, size, n, *parameters, **kwargs):
    [labels] = values
    measure, weights = op.measure_and_weights(parameters)
    gammas = None if weights is None else concentrations_of(weights)
    value, levels = op.value("labels"), symbolic_levels_of(measure)
    log_probability = symbolic_log_nested_prior(value, levels, gammas, of_own_step(labels), n)
    if not op.has_known_paths:
        log_probability = with_conditions(log_probability, measure)
    return log_probability if weights is None else with_conditions(log_probability, weights)


@support_point.register(NestedPartitionRV)
def _nested_partition_support_point(op, rv, *inputs):
    if not op.has_known_paths:
        return DefaultStart()(pt.zeros_like(rv))
    # Every node has one table, and there is one component.
    [paths], _ = op.measure_and_weights(op.dist_params(rv.owner)[1:])
    return DefaultStart()(pt.concatenate([paths, paths[:, ::-1], pt.zeros_like(paths[:, :1])], axis=1))


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
