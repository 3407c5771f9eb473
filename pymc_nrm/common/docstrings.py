"""Documentation of common arguments of functions of draws, written once.

The rooms ``stats``, ``posterior`` and ``trees`` insert these texts into all of their public names, ``plots`` with its
options.
"""

import re
from collections.abc import Callable
from typing import Any

_COMMON = {
    "idata": """
idata : DataTree or Dataset
    Posterior draws.""",
    "draws": """
idata : DataTree, Dataset or DataArray
    Draws of a partition.""",
    "var_name": """
var_name : str, optional
    Name of the partition; by default the only one.""",
    "flat_or_nested": """
var_name : str, optional
    Name of the partition, which may be nested; by default the only flat one, or else the only nested one.""",
    "nested_draws": """
idata : DataTree, Dataset or DataArray
    Draws of a nested partition, as :func:`~pymc_nrm.stats.levels` reads them.""",
    "nested_name": """
var_name : str, optional
    Name of the nested partition; by default the only one.""",
    "result": """
idata : DataTree or Dataset
    Result of sampling, or its group ``posterior``.""",
    "a_and_b": """
a, b : array_like of int, shape (n,) or (S, n)
    Labels, any integers; a vector is paired with every row of the other array.""",
    "labels_and_truth": """
labels : array_like of int, shape (n,) or (S, n)
    One clustering, or one clustering per row.
truth : array_like of int, shape (n,)
    Classes.""",
    "errors_of_labels": """
Raises
------
TypeError
    If labels are not integers.
ValueError
    If the shapes do not match.""",
    "model": """
model : pymc.Model
    The sampled model.""",
    "partition": """
var_name : str, optional
    Name of the partition, which may be nested; by default the only one of the model.""",
    "mixture": """
var_name : str, optional
    Name of the Mixture; by default the only one of the model.""",
    "given": """
given : dict of array_like, optional
    Known values of the new items, one row each, by name: data of other mixtures over the partition, and the
    ``pm.Data`` on which covariates or ``log_weights`` depend.""",
    "asked_mixture": """
var_name : str, optional
    Name of the Mixture; by default the only one of the model, or the only one that is not in ``given``.""",
    "measure_draws": """
measure_draws : Dataset
    Result of :func:`~pymc_nrm.random_measure.sample_random_measure`; draws may be selected or thinned.""",
    "new_paths": """
new_paths : array_like of int or str, shape (m,) or (m, depth), optional
    Groups of the new items, known or new, for a nested partition with known paths, which requires them; one row
    represents all new items.""",
    "sequence": """
sequence : int or str, optional
    Sequence of hidden states that new items continue, by its label in ``sequences``, or ``"new"`` for a further one;
    required if there are several.""",
    "states": """
var_name : str, optional
    Name of the hidden states; by default the only partition.""",
    "states_estimate": """
estimate : array_like of int, shape (n,), DataArray, or Dataset with the variable ``labels``, optional
    States of the times; by default those of :func:`~pymc_nrm.point_estimate` with seed 0.""",
    "block_model": """
var_name : str, optional
    Name of the block model; by default the only one.""",
    "block_estimate": """
estimate : array_like of int, shape (n,), DataArray, or Dataset with the variable ``labels``, optional
    Clusters of the nodes; by default those of :func:`~pymc_nrm.point_estimate` with seed 0.  For a table two estimates,
    of its rows and its columns, or a dict of them by the names of the partitions.""",
    "tree_inputs": """
X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
    Data; NaN means missing, where the family allows it.
family : Family or list of Family
    Hyperparameters are numbers and arrays; pass a list for several data sets on the same items.
measure : Measure
    Hyperparameters are numbers.""",
    "errors_of_inputs": """
Raises
------
TypeError, ValueError
    If arguments have a wrong type or are outside their support.""",
    "errors_of_tree": """
Raises
------
TypeError, ValueError
    If arguments have a wrong type or are outside their support, or the tree does not fit the data.""",
    "side_by_side": """
X : array_like, DataFrame or DataArray, shape (n,) or (n, d), optional
    Data, drawn as points; one feature gives one row of points for each cluster.  Without it, a black and white matrix
    shows which pairs of items are in the same cluster.
features : sequence of int or str, optional
    One or two columns of X, by position or name.

Returns
-------
PlotCollection
    ``.viz["points"]`` or ``.viz["image"]`` with dimension ``partition``.""",
    "random_seed": """
random_seed : int or numpy.random.Generator, optional
    By default draws differ from call to call.""",
    "step_options": """
**kwargs
    ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step; with ``check_moves=False`` the
    step is not compared with the model before its first draw.""",
    "progressbar": """
progressbar : bool
    Whether to show a progress bar after two seconds.""",
}


def document_all(room):
    """Insert texts into the docstrings of the public names of a room, given its ``globals()``."""
    for name in room["__all__"]:
        documented(room[name])


def documented[Function: Callable[..., Any]](function: Function) -> Function:
    """Replace each line ``%(name)s`` of a docstring by the text about a common argument."""

    def text(match):
        return "\n".join(match[1] + line for line in _COMMON[match[2]].strip().split("\n"))

    if function.__doc__ is not None:
        function.__doc__ = re.sub(r"^( *)%\((\w+)\)s$", text, function.__doc__, flags=re.MULTILINE)
    return function
