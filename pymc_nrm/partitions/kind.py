"""Everything that depends on the kind of a partition: one class per kind.

The random variable carries its kind, and ``kind_of(variable)`` of ``pymc_nrm.models.rvs`` finds it, bound to the name
of the variable.  A kind owns five things:

- the *value*: its shape, its canonical form, and how kernels read and write it at a point;
- the *distribution*: the prior in the form of kernels, the symbolic log density, forward draws, and the default initial
  point;
- *one more item*: how the measure counts clusters, and what a place implies;
- *results*: statistics, marks, and columns that are flat partitions themselves;
- *compatibility*: steps list the kinds that they sample, and families are for clusters or for the leaves of trees.
"""

import copy
from typing import Any, ClassVar

import numpy as np
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

from pymc_nrm.common.marks import NAME


class Kind:
    """Base of all kinds, with the most common defaults.

    A kind is part of a random variable: two are equal if their ``key`` is, which hash and pickle without the variable.
    """

    # Name of the kind for users, and in graphs.
    title: ClassVar[str] = "Partition"
    # Description in messages, after the title, where it distinguishes kinds; and the step that samples the kind.
    description: ClassVar[str] = ""
    sampled_by: ClassVar[str] = ""
    # Shape of a value and of a hyperparameter of the measure, as in signatures of PyTensor.
    value_core: ClassVar[str] = "(n)"
    field_core: ClassVar[str] = "()"
    # Parameters besides the measure: NamedTuples whose fields are further inputs, with their core shapes.
    further_priors: ClassVar[dict[type, tuple[str, ...]]] = {}
    # Number of slots of labels that index parameters.
    max_clusters: int | None = None
    # Number of levels of a tree below its root.
    depth: int | None = None
    # Whether data belong to the leaves of a tree instead of clusters that are independent of each other.
    takes_trees: ClassVar[bool] = False
    # Functions of families of such data: `draw_data`, `symbolic_log_likelihood` and `broadcast_hyperparameters`.
    tree_law: ClassVar[Any] = None
    # Why only mixtures may use the labels; None if other variables may use them.
    only_mixtures: ClassVar[str | None] = None
    # Whether neighbours of an item determine its label as well as its data do.
    has_neighbours: ClassVar[bool] = False
    # Why components are not fused unless a user asks for it, in a few words; None if they may be.
    why_not_fused: ClassVar[str | None] = None
    # Whether a LearnedGibbs takes the hyperparameters that it can draw before a NUTS of this package takes the others.
    learned_before_nuts: ClassVar[bool] = False
    # Column of a progress bar: a statistic of every step, and its title.
    progress: ClassVar[tuple[str, str]] = ("n_clusters", "Clusters")
    # Columns of the value that are flat partitions themselves: the end of their name, and their position.
    flat_columns: ClassVar[dict[str, int]] = {}
    # Number of items, and the argument that determines it, if the kind has a fixed number.
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
        """Dimensions of the value after the dimension of the items: the end of their names, and coordinates."""
        return {}

    def read(self, point):
        """Return a copy of the value at a point as kernels read it; an initial value may not be canonical."""
        raise NotImplementedError

    def write(self, point, state):
        """Return a copy of the point with a new value, from the state that kernels return."""
        raise NotImplementedError

    def of_items(self, labels):
        """Return the labels of all items, from labels as kernels read them."""
        return labels

    def kernel_parts(self, family, data):
        """Return family and data of all mixtures for the kernels of steps, from the family and data of the items."""
        return family, data

    def with_weights(self, family, weights):
        """Return family and weights given u for the kernels of steps, from :meth:`kernel_parts` and item weights."""
        return family, weights

    def renamed(self, labels, n, argument):
        """Check labels from a user and return them in canonical form."""
        raise NotImplementedError

    # Distribution

    def kernel_prior(self, priors):
        """Return the prior as kernels of steps read it, from measure and further priors with numeric fields."""
        return priors[0]

    def log_density(self, priors, labels, n):
        """Symbolic log probability of a value: minus infinity if it is not canonical."""
        raise NotImplementedError

    @staticmethod
    def draw(rng, n, *priors):
        """Draw a value forward: a kernel."""
        raise NotImplementedError

    def further_fields(self, n):
        """Fields of the further priors that the kind itself determines, as tensors, given the number of items."""
        return []

    # Further arguments of kernels that draw, after the priors.
    draw_options: tuple[Any, ...] = ()
    # Why there are no forward draws; None if there are.
    no_draws: ClassVar[str | None] = None
    # Message for a failed forward draw, which then begins with -1; None for draws that never fail.
    failed_draw: str | None = None

    def default_start(self, zeros, priors):
        """Symbolic default initial value, given zeros in the shape of the value."""
        return zeros

    # One more item

    def counts(self, labels):
        """Sizes of the clusters of canonical labels of all items, as the measure counts them."""
        return np.bincount(labels).astype(np.int64)

    def log_join_others(self, labels, join):
        """Log probabilities that each item, left out, joins the clusters of the others, from the measure's."""
        return join

    # Results

    def deterministics(self, labels):
        """Deterministics of a model, keyed by the ends of their names, given the symbolic value."""
        raise NotImplementedError

    def marks(self):
        """Attributes that identify draws of this kind in results."""
        return {NAME: self.name}

    def random_columns(self):
        """Positions of labels that vary in an array of draws, keyed by the name of their column, which may be empty."""
        return {"": ...}

    # Mixtures

    def cluster_labels(self, labels):
        """Labels of the clusters to which data belong, from a value; the value itself if data belong to a tree."""
        return labels

    def symbolic_indices(self, labels, n):
        """Make cluster labels in a graph indices from 0 to the number of clusters - 1, and return if they were valid.

        Neither kernels nor graphs check bounds, and generic samplers may propose any numbers.
        """
        raise NotImplementedError

    # What :meth:`cluster_labels` must be, in messages, and the kernel that tests it, with its further arguments.
    words_of_labels: str
    test_of_labels: tuple[Any, ...]

    def symbolic_test(self, labels):
        """Whether :meth:`cluster_labels` in a graph, which no variable of this kind computes, are valid."""
        raise NotImplementedError


class MarkedStart(Op):
    """Copy an initial value to the dtype ``marked``, whose metadata copies and processes keep."""

    def make_node(self, value):
        return Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        copied = np.empty(inputs[0].shape, dtype=self.marked)
        copied[...] = inputs[0]
        output_storage[0][0] = copied

    def do_constant_folding(self, fgraph, node):
        # Constants have no metadata, and PyTensor merges equal constants: the user may pass the same labels.
        return False
