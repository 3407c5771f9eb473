"""Rooted trees over items whose nodes are sets of items."""

import dataclasses
import functools
import json
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count
from pymc_nrm.stats.contingency import as_labels


@dataclasses.dataclass(frozen=True, eq=False)
class ItemTree:
    """A rooted tree over n items, whose nodes are different sets of items.

    It is the result of :func:`~pymc_nrm.nested.consensus_tree`, :func:`~pymc_nrm.nested.nested_point_estimate` and
    :func:`~pymc_nrm.nested.maximum_clade_credibility`.  Make trees of your own with :meth:`from_levels` and
    :meth:`from_linkage`.

    Nodes are numbered 0, 1, ..., m - 1.  Node 0 is the root, parents come before their children, and siblings are in
    order of their first items.  Nodes of the same items at several levels are one node.

    Parameters
    ----------
    parent : ndarray of int64, shape (m,)
        Parent of each node, -1 for the root.
    level : ndarray of int64, shape (m,)
        Level of each node, 0 for the root; of several levels the first one.
    node_of_item : ndarray of int64, shape (n,)
        The smallest node that holds the item.
    probability : ndarray, shape (m,)
        Posterior probability that the items of a node are a node, at whatever level; NaN if it is not known.
    names : ndarray, shape (n,)
        Names of the items.
    information : dict
        What the function that made the tree says about it.

    Examples
    --------
    >>> tree = ItemTree.from_levels([[0, 0, 0, 1], [0, 0, 1, 2]], names=["cat", "dog", "trout", "ant"])
    >>> print(tree)
    4 items
    ├── 3 items
    │   ├── cat, dog
    │   └── trout
    └── ant
    >>> tree.children(0).tolist(), tree.items(1).tolist(), tree.path("dog").tolist()
    ([1, 4], ['cat', 'dog', 'trout'], [0, 1, 2])
    >>> tree.labels(1).tolist(), tree.size.tolist()
    ([0, 0, 0, 1], [4, 3, 2, 1, 1])
    """

    parent: Any
    level: Any
    node_of_item: Any
    probability: Any
    names: Any
    information: dict = dataclasses.field(default_factory=dict)

    @classmethod
    def from_levels(cls, labels: Any, names: Any = None) -> "ItemTree":
        """Tree of nested partitions, as a taxonomy has them.

        Parameters
        ----------
        labels : array_like of int, shape (L, n)
            Labels of the items at each level, the coarsest first.
        names : sequence, shape (n,), optional
            Names of the items; by default 0, 1, ....

        Returns
        -------
        ItemTree

        Raises
        ------
        ValueError
            If the labels are not nested, or the numbers of labels and names differ.

        Examples
        --------
        >>> ItemTree.from_levels([[0, 0, 1], [0, 1, 2]]).parent.tolist()
        [-1, 0, 1, 1, 0]
        """
        rows = np.asarray(labels)
        if rows.ndim != 2:
            raise ValueError(f"labels must have shape (L, n); got shape {rows.shape}")
        rows = as_labels("labels", rows)
        sets, first = [np.arange(rows.shape[1])], [0]
        for level, row in enumerate(rows, start=1):
            above = rows[level - 2] if level > 1 else np.zeros_like(row)
            for label in range(int(row.max()) + 1):
                members = np.flatnonzero(row == label)
                if (above[members] != above[members[0]]).any():
                    raise ValueError(
                        f"labels must be nested: label {np.asarray(labels)[level - 1][members[0]]} of row {level - 1} "
                        f"is in several clusters of row {level - 2}"
                    )
                if len(members) < (above == above[members[0]]).sum():
                    sets.append(members)
                    first.append(level)
        return make_tree(sets, np.full(len(sets), np.nan), names, rows.shape[1], first)

    @classmethod
    def from_linkage(cls, linkage: Any, names: Any = None) -> "ItemTree":
        """Tree of a linkage matrix of :mod:`scipy.cluster.hierarchy`; merges at equal heights remain apart.

        Parameters
        ----------
        linkage : array_like, shape (n - 1, 4)
        names : sequence, shape (n,), optional
            Names of the items; by default 0, 1, ....

        Returns
        -------
        ItemTree
            Binary; levels count the merges from the root.  Items by themselves are not nodes.

        Raises
        ------
        ValueError
            If the shape is another one, or the number of names differs.

        Examples
        --------
        >>> from scipy.cluster.hierarchy import average
        >>> ItemTree.from_linkage(average([1.0, 5.0, 6.0])).items(1).tolist()
        [0, 1]
        """
        matrix = np.asarray(linkage, dtype="float64")
        if matrix.ndim != 2 or matrix.shape[1] != 4 or len(matrix) == 0:
            raise ValueError(f"linkage must have shape (n - 1, 4); got shape {matrix.shape}")
        n = len(matrix) + 1
        members = [np.array([i]) for i in range(n)]
        for a, b in matrix[:, :2].astype("int64"):
            members.append(np.concatenate([members[a], members[b]]))
        return make_tree([np.sort(some) for some in members[n:]], np.full(n - 1, np.nan), names, n)

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> "ItemTree":
        """Tree that :meth:`to_dataset` has put into a Dataset, as it is or read from a file.

        Parameters
        ----------
        dataset : Dataset

        Returns
        -------
        ItemTree

        Raises
        ------
        TypeError
            If it is not a Dataset.
        ValueError
            If a variable is missing.

        Examples
        --------
        >>> tree = ItemTree.from_levels([[0, 0, 1]], names=["cat", "dog", "ant"])
        >>> ItemTree.from_dataset(tree.to_dataset()).items(1).tolist()
        ['cat', 'dog']
        """
        if not isinstance(dataset, xr.Dataset):
            raise TypeError(f"dataset must be a Dataset; got {type(dataset).__name__}")
        wanted = ("parent", "level", "probability", "node_of_item", "item")
        lacking = [name for name in wanted if name not in dataset.variables]
        if lacking:
            raise ValueError(f"dataset must have the variables of ItemTree.to_dataset; it has no {', '.join(lacking)}")
        parent, level, probability, node_of_item, _ = (dataset[name].to_numpy() for name in wanted)
        names = dataset["item"].to_numpy()
        if names.dtype == object:
            # So strings come out of files.
            names = np.array(names.tolist())
        information = json.loads(dataset.attrs.get("information", "{}"))
        return cls(parent, level, node_of_item, probability, names, information)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.node_of_item)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, with the root."""
        return len(self.parent)

    @functools.cached_property
    def _members(self):
        members = [[] for _ in range(self.n_nodes)]
        for item, node in enumerate(self.node_of_item.tolist()):
            while node >= 0:
                members[node].append(item)
                node = int(self.parent[node])
        return [np.array(some, dtype="int64") for some in members]

    @functools.cached_property
    def size(self) -> np.ndarray:
        """Number of items of each node, shape (m,)."""
        return np.array([len(some) for some in self._members])

    def positions(self, node: int) -> np.ndarray:
        """Positions of the items of a node, from 0, in order."""
        return self._members[self._checked(node)]

    def items(self, node: int) -> np.ndarray:
        """Names of the items of a node."""
        return self.names[self.positions(node)]

    def own_items(self, node: int) -> np.ndarray:
        """Positions of the items of a node that are in none of its children."""
        return np.flatnonzero(self.node_of_item == self._checked(node))

    def children(self, node: int) -> np.ndarray:
        """Children of a node, in order."""
        return np.flatnonzero(self.parent == self._checked(node))

    def path(self, item: Any) -> np.ndarray:
        """Nodes that hold an item, given by its name, from the root downwards."""
        places = np.flatnonzero(self.names == item)
        if len(places) != 1:
            raise ValueError(f"item must be the name of one item; got {item!r}, the name of {len(places)}")
        node, nodes = int(self.node_of_item[places[0]]), []
        while node >= 0:
            nodes.append(node)
            node = int(self.parent[node])
        return np.array(nodes[::-1])

    def nodes_at(self, level: int) -> np.ndarray:
        """Node of each item at a level, shape (n,): the last one of its path whose level is not below."""
        check_count("level", level, 0)
        node = self.node_of_item.copy()
        while (below := self.level[node] > level).any():
            node[below] = self.parent[node[below]]
        return node

    def labels(self, level: int) -> np.ndarray:
        """Flat clustering at a level: labels 0, 1, ... in order of appearance, shape (n,)."""
        return as_labels("labels", self.nodes_at(level))[0].astype("int64")

    def common_depth(self) -> np.ndarray:
        """Level of the lowest node that two items share, shape (n, n); on the diagonal the level of the item's node."""
        depth = np.zeros((self.n_items, self.n_items), dtype="int64")
        for node in range(1, self.n_nodes):  # children come after their parents
            some = self.positions(node)
            depth[np.ix_(some, some)] = self.level[node]
        return depth

    def pruned(self, min_size: int) -> "ItemTree":
        """Tree of the nodes with some number of items at least; items of smaller nodes become items of their parents.

        Parameters
        ----------
        min_size : int
            The root is kept in any case.

        Returns
        -------
        ItemTree
            Nodes keep their levels and probabilities.

        Raises
        ------
        ValueError
            If `min_size` is not a whole number of at least 1.

        Examples
        --------
        >>> tree = ItemTree.from_levels([[0, 0, 0, 1], [0, 0, 1, 2]], names=["cat", "dog", "trout", "ant"])
        >>> print(tree.pruned(min_size=2))
        4 items, directly: ant
        └── 3 items, directly: trout
            └── cat, dog
        """
        check_count("min_size", min_size, 1)
        kept = [node for node in range(self.n_nodes) if node == 0 or self.size[node] >= min_size]
        sets = [self.positions(node) for node in kept]
        return make_tree(sets, self.probability[kept], self.names, self.n_items, self.level[kept], **self.information)

    def nodes(self) -> list[tuple[int, dict]]:
        """Nodes with their attributes, for ``networkx.DiGraph.add_nodes_from``.

        Examples
        --------
        >>> ItemTree.from_levels([[0, 0, 1]]).nodes()[1]
        (1, {'items': [0, 1], 'level': 1, 'probability': nan})
        """
        attributes = zip(self.level.tolist(), self.probability.tolist(), strict=True)
        return [
            (node, {"items": self.items(node).tolist(), "level": level, "probability": probability})
            for node, (level, probability) in enumerate(attributes)
        ]

    def edges(self) -> list[tuple[int, int]]:
        """Pairs of parent and child, for ``networkx.DiGraph.add_edges_from``."""
        return [(int(self.parent[node]), node) for node in range(1, self.n_nodes)]

    def to_dataset(self) -> xr.Dataset:
        """The tree as a Dataset, to be stored with ``to_netcdf`` or ``to_zarr``; :meth:`from_dataset` reads it.

        Returns
        -------
        Dataset
            ``parent``, ``level`` and ``probability``, dims (node), and ``node_of_item``, dims (item), with the names as
            the coordinate ``item``; the attribute ``information`` is text in JSON.

        Examples
        --------
        >>> ItemTree.from_levels([[0, 0, 1]]).to_dataset().parent.values.tolist()
        [-1, 0, 0]
        """
        variables = {name: ("node", getattr(self, name)) for name in ("parent", "level", "probability")}
        variables["node_of_item"] = ("item", self.node_of_item)
        information = json.dumps(self.information, default=lambda value: np.asarray(value).tolist())
        return xr.Dataset(variables, coords={"item": self.names}, attrs={"information": information})

    def to_newick(self, *, probabilities: bool = True) -> str:
        """The tree in Newick format, with items as leaves and branch lengths in levels.

        Parameters
        ----------
        probabilities : bool
            Whether nodes are labelled by their probabilities, with three digits.

        Returns
        -------
        str
            All items are leaves at the same depth, one level below the deepest node.  Names with other characters than
            letters, digits, points, minus signs and underscores are in single quotes.

        Examples
        --------
        >>> tree = ItemTree.from_levels([[0, 0, 1]], names=["cat", "dog", "golden eagle"])
        >>> tree.to_newick()
        "((cat:1,dog:1):1,('golden eagle':1):1);"
        """
        bottom = int(self.level.max()) + 1

        parts = [
            [(i, f"{_quoted(self.names[i])}:{bottom - self.level[node]}") for i in self.own_items(node).tolist()]
            for node in range(self.n_nodes)
        ]
        text = ""
        for node in range(self.n_nodes - 1, -1, -1):  # children come after their parents
            has_probability = probabilities and node > 0 and np.isfinite(self.probability[node])
            label = f"{self.probability[node]:.3f}" if has_probability else ""
            text = f"({','.join(part for _, part in sorted(parts[node]))}){label}"
            if node > 0:
                above = int(self.parent[node])
                length = self.level[node] - self.level[above]
                parts[above].append((int(self.positions(node)[0]), f"{text}:{length}"))
        return text + ";"

    def __str__(self):
        lines, indents = [], [""] * self.n_nodes
        for node in range(self.n_nodes):  # depth first
            children, own_items = self.children(node), self.own_items(node)
            first, above = "", int(self.parent[node])
            if node > 0:
                last = node == self.children(above)[-1]
                first = indents[above] + ("└── " if last else "├── ")
                indents[node] = indents[above] + ("    " if last else "│   ")
            has_probability = np.isfinite(self.probability[node]) and node > 0
            probability = f"{self.probability[node]:.2f}  " if has_probability else ""
            names = ", ".join(str(self.names[i]) for i in own_items)
            inner = f"{self.size[node]} items" + (f", directly: {names}" if len(own_items) else "")
            lines.append(first + probability + (inner if len(children) or node == 0 else names))
        return "\n".join(lines)

    def __repr__(self):
        return f"<ItemTree: {self.n_items} items, {self.n_nodes} nodes, {int(self.level.max())} levels>"

    def _checked(self, node):
        check_count("node", node, 0, self.n_nodes - 1)
        return node


def _quoted(name):
    text = str(name)
    plain = text and all(letter.isalnum() or letter in "._-" for letter in text)
    return text if plain else "'" + text.replace("'", "''") + "'"


def make_tree(sets, probability, names, n, level=None, **information):
    """Make a tree of sets of items, any two of which are disjoint or one in the other."""
    names = np.arange(n) if names is None else np.asarray(names)
    if names.shape != (n,):
        raise ValueError(f"names must have one entry for each of the {n} items; got shape {names.shape}")
    sizes = np.array([len(some) for some in sets])
    node_of_item, parent = np.full(n, -1), np.full(len(sets), -1)
    for k in np.argsort(-sizes, kind="stable"):
        parent[k] = node_of_item[sets[k][0]]
        node_of_item[sets[k]] = k
    # Depth first, siblings in order of their first items.
    order, pending = [], [int(np.flatnonzero(parent < 0)[0])]
    while pending:
        k = pending.pop()
        order.append(k)
        pending += sorted(np.flatnonzero(parent == k).tolist(), key=lambda child: -sets[child][0])
    number = np.empty(len(sets) + 1, dtype="int64")
    number[order], number[-1] = np.arange(len(order)), -1
    parent = number[parent[order]]
    if level is None:
        level = np.zeros(len(order), dtype="int64")
        for node in range(1, len(order)):
            level[node] = level[parent[node]] + 1
    else:
        level = np.asarray(level)[order]
    return ItemTree(parent, level, number[node_of_item], np.asarray(probability)[order], names, information)
