"""Checks that the functions of a tree family agree with each other."""

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

from pymc_nrm.common.checks import check_count, plain_values
from pymc_nrm.families.base import Centred, localise, prepare_data
from pymc_nrm.families.needs import check_needs
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.nested.families.base import (
    add_square,
    broadcast_hyperparameters,
    draw_whitening,
    log_likelihood,
    new_scatter,
    node_moments,
    residual_scatter,
    scatter_log_likelihood,
    symbolic_log_likelihood,
    transform_row,
)
from pymc_nrm.nested.families.node_tree import build_node_tree
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.testing.scores import INTERPRETED, CheckError, assert_close, assert_zero, runner, slope
from pymc_nrm.trees.inputs import as_rows

# Functions that every tree family must define.
TREE_FAMILY = (
    prepare_data,
    symbolic_log_likelihood,
    new_scatter,
    add_square,
    scatter_log_likelihood,
    draw_whitening,
    transform_row,
)


def check_tree_family(family: Any, X: Any, depth: int = 2, *, compiled: bool = True, random_seed: int = 0) -> None:
    """Check that the functions of a tree family agree with each other on the data you pass.

    - ``symbolic_log_likelihood`` equals the likelihood that kernels compute with ``add_square`` and
      ``scatter_log_likelihood``, in trees of several shapes; its gradients are right.
    - Likelihoods do not depend on the order of items, and the predictive density of an item is a ratio of two
      likelihoods.
    - ``draw_whitening`` draws covariances S, and their inverses, over which normal densities average to
      ``scatter_log_likelihood``.

    Parameters
    ----------
    family : tree family
        As a user writes it, with fields that are numbers and arrays.
    X : array_like, shape (n, d)
        Data of at least 4 items; one or two dozen are enough.
    depth : int
        Number of levels below the root.
    compiled : bool
        Whether functions run compiled, as in samplers.  Otherwise they run in Python, with fewer draws, so that the
        traceback of an error ends in a line of the family.
    random_seed : int
        Seed of all draws; for a correct family the check fails for about one seed in ten thousand.

    Raises
    ------
    CheckError
        If two values disagree; the message names the function and shows both values.
    NotImplementedError
        If the family lacks a function that every tree family must define.

    See Also
    --------
    check_family : The same for families of components.

    Examples
    --------
    >>> from pymc_nrm.nested.families import IndependentNormalDiffusion
    >>> X = [[0.0, 3.0], [0.5, 2.5], [4.0, 0.1], [4.2, 9.0]]
    >>> check_tree_family(IndependentNormalDiffusion(0.0, 1.0, 3.0, 2.0), X, compiled=False) is None
    True
    """
    check_needs(type(family), TREE_FAMILY, "check_tree_family")
    check_count("depth", depth, 1)
    X = np.asarray(as_rows(X), dtype="float64")
    n, d = X.shape
    if n < 4:
        raise ValueError(f"X must have at least 4 items; got {n}")
    full = broadcast_hyperparameters(plain_values(family), n, d, depth)
    full = type(full)(*[float(h) if np.ndim(h) == 0 else np.array(h, dtype="float64", order="C") for h in full])
    data = prepare_data(full, X)
    local, rng = localise(full, data), np.random.default_rng(random_seed)
    run = runner(compiled)
    items = np.arange(n)
    for shift in (0, 1, 20):
        paths = np.column_stack([items % 2**level for level in range(shift, shift + depth)])
        value = _sums(local, paths, data, run)[-1]
        _check_symbolic(full, paths, X, value)
        _check_exchangeable(local, paths, data, value, rng, run)
        if compiled:
            python, what = log_likelihood(paths.copy(), local, data), "its compiled value differs from Python: it is"
            assert_close("scatter_log_likelihood", type(local), what, python, value, 1e-9, 1e-8)
    _check_draws(local, data, rng, run, 20_000 if compiled else 2_000)


def _sums(family, paths, data, run):
    """State of the tree, sums of squares, log determinant and log density of the data."""
    values = data.values - family.mu
    tree = build_node_tree(paths.copy(), values, family.tau)
    scatter, log_determinant = run(residual_scatter)(family, tree, values)
    return tree, scatter, log_determinant, scatter_log_likelihood(family, scatter, log_determinant, len(paths))


def _check_symbolic(family, paths, X, value):
    steps = pt.dvector("steps")
    directions = [field if np.any(field) else np.ones_like(field) for field in family]
    moved = type(family)(
        *[field + steps[k] * way for k, (field, way) in enumerate(zip(family, directions, strict=True))]
    )
    graph = symbolic_log_likelihood(moved, pt.constant(paths), pt.constant(X))
    function = pytensor.function([steps], [graph, pt.grad(graph, steps)], mode=INTERPRETED)
    symbolic, gradient = function(np.zeros(len(family)))
    owner, words = type(family), f"in a tree with {len(np.unique(paths[:, -1]))} leaves"
    if not np.isclose(symbolic, value, rtol=1e-9, atol=1e-8):
        raise CheckError(
            f"symbolic_log_likelihood, add_square or scatter_log_likelihood of {owner.__name__} is wrong: the log "
            f"density of the data {words} is {symbolic} by the first and {value} by the others"
        )
    for k, (name, unit) in enumerate(zip(family._fields, np.eye(len(family)), strict=True)):
        numeric = slope(lambda step, unit=unit: function(step * unit)[0], 1e-5)
        what = f"its derivative by {name} {words} is"
        assert_close("symbolic_log_likelihood", owner, what, gradient[k], numeric, 1e-5, 1e-4)


def _check_exchangeable(family, paths, data, value, rng, run):
    n, owner = len(paths), type(family)
    order = rng.permutation(n)
    moved = np.column_stack([canonical_labels(column) for column in paths[order].T])
    other = _sums(family, moved, Centred(data.values[order], data.center), run)[-1]
    what = f"with items in order {order.tolist()} the log density of the data is"
    assert_close("scatter_log_likelihood", owner, what, other, value, 1e-9, 1e-8)
    last, fewer = data.values[-1], paths[:-1]
    tree, scatter, log_determinant, fewer_value = _sums(
        family, fewer, Centred(data.values[:-1].copy(), data.center), run
    )
    means, variances = node_moments(tree)
    level, node = 0, 0
    while level < paths.shape[1] and paths[-1, level] in fewer[:, level]:
        level, node = level + 1, paths[-1, level]
    variance = 1.0 + variances[level, node] + family.tau[level + 1 :].sum()
    longer = scatter.copy()
    add_square(family, longer, last - family.mu - means[level, node], 1.0 / variance)
    ratio = scatter_log_likelihood(family, longer, log_determinant + np.log(variance), n) - fewer_value
    what = "the log predictive density of the last item, from the square that it adds, is"
    assert_close("add_square or scatter_log_likelihood", owner, what, ratio, value - fewer_value, 1e-8, 1e-8)


@kernel
def _squares(family, values):
    scatter = new_scatter(family)
    for i in range(values.shape[0]):
        add_square(family, scatter, values[i], 1.0)
    return scatter


@kernel
def _draw_matrices(family, scatter, n, rng, n_draws):
    """Draws of W and of its inverse, shape (n_draws, 2, d, d), from their products with unit vectors."""
    d = family.mu.shape[0]
    matrices, row, work = np.empty((n_draws, 2, d, d)), np.empty(d), np.empty(d)
    for t in range(n_draws):
        whitening = draw_whitening(family, scatter, n, rng)
        for side in range(2):
            for j in range(d):
                row[:] = 0.0
                row[j] = 1.0
                transform_row(family, whitening[side], row, work)
                matrices[t, side, :, j] = row
    return matrices


def _check_draws(family, data, rng, run, n_draws):
    """Check draws of S given independent items about mu, which form a tree whose steps are zero."""
    owner, values = type(family), data.values - family.mu
    d = values.shape[1]
    for n in (0, len(values) - 1):
        scatter = run(_squares)(family, values[:n])
        matrices = run(_draw_matrices)(family, scatter, n, rng, n_draws)
        whitening, inverse = matrices[:, 0], matrices[:, 1]
        what = "the product of the matrix and its inverse is"
        assert_close("draw_whitening", owner, what, whitening @ inverse, np.eye(d), 0.0, 1e-6)
        longer = run(_squares)(family, values[: n + 1])
        log_p = scatter_log_likelihood(family, longer, 0.0, n + 1) - scatter_log_likelihood(family, scatter, 0.0, n)
        normal = -0.5 * ((whitening @ values[n]) ** 2).sum(axis=1) - d / 2 * np.log(2 * np.pi)
        normal += np.linalg.slogdet(whitening).logabsdet
        what = f"the normal density of an item given S divided by its predictive density, less 1, for n = {n},"
        assert_zero("draw_whitening or scatter_log_likelihood", owner, what, np.exp(normal - log_p) - 1.0)
