"""Collapsed variational inference of Dirichlet process mixtures (Kurihara, Welling & Teh 2007), for comparison.

Mixture weights are integrated out, and q is a product over assignments and component parameters.  The prior is a
truncated stick-breaking process or a finite symmetric Dirichlet.  As in the paper, updates use second-order expansions
of expected logarithms.  The bound uses exact expectations under the Poisson binomial law of the counts, so it is below
the evidence of the truncated model, which is close to that of the Dirichlet process.
"""

import numpy as np
from scipy.special import betaln, digamma, gammaln, logsumexp


class Bernoulli:
    """Binary features with Beta(a, b) probabilities."""

    def __init__(self, X, family):
        self.X = np.asarray(X, dtype=float)
        self.a, self.b = (np.broadcast_to(v, self.X.shape[1]) for v in family)

    def fit(self, R):
        """Take over soft assignments, shape (n, K)."""
        ones = R.T @ self.X
        self.a_n, self.b_n = self.a + ones, self.b + R.sum(axis=0)[:, None] - ones
        return self

    def log_marginal(self):
        """Log of the normalising constants of all clusters, summed."""
        return float((betaln(self.a_n, self.b_n) - betaln(self.a, self.b)).sum())

    def expected_log_density(self):
        """``E log p(x_i | theta_k)``, shape (n, K)."""
        total = digamma(self.a_n + self.b_n)
        return self.X @ (digamma(self.a_n) - total).T + (1 - self.X) @ (digamma(self.b_n) - total).T

    def log_predictive(self, X_new):
        """Shape (m, K)."""
        total = np.log(self.a_n + self.b_n)
        return X_new @ (np.log(self.a_n) - total).T + (1 - X_new) @ (np.log(self.b_n) - total).T


class StickBreaking:
    """Truncated stick-breaking prior of assignments, ``v_k ~ Beta(1, alpha)`` for k < K and ``v_K = 1``."""

    def __init__(self, alpha):
        self.alpha = alpha

    def log_weights(self, mean, variance):
        """Expansion of ``E log p(z_i = k | others)`` by mean and variance of the counts of others, shape (K,)."""
        above, above_variance = _after(mean), _after(variance)
        stick = _expected_log(1 + mean, variance)
        rest = _expected_log(self.alpha + above, above_variance)
        total = _expected_log(1 + self.alpha + mean + above, variance + above_variance)
        stick[-1] = total[-1]
        return stick - total + np.concatenate([[0.0], np.cumsum((rest - total)[:-1])])

    def expected_log_prior(self, R):
        """``E log p(z)``."""
        above = np.cumsum(R[:, ::-1], axis=1)[:, ::-1]
        first = expected_log_gamma(R[:, :-1], 1.0)
        second = expected_log_gamma(above[:, 1:], self.alpha)
        total = expected_log_gamma(above[:, :-1], 1.0 + self.alpha)
        return float((np.log(self.alpha) + first + second - total).sum())

    def mean_weights(self, counts):
        above = _after(counts)
        v = (1 + counts) / (1 + self.alpha + counts + above)
        v[-1] = 1.0
        return v * np.concatenate([[1.0], np.cumprod(1 - v[:-1])])


class SymmetricDirichlet:
    """Finite symmetric Dirichlet prior of assignments, with concentration alpha / K."""

    def __init__(self, alpha):
        self.alpha = alpha

    def log_weights(self, mean, variance):
        """As in :class:`StickBreaking`."""
        return _expected_log(self.alpha / len(mean) + mean, variance)

    def expected_log_prior(self, R):
        """``E log p(z)``."""
        n, k = R.shape
        terms = expected_log_gamma(R, self.alpha / k) - gammaln(self.alpha / k)
        return float(terms.sum() + gammaln(self.alpha) - gammaln(self.alpha + n))

    def mean_weights(self, counts):
        return (self.alpha / len(counts) + counts) / (self.alpha + counts.sum())


def _after(x):
    """Sums of the later entries."""
    return np.cumsum(x[::-1])[::-1] - x


def _expected_log(mean, variance):
    return np.log(mean) - variance / (2 * mean**2)


def expected_log_gamma(P, offset):
    """``E log Gamma(offset + N_k)`` for sums N_k of independent Bernoulli variables with probabilities ``P[:, k]``."""
    n, k = P.shape
    law = np.zeros((n + 1, k))
    law[0] = 1.0
    for i, p in enumerate(P):
        law[1 : i + 2] = law[1 : i + 2] * (1 - p) + law[: i + 1] * p
        law[0] *= 1 - p
    return gammaln(offset + np.arange(n + 1)) @ law


def fit(components, prior, n_components, rng, *, n_sweeps=100, tolerance=1e-4):
    """Coordinate ascent from a random start."""
    n = len(components.X)
    R = rng.dirichlet(np.full(n_components, 0.1), size=n)
    last = -np.inf
    for sweep in range(n_sweeps):
        R = R[:, np.argsort(-R.sum(axis=0))]
        density = components.fit(R).expected_log_density()
        mean, variance = R.sum(axis=0), (R * (1 - R)).sum(axis=0)
        for i in rng.permutation(n):
            mean, variance = mean - R[i], variance - R[i] * (1 - R[i])
            log_r = density[i] + prior.log_weights(np.maximum(mean, 0.0), np.maximum(variance, 0.0))
            R[i] = np.exp(log_r - logsumexp(log_r))
            mean, variance = mean + R[i], variance + R[i] * (1 - R[i])
        if sweep % 5 == 4:
            bound = log_bound(components, prior, R)
            if bound < last + tolerance:
                break
            last = bound
    return log_bound(components, prior, R), R


def log_bound(components, prior, R):
    """Lower bound of the log evidence of the truncated model."""
    entropy = -(R * np.log(np.maximum(R, 1e-300))).sum()
    return components.fit(R).log_marginal() + prior.expected_log_prior(R) + float(entropy)


def best_fit(components, prior, n_components, rng, n_starts):
    """The fit with the largest bound from several starts."""
    return max((fit(components, prior, n_components, rng) for _ in range(n_starts)), key=lambda result: result[0])


def predictive_log_density(components, prior, R, X_new):
    """Log densities of new items, shape (m,)."""
    log_p = components.fit(R).log_predictive(X_new)
    return logsumexp(log_p + np.log(prior.mean_weights(R.sum(axis=0))), axis=1)
