"""Draws of what ``learned`` of families learns given the partition.

Concentrations of families of counts are drawn with the parameters of clusters summed out.

What ``NormalWishart.learned`` learns is drawn by way of precision matrices of clusters.  With R = L / sqrt(m), m = d +
2 and V = T T' ~ Wishart(m, I), the prior scatter is ``Psi = c R V R'``, where c is the product of ``share`` and
``excess = nu - d - 1``.  Given precisions Lambda of K clusters, drawn and thrown away,

    p(Lambda | V, c, nu) ~ c^(K nu d/2) |V|^(K nu/2) exp(-c tr(V S)/2) prod |R' Lambda R|^(nu/2) / Gamma_d(nu/2)^K

with S the sum of R' Lambda R.  Hence V has the conditional law Wishart(m + K nu, inverse(I + c S)).  Its integral over
V, with ``Gamma_d((m + K nu)/2) |I + c S|^(-(m + K nu)/2)`` in place of the terms in V, gives share and excess.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, log_marginal, statistics_size
from pymc_nrm.families.shared.factors import draw_bartlett, factor_in_place, invert_factored, solve_column
from pymc_nrm.families.shared.scatter import covariance_of
from pymc_nrm.families.shared.wishart_rows import new_workspace, posterior_factor
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.special import cholesky_update, copy_row

# The longest interval of a slice, in widths.
_MOST_WIDTHS = 10
# Shrinks of the interval of a slice, after which it is narrower than doubles resolve, or x is not finite.
_MOST_SHRINKS = 2000


@generic
def log_height(target, x):
    """Log density, up to a constant, of a target of :func:`slice_sample`."""
    raise NotImplementedError


@kernel
def slice_sample(rng, target, x, width):
    """Draw from a transition that leaves the density of a target on the real line invariant.

    It is right for every width, and fast for one of about two standard deviations.
    """
    # Neal (2003), "Slice sampling", sections 4.1 and 4.2. Where a chain starts, x may be so improbable that its slice
    # reaches values at which doubles resolve nothing.
    level = log_height(target, x) - rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    steps_down = int(_MOST_WIDTHS * rng.random())
    steps_up = _MOST_WIDTHS - 1 - steps_down
    while steps_down > 0 and log_height(target, low) > level:
        low -= width
        steps_down -= 1
    while steps_up > 0 and log_height(target, high) > level:
        high += width
        steps_up -= 1
    # The interval shrinks to x if heights there are NaN.
    for _ in range(_MOST_SHRINKS):
        y = low + (high - low) * rng.random()
        if log_height(target, y) >= level or y == x:
            return y
        if y < x:
            low = y
        else:
            high = y
    return x


@generic(agrees_with=[log_marginal, statistics_size, add_item])
def log_marginals_of_feature(family, rows, feature, factor):
    """Sum over clusters, rows (n_clusters, statistics_size), of what a feature adds to log marginals, up to a constant.

    All hyperparameters of the feature that are not whole numbers are multiplied by a factor.
    """
    raise NotImplementedError


class ConcentrationTarget(NamedTuple):
    """Density of the log of a feature's concentration given the partition, with a normal prior."""

    # A concentration of 1 gives these hyperparameters.
    family: Any
    rows: Any
    feature: Any
    mean: Any
    deviation: Any

    def log_height(self, x):
        likelihood = log_marginals_of_feature(self.family, self.rows, self.feature, math.exp(x))
        return likelihood - 0.5 * ((x - self.mean) / self.deviation) ** 2


@kernel
def draw_concentrations(rng, family, rows, normals, logs):
    """Draw logarithms of concentrations given the statistics of clusters, and change them in place.

    Given the partition, features are independent, and each draw leaves the distribution of its feature invariant.
    The family has its hyperparameters at concentrations of 1; rows of ``normals`` are means and standard deviations of
    the normal priors of the logarithms.
    """
    # The more clusters, the narrower the distribution.
    width = min(1.5, 6.0 / math.sqrt(rows.shape[0]))
    for j in range(logs.shape[0]):
        target = ConcentrationTarget(family, rows, j, normals[0, j], normals[1, j])
        logs[j] = slice_sample(rng, target, logs[j], width)


class KappaTarget(NamedTuple):
    """Density of log kappa given the partition, Psi and nu, with means and precisions of clusters summed out."""

    counts: Any
    # s' inverse(A) s of each cluster, as wishart_rows has them.
    distances: Any
    d: Any
    nu: Any
    # Mean and standard deviation of the normal prior of log kappa.
    mean: Any
    deviation: Any

    def log_height(self, x):
        kappa, total = math.exp(x), -0.5 * ((x - self.mean) / self.deviation) ** 2
        for k in range(self.counts.shape[0]):
            n = self.counts[k]
            total -= 0.5 * self.d * math.log1p(n / kappa)
            total -= 0.5 * (self.nu + n) * math.log1p(kappa * n / (kappa + n) * self.distances[k])
        return total


class ScaleTarget(NamedTuple):
    """Density of log share and log excess given precisions of clusters, with V summed out, along a line."""

    # S, the sum of log |R' Lambda R|, and their number.
    scatter: Any
    log_determinants: Any
    n_clusters: Any
    # Logarithms of share and excess at 0, and 1 for the one that moves.
    share: Any
    excess: Any
    moves_share: Any
    moves_excess: Any
    # Rows are mean and standard deviation of normal priors: log share, log kappa and log excess.
    normals: Any
    # Memory (d, d).
    work: Any

    def log_height(self, x):
        d, work = self.scatter.shape[0], self.work
        log_share, log_excess = self.share + x * self.moves_share, self.excess + x * self.moves_excess
        nu, m, n_clusters = d + 1.0 + math.exp(log_excess), d + 2.0, self.n_clusters
        factor_shifted(self.scatter, math.exp(log_share + log_excess), work)
        total = 0.5 * n_clusters * nu * d * (log_share + log_excess) + 0.5 * nu * self.log_determinants
        for i in range(d):
            total += math.lgamma(0.5 * (m + n_clusters * nu - i)) - n_clusters * math.lgamma(0.5 * (nu - i))
            total -= (m + n_clusters * nu) * math.log(work[i, i])
        total -= 0.5 * ((log_share - self.normals[0, 0]) / self.normals[0, 1]) ** 2
        return total - 0.5 * ((log_excess - self.normals[2, 0]) / self.normals[2, 1]) ** 2


@kernel
def factor_shifted(scatter, c, factor):
    """Write the Cholesky factor of ``I + c S``, given the lower triangle of S."""
    for i in range(factor.shape[0]):
        for j in range(i + 1):
            factor[i, j] = c * scatter[i, j]
        factor[i, i] += 1.0
    factor_in_place(factor)


@kernel
def draw_wishart_hyperparameters(rng, family, rows, scale, normals, logs, squares, below, n_sweeps):
    """Draw share, kappa, excess and V given the statistics of clusters, and change them in place.

    It leaves their joint distribution given the partition and the data invariant, and is irreducible.  ``scale`` is R,
    ``logs`` are logarithms of share, kappa and excess, ``squares`` and ``below`` are T.  The kernel reads mu of the
    family, and writes to Psi.
    """
    d, n_clusters = scale.shape[0], rows.shape[0]
    share_width, excess_width, kappa_width = 2.0 * math.sqrt(2.0 / (d * (d + 2.0))), 0.5, 1.0
    factors, distances, mean = np.empty((n_clusters, d + 1, d)), np.empty(n_clusters), np.empty(d)
    work, bartlett, root, inverse = new_workspace(d), np.zeros((d, d)), np.zeros((d, d)), np.empty((d, d))
    scatter = np.empty((d, d))
    for _ in range(n_sweeps):
        nu = write_prior_scatter(family.Psi, scale, logs, squares, below)
        for k in range(n_clusters):
            posterior_factor(family, rows[k], mean, work)
            for i in range(d):
                copy_row(factors[k, i], work[i])
            copy_row(factors[k, d], work[d + 3])
            distances[k] = solve_column(work, work[d + 3])
        target = KappaTarget(rows[:, 0], distances, float(d), nu, normals[1, 0], normals[1, 1])
        logs[1] = slice_sample(rng, target, logs[1], kappa_width)
        kappa, log_determinants = math.exp(logs[1]), 0.0
        for i in range(d):
            scatter[i].fill(0.0)
        for k in range(n_clusters):
            n, shift = rows[k, 0], factors[k, d]
            for i in range(d):
                shift[i] *= math.sqrt(kappa * n / (kappa + n))
            cholesky_update(factors[k], shift)
            draw_bartlett(nu + n, rng, bartlett)
            log_determinants += add_precision(bartlett, factors[k], scale, root, scatter)
        for moves_share in (0.0, 1.0):
            direction = moves_share, 1.0 - moves_share
            target = ScaleTarget(
                scatter, log_determinants, float(n_clusters), logs[0], logs[2], *direction, normals, inverse
            )
            step = slice_sample(rng, target, 0.0, share_width if moves_share else excess_width)
            logs[0] += step * moves_share
            logs[2] += step * (1.0 - moves_share)
        dof = d + 2.0 + n_clusters * (d + 1.0 + math.exp(logs[2]))
        factor_shifted(scatter, math.exp(logs[0] + logs[2]), root)
        invert_factored(root, inverse)
        factor_in_place(inverse)
        draw_bartlett(dof, rng, bartlett)
        write_product(inverse, bartlett, squares, below)


@kernel
def write_prior_scatter(Psi, scale, logs, squares, below):
    """Write ``Psi = c R V R'``, and return nu."""
    covariance, c = covariance_of(scale, squares, below), math.exp(logs[0] + logs[2])
    for i in range(Psi.shape[0]):
        for j in range(Psi.shape[0]):
            Psi[i, j] = c * covariance[i, j]
    return Psi.shape[0] + 1.0 + math.exp(logs[2])


@kernel
def add_precision(bartlett, factor, scale, root, scatter):
    """Add ``R' Lambda R``, with ``Lambda = inverse(F)' U U' inverse(F)``, to the lower triangle of S; return its log
    determinant.  U is the given A with rows and columns in reverse order: U U' and A A' have the same distribution, and
    ``U' inverse(F) R`` is lower triangular.  The factor F is overwritten.
    """
    d = scale.shape[0]
    log_determinant = 0.0
    for i in range(d):
        row = root[i]
        for j in range(i + 1):
            row[j] = scale[i, j]
        for m in range(i):
            entry, above = factor[i, m], root[m]
            for j in range(m + 1):
                row[j] -= entry * above[j]
        for j in range(i + 1):
            row[j] /= factor[i, i]
        log_determinant += 2.0 * math.log(bartlett[i, i] * row[i])
    for i in range(d):
        row = factor[i]
        row.fill(0.0)
        for m in range(i + 1):
            entry, above = bartlett[d - 1 - m, d - 1 - i], root[m]
            for j in range(m + 1):
                row[j] += entry * above[j]
        for j in range(i + 1):
            entry, sums = row[j], scatter[j]
            for m in range(j + 1):
                sums[m] += entry * row[m]
    return log_determinant


@kernel
def write_product(first, second, squares, below):
    """Write the product of two lower triangular matrices: squares of its diagonal, and what is below, by rows."""
    for i in range(squares.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for m in range(j, i + 1):
                total += first[i, m] * second[m, j]
            if i == j:
                squares[i] = total * total
            else:
                below[i * (i - 1) // 2 + j] = total
