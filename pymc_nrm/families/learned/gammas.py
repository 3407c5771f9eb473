"""Draws of what ``NormalGamma.learned`` learns given the partition, with the parameters of clusters summed out.

Slices are taken of ``log(beta_j / (alpha v_j))``, ``log kappa`` and ``log excess``, since data say what precisions
``alpha / beta_j`` are usual rather than what share and excess are.  The first is ``log share_j - log(alpha / excess)``,
so that the change of variables has Jacobian 1.
"""

import math
from typing import Any, NamedTuple

from pymc_nrm.families.definitions.normal_gamma import log_marginal_of_feature
from pymc_nrm.families.learned.draws import slice_sample
from pymc_nrm.kernels.generic import kernel


class GammaTarget(NamedTuple):
    """Density of one coordinate given the partition and the others, with normal priors of log share, kappa, excess."""

    # kappa, alpha and beta are written to.
    family: Any
    rows: Any
    # A share of 1 gives clusters with these variances v.
    variances: Any
    # The coordinates, shape (d + 2,), and the place of the one that moves.
    logs: Any
    place: Any
    # Means and standard deviations of the normal priors, shape (2, d + 2).
    normals: Any

    def log_height(self, x):
        family, logs, normals, place, d = self.family, self.logs, self.normals, self.place, self.variances.shape[0]
        logs[place] = x
        kappa, alpha, shift, total = math.exp(logs[d]), 1.0 + math.exp(logs[d + 1]), share_shift(logs), 0.0
        for j in range(d, d + 2):
            total -= 0.5 * ((logs[j] - normals[0, j]) / normals[1, j]) ** 2
        for j in range(place if place < d else 0, place + 1 if place < d else d):
            total -= 0.5 * ((logs[j] + shift - normals[0, j]) / normals[1, j]) ** 2
            family.kappa[j], family.alpha[j] = kappa, alpha
            family.beta[j] = math.exp(logs[j]) * self.variances[j] * alpha
            for k in range(self.rows.shape[0]):
                total += log_marginal_of_feature(family, self.rows[k], j)
        return total


@kernel
def share_shift(logs):
    """Log(alpha / excess), given the log of the excess as last of some values."""
    return math.log1p(math.exp(-logs[logs.shape[0] - 1]))


@kernel
def draw_gamma_hyperparameters(rng, family, rows, variances, normals, logs, n_sweeps):
    """Draw logarithms of shares, kappa and excess given the statistics of clusters, and change them in place.

    Each draw leaves their joint distribution given the partition and the data invariant, and a sweep is irreducible.
    The kernel reads mu of the family, and writes to its other fields.
    """
    d, n_clusters = variances.shape[0], rows.shape[0]
    for j in range(d):
        logs[j] -= share_shift(logs)
    for _ in range(n_sweeps):
        for place in range(d + 2):
            # The more clusters, and features that share a value, the narrower the distribution.
            width = min(1.5, 4.0 / math.sqrt(n_clusters if place < d else n_clusters * d))
            target = GammaTarget(family, rows, variances, logs, place, normals)
            logs[place] = slice_sample(rng, target, logs[place], width)
    for j in range(d):
        logs[j] += share_shift(logs)
