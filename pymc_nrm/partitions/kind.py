"""What depends on the kind of a partition, and nothing else does: one class per kind, which the package asks.

The random variable carries its kind, and ``kind_of(variable)`` of ``pymc_nrm.models.rvs`` finds it, bound to the name
of the variable.  A kind owns five things:

- the *value*: its shape, its canonical form, and how kernels read and write it at a point;
- the *law*: what kernels read of the prior, the symbolic log density, forward draws, and where chains start by default;
- what *one more item* may do: how the measure counts clusters, and what a place implies;
- *results*: statistics, marks, and columns that are flat partitions in their own right;
- what *suits*: steps list the kinds that they sample, and families are for clusters or for the leaves of trees.
"""

import copy
from typing import Any, ClassVar

import numpy as np
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

from pymc_nrm.common.marks import NAME


class Kind:
    """Base of all kinds, with the defaults of most.

    A kind is part of a random variable: two are equal if their ``key`` is, which hash and pickle without the variable.
    """

    # Name of the kind for users, and in the graph.
    title: ClassVar[str] = "Partition"
    rv_name: ClassVar[str] = "partition"
    # What messages call it, after its title, where they tell it from other kinds, and who samples it.
    description: ClassVar[str] = ""
    sampled_by: ClassVar[str] = ""
    # Shape of a value and of a hyperparameter of the measure, as in signatures of PyTensor.
    value_core: ClassVar[str] = "(n)"
    field_core: ClassVar[str] = "()"
    # What the law needs besides the measure: NamedTuples whose fields are further inputs, with their core shapes.
    further_priors: ClassVar[dict[type, tuple[str, ...]]] = {}
    # Number of slots of labels that index parameters.
    max_clusters: int | None = None
    # Number of levels of a tree below its root.
    depth: int | None = None
    # Whether data belong to the leaves of a tree, and not to clusters that know nothing of each other.
    takes_trees: ClassVar[bool] = False
    # Why nothing but mixtures may use the labels; None if everything may.
    only_mixtures: ClassVar[str | None] = None
    # Column of a progress bar: a statistic of every step, and its title.
    progress: ClassVar[tuple[str, str]] = ("n_clusters", "Clusters")
    # Columns of the value that are flat partitions in their own right: the end of their name, and their place.
    flat_columns: ClassVar[dict[str, int]] = {}
    # Number of items, and the argument that tells it, if the kind knows.
    n_items: int | None = None
    argument: ClassVar[str | None] = None
    # Name of the variable; see `kind_of`.
    name: str | None = None

    def __init__(self, *key):
        self.key = key

    def __eq__(self, other):
        return type(self) is type(other) and self.key == other.key

    def __hash__(self):
        return hash((type(self), self.key))

    def __repr__(self):
        return type(self).__name__

    def named(self, name):
        """Return this kind for the variable of a name, whose values it reads and writes at points."""
        bound = copy.copy(self)
        bound.name = name
        return bound

    # The value

    def shape(self, n):
        """Shape of the value of n items."""
        raise NotImplementedError

    def coords(self):
        """Dimensions of the value after that of the items: the end of their names, and coordinates."""
        return {}

    def read(self, point):
        """Return a copy of the value at a point as kernels read it; that of a start may not be canonical."""
        raise NotImplementedError

    def write(self, point, state):
        """Return a copy of the point with another value, from what kernels return."""
        raise NotImplementedError

    def of_items(self, labels):
        """Return the labels of all items, from labels as kernels read them."""
        return labels

    def kernel_parts(self, family, data):
        """Return family and data of all mixtures for the kernels of steps, from those of the items."""
        return family, data

    def with_weights(self, family, weights):
        """Return family and weights given u for the kernels of steps, from those of :meth:`kernel_parts` and items."""
        return family, weights

    def renamed(self, labels, n, argument):
        """Bring labels from a user to canonical form, and check them."""
        raise NotImplementedError

    # The law

    def kernel_prior(self, priors):
        """Return the law as kernels of steps read it, from measure and further priors with numbers in their fields."""
        return priors[0]

    def log_density(self, priors, labels, n):
        """Symbolic log probability of a value: minus infinity if it is not canonical."""
        raise NotImplementedError

    @staticmethod
    def draw(rng, n, *priors):
        """Forward draw of a value: a kernel."""
        raise NotImplementedError

    def further_fields(self):
        """Fields of the further priors that the kind itself tells, as tensors."""
        return []

    # What kernels that draw read after the priors.
    draw_options: tuple[Any, ...] = ()
    # Message if a forward draw has failed, which then begins with -1; None for draws that never fail.
    failed_draw: str | None = None

    def default_start(self, zeros, priors):
        """Symbolic value where chains start by default, given zeros in the shape of the value."""
        return zeros

    # One more item

    def counts(self, labels):
        """Sizes of the clusters of canonical labels of all items, as the measure counts them."""
        return np.bincount(labels).astype(np.int64)

    def log_join_others(self, labels, join):
        """Log probabilities that each item, left out, joins the clusters of the others, from those of the measure."""
        return join

    # Results

    def deterministics(self, labels):
        """Deterministics of a model, by the ends of their names, given the symbolic value."""
        raise NotImplementedError

    def marks(self):
        """Attributes by which results know draws of this kind."""
        return {NAME: self.name}

    def random_columns(self):
        """Places of labels that vary in an array of draws, by the name of their column, which may be empty."""
        return {"": ...}

    # Mixtures

    def cluster_labels(self, labels):
        """Labels of the clusters to which data belong, from a value, or the value if data belong to a tree."""
        return labels

    def symbolic_indices(self, labels, n):
        """Make cluster labels in a graph indices from 0 to the number of clusters - 1, and say whether they were valid.

        Neither kernels nor graphs check bounds, and samplers that know nothing of partitions may propose any numbers.
        """
        raise NotImplementedError


class MarkedStart(Op):
    """Copy a start to the dtype ``marked``, whose metadata copies and processes keep."""

    def make_node(self, value):
        return Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        copied = np.empty(inputs[0].shape, dtype=self.marked)
        copied[...] = inputs[0]
        output_storage[0][0] = copied

    def do_constant_folding(self, fgraph, node):
        # Constants have no metadata, and PyTensor merges equal ones: the user may give the same labels.
        return False
