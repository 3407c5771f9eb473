"""Sums of statistics of pairs in the blocks of a partition, and the log marginal likelihood of a block model."""

import numpy as np
import pytensor.tensor as pt
import scipy.special
from pytensor.graph.basic import Apply

from pymc_nrm.common.checks import known_value
from pymc_nrm.families.base import Centred, add_all, localise, log_likelihood, prepare_data, statistics_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.fast import log_marginals_with_gradient
from pymc_nrm.families.shared.moments import grid_of, symbolic_log_growth
from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.kernels.kernel_op import KernelOp
from pymc_nrm.kernels.special import symbolic_log_rising_factorial
from pymc_nrm.models.marginal_likelihood import has_marginal_likelihood, likelihood_of_sums, shapes_of_fields
from pymc_nrm.models.values import kernel_family
from pymc_nrm.networks.families.degree_shares import symbolic_log_shares
from pymc_nrm.networks.partitions.neighbours import Layer

# More values than these are added by a kernel.
_MOST_IN_PYTHON = 1000
# More pairs than these are summed by an operation even where a graph of all pairs is wanted.
_MOST_IN_GRAPH = 300_000


def prepared_values(family, pairs):
    """The values of pairs, (n_values, 1), in the form that kernels read."""
    data = prepare_data(family, pairs.values[:, None])
    if isinstance(data, Centred) and data.grid is not None:
        # Sums have as many terms as there are pairs.
        largest = np.max(np.abs(data.values), axis=0, initial=0.0)
        data = data._replace(grid=grid_of(pairs.shape[0] * pairs.shape[1], largest))
    return data


def layer_of(family, data, pairs, is_corrected):
    """Rows of statistics of a network or table, given its prepared values."""
    n_values = len(pairs.values)
    rows = np.zeros((n_values + 1, statistics_size(family)))
    add = _add_values if n_values > _MOST_IN_PYTHON else add_all
    add(family, rows, data, np.arange(n_values))
    loops = rows[pairs.diagonal] if pairs.loops else np.zeros((pairs.shape[0], rows.shape[1]))
    return Layer(pairs, rows, _loops_of_degrees(pairs) if is_corrected else loops)


@shared_kernel
def _add_values(family, rows, data, labels):
    add_all(family, rows, data, labels)


def _loops_of_degrees(pairs):
    """Rows of PoissonGamma for loops: their exposure is half of ``theta_i^2`` where pairs have no direction."""
    counts = pairs.values[pairs.diagonal] if pairs.loops else np.zeros(pairs.shape[0])
    exposure = 1.0 if pairs.directed else 0.5
    log_factorials = scipy.special.gammaln(counts + 1.0) - counts * np.log(exposure)
    return np.column_stack([counts, np.full(len(counts), exposure), log_factorials])


def degrees_of(pairs):
    """Degrees of nodes, float64 (n, 1), or of ties from and to nodes (n, 2); a loop counts twice without direction."""
    matrix, n = pairs.codes.tocoo(), pairs.shape[0]
    default, values = pairs.values[pairs.default], np.append(pairs.values, np.nan)[matrix.data - 1]
    base = np.full(n, (n - 1) * default)
    degrees = [base + np.bincount(matrix.row, values - default, n)]
    loops = pairs.values[pairs.diagonal] if pairs.loops else np.zeros(n)
    if not pairs.directed:
        return (degrees[0] + 2.0 * loops)[:, None]
    degrees.append(base + np.bincount(matrix.col, values - default, n))
    return np.column_stack(degrees) + loops[:, None]


def block_sums(layer, labels, columns=None):
    """Sums of statistics of blocks (K, L, size); symmetric without direction, with each pair once on the diagonal.

    ``columns`` are the labels of the columns of a table.
    """
    pairs, size = layer.pairs, layer.rows.shape[1]
    others = labels if columns is None else columns
    n_rows, n_columns = labels.max() + 1, others.max() + 1
    entries, default = pairs.codes.tocoo(), layer.rows[pairs.default]
    blocks = labels[entries.row] * n_columns + others[entries.col]
    rows = (layer.rows - default)[entries.data - 1]
    sums = np.column_stack([np.bincount(blocks, rows[:, k], n_rows * n_columns) for k in range(size)])
    sums = sums.reshape(n_rows, n_columns, size)
    counts = np.bincount(labels)
    sums += np.multiply.outer(np.multiply.outer(counts, np.bincount(others)), default)
    if columns is None:
        k = np.arange(n_rows)
        sums[k, k] -= counts[:, None] * default
        if not pairs.directed:
            sums[k, k] /= 2.0
        np.add.at(sums, (labels, labels), layer.loops)
    return sums


@kernel
def _sums_of_blocks(labels, columns, start, other, codes, rows, default, loops, mode):
    """:func:`block_sums` as a table (n_blocks, size); blocks r <= s where pairs have no direction.

    ``mode`` is 0 for undirected and 1 for directed networks, and 2 for tables; ``rows`` are minus the default.
    """
    n_rows, n_columns, size, kind = labels.max() + 1, columns.max() + 1, rows.shape[1], mode.item()
    sums = np.zeros((n_rows, n_columns, size))
    first, second = np.zeros(n_rows), np.zeros(n_columns)
    for i in range(labels.shape[0]):
        first[labels[i]] += 1.0
    for j in range(columns.shape[0]):
        second[columns[j]] += 1.0
    for i in range(labels.shape[0]):
        r = labels[i]
        for entry in range(start[i], start[i + 1]):
            j = other[entry]
            if kind > 0 or i < j:
                s, code = columns[j], codes[entry]
                low, high = (min(r, s), max(r, s)) if kind == 0 else (r, s)
                for k in range(size):
                    sums[low, high, k] += rows[code, k]
        if kind < 2:
            for k in range(size):
                sums[r, r, k] += loops[i, k]
    n_blocks = n_rows * (n_rows + 1) // 2 if kind == 0 else n_rows * n_columns
    statistics, block = np.empty((n_blocks, size)), 0
    for r in range(n_rows):
        for s in range(r if kind == 0 else 0, n_columns):
            n_pairs = first[r] * second[s]
            if kind < 2 and r == s:
                n_pairs = first[r] * (first[r] - 1.0) * (0.5 if kind == 0 else 1.0)
            for k in range(size):
                statistics[block, k] = sums[r, s, k] + n_pairs * default[k]
            block += 1
    return statistics


class SumsOfBlocks(KernelOp):
    """Sums of statistics of the blocks of labels of rows and of columns, which are the same for networks."""

    kernel = _sums_of_blocks
    constant = tuple(range(9))

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [pt.dmatrix()])


def symbolic_sums(layer, labels, columns):
    """Symbolic sums of statistics of blocks, (n_blocks, size), given labels in a graph."""
    pairs, default = layer.pairs, layer.rows[layer.pairs.default]
    mode = 2 if pairs.is_table else int(pairs.directed)
    codes = pairs.codes
    arrays = [codes.indptr, codes.indices, codes.data - 1]
    constants = [pt.constant(np.asarray(array, dtype=np.int64)) for array in arrays]
    constants += [pt.constant(np.ascontiguousarray(array)) for array in (layer.rows - default, default, layer.loops)]
    return SumsOfBlocks()(labels, columns, *constants, pt.constant(np.int64(mode)))


def log_block_likelihood(family, pairs, labels, columns, concentration):
    """Symbolic log likelihood of pairs given labels of rows and of columns, which are indices from 0.

    ``concentration`` is the concentration of the degree correction, or None.
    """
    data, numbers = prepared_values(family, pairs), _with_numbers(family)
    if concentration is not None:
        sums = symbolic_sums(layer_of(numbers, data, pairs, True), labels, columns)
        shares = symbolic_log_shares(concentration, pt.constant(degrees_of(pairs)), labels)
        return _log_poisson_gamma(family, sums) + shares
    has_gradient = numbers is not None and not lacking(type(family), [log_marginals_with_gradient])
    if has_marginal_likelihood(family) or (has_gradient and np.prod(pairs.shape) > _MOST_IN_GRAPH):
        layer = layer_of(numbers, data, pairs, False)
        sums = symbolic_sums(layer, labels, columns)
        counts = pt.ones((sums.shape[0],), dtype="int64")
        return likelihood_of_sums(localise(family, data), data, counts, np.ones(layer.rows.shape[1]), sums)
    i, j, x = pairs.pairs()
    first, second = labels[i], columns[j]
    n_columns = columns.max() + 1
    if not (pairs.is_table or pairs.directed):
        first, second = pt.minimum(first, second), pt.maximum(first, second)
    blocks = first * n_columns + second
    # Blocks without pairs have no number.
    is_used = pt.zeros((labels.max() + 1) * n_columns, dtype="int64")[blocks].set(1)
    return log_likelihood(family, pt.constant(x[:, None]), (pt.cumsum(is_used) - 1)[blocks])


def _with_numbers(family):
    """A family of arrays: constants, and 1 for other hyperparameters; None if their shapes are not known."""
    shapes = shapes_of_fields(family, 1)
    if any(None in shape for shape in shapes):
        return None
    known = [known_value(field) for field in family]
    values = [np.ones(shape) if value is None else value for value, shape in zip(known, shapes, strict=True)]
    return kernel_family(type(family), values)


def _log_poisson_gamma(family, sums):
    """Log marginal likelihoods of sums of counts, exposures and log factorials, added up."""
    alpha, beta = family.alpha[0], family.beta[0]
    counts, exposures, log_factorials = sums[:, 0], sums[:, 1], sums[:, 2]
    terms = symbolic_log_rising_factorial(alpha, counts) - counts * pt.log(beta + exposures)
    return (terms - alpha * symbolic_log_growth(beta, exposures) - log_factorials).sum()
