"""The random nested partition, a tree of fixed depth over the items, as a PyMC random variable."""

from typing import Any

import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.prediction_rules import levels_of
from pymc_nrm.models.partition import (
    PartitionRV,
    add_deterministics,
    check_options,
    items_and_labels,
    measure_in_model,
)
from pymc_nrm.nested.partitions.nested import KnownTree, Nested, WeightedNested
from pymc_nrm.nested.partitions.nested_levels import HierarchicalDirichletProcess, KnownPaths, broadcast_to_levels


class NestedPartition(pm.Discrete):
    """Tree of fixed depth over n items, random or known, with mixing weights at its nodes.

    Every item has a path from the root to a leaf.  The measure divides the items of a node among its children: with a
    :class:`DirichletProcess` this is the nested Chinese restaurant process.  With ``weights`` the nodes also have
    mixing weights over components that the whole tree shares, and every item draws its component from its leaf.  With
    ``weights`` and ``paths`` the tree is known: this is the hierarchical Dirichlet process over groups of items, such
    as patients in hospitals, or over groups within groups.

    The value is a matrix of labels, shape (n, depth), with the node of each item at levels 1 to ``depth``.  With
    ``weights`` the shape is (n, 2 depth + 1), and the further columns are the tables of the item at levels ``depth`` to
    0; the last table is its component.  Each column is numbered from 0 in order of appearance.  The model also gets
    the deterministic ``<name>_n_nodes``, shape (depth,), and with weights ``<name>_n_components``.

    Parameters
    ----------
    name : str
    measure : DirichletProcess or PitmanYorProcess, optional
        Prior of a random tree.  Its hyperparameters are numbers, tensors or random variables, scalars or with one entry
        for each level, starting from the root.
    depth : int, optional
        Number of levels of a random tree below the root.
    weights : HierarchicalDirichletProcess, optional
        Mixing weights of the nodes, for a :class:`Mixture` whose components do not depend on their position in the
        tree.  Without weights a :class:`Mixture` needs a tree family.
    paths : array_like of int or str, shape (n,) or (n, depth), optional
        The groups of the items, instead of ``measure`` and ``depth``: one column for each level, level 1 first.
        Labels of groups with different parents may be equal.
    n : int or integer tensor, optional
        Number of items; required unless ``dims`` or ``paths`` is given.
    dims : str, optional
        Name of the dimension of the items.
    initval : array_like of int, shape (n, depth) or the shape of the value, optional
        Initial point; any integer labels, which are renamed.  By default :class:`NestedGibbs` finds one.
    observed : array_like of int, as ``initval``, optional
        A known tree with known tables; if only the tree is known, use ``paths``.

    Raises
    ------
    TypeError
        If ``measure`` or ``weights`` has a wrong type, or ``paths`` has labels other than whole numbers and strings.
    ValueError
        If both ``paths`` and ``measure`` or ``depth`` are given, ``paths`` lack labels or have no weights, ``depth``
        is not a whole number of at least 1, neither ``n``, ``dims`` nor ``paths`` determines the number of items or
        they disagree, a hyperparameter has a wrong shape or is out of range, or labels have a wrong shape or are not
        nested.

    Notes
    -----
    With weights, a table of level l is a customer in the parent of its node, as in the Chinese restaurant franchise of
    Teh, Jordan, Beal & Blei (2006); weights and components are integrated out.  The value has the joint log-probability
    of paths and tables.  It is minus infinity for labels that are not nested, or not in order of appearance, so that
    the probabilities of all values sum to one.  With known ``paths`` it is the log-probability of the tables given the
    paths, and minus infinity for other paths.  Values keep their columns of paths, so that functions of trees read
    them.

    With weights a random tree is independent of the data given the components, since each item has one component and
    components do not depend on their position in the tree.  Similar components are therefore no evidence of nearby
    positions in the tree.

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
    ...     weights = nrm.nested.HierarchicalDirichletProcess(gamma, gamma_0=1.0)
    ...     h = nrm.nested.NestedPartition("h", nrm.DirichletProcess(alpha), depth=2, weights=weights, dims="animal")
    >>> pm.draw(h, random_seed=1).shape
    (3, 5)

    Known groups:

    >>> with pm.Model():
    ...     weights = nrm.nested.HierarchicalDirichletProcess(gamma=1.0, gamma_0=2.0)
    ...     g = nrm.nested.NestedPartition("g", weights=weights, paths=["north", "south", "north"])
    >>> pm.draw(g, random_seed=1)[:, 0].tolist()
    [0, 1, 0]
    """

    rv_type = PartitionRV

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
        kind = _kind(title, measure, depth, weights, paths)
        measure = measure_in_model(measure)
        n, starts = items_and_labels(kind, name, n, dims, model, initval=initval, observed=observed)
        if dims is not None:
            coords = {f"{name}_{ending}": values for ending, values in kind.coords().items()}
            model.add_coords(coords)
            dims = (dims[0], *coords)
        options = {"paths": paths, "n": n, "dims": dims, **starts}
        labels = super().__new__(cls, name, measure, depth, weights, **options, **kwargs)
        add_deterministics(name, kind, labels)
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
        kind = _kind("a NestedPartition", measure, depth, weights, paths)
        if paths is not None:
            measure = KnownPaths(pt.constant(kind.known_paths))
        elif not isinstance(measure, tuple) or lacking(type(measure), [levels_of]):
            raise TypeError(
                f"measure of a NestedPartition must be DirichletProcess(...) or PitmanYorProcess(...); got {measure!r}"
            )
        else:
            measure = broadcast_to_levels(measure, kind.depth)
        fields = [*measure, *(() if weights is None else broadcast_to_levels(weights, kind.depth))]
        return PartitionRV.make(type(measure), n, kind, fields, rng, return_next_rng)


def _kind(title, measure, depth, weights, paths):
    """The kind of a nested partition, after checking that its arguments fit together."""
    if paths is None:
        return (Nested if weights is None else WeightedNested)(depth, f"depth of {title}")
    for argument, value in {"measure": measure, "depth": depth}.items():
        if value is not None:
            raise ValueError(f"{argument} of {title} must be omitted if paths define the tree; got {value!r}")
    if weights is None:
        raise ValueError(
            f"weights of {title} must be HierarchicalDirichletProcess(...) with known paths, since nothing else would "
            "be random; got None"
        )
    return KnownTree(paths, f"paths of {title}")
