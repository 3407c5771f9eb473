"""The Dirichlet process mixture of Gaussians of the package, in stock PyMC: a truncated stick-breaking prior.

``Lambda_k ~ Wishart(nu, inverse(Psi))`` is built by Bartlett's decomposition: ``Lambda = T T'`` with ``T = F A`` and
``F F' = inverse(Psi)``, where A is lower triangular with ``A_ii^2 ~ chi2(nu - i)``, i from 0, and standard normal
entries below.  The means are ``m_k ~ N(mu, inverse(kappa Lambda_k))``.  The Gaussian density needs only T and no
inverse: ``log det T - |T'(x - m)|^2 / 2``.
"""

import math

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy import stats
from scipy.special import logsumexp

LOG_2_PI = math.log(2 * math.pi)


def truncation_error(n, alpha, n_components):
    """Bound on the L1 distance between the marginal densities of the data (Ishwaran & James 2001, theorem 2)."""
    return 4 * n * math.exp(-(n_components - 1) / alpha)


def _components(family, n_components, d):
    """Factors T of the precisions, shape (K, d, d), means (K, d), and log det T."""
    F = np.linalg.cholesky(np.linalg.inv(family.Psi))
    square = pm.ChiSquared("square", np.asarray(family.nu - np.arange(d)), shape=(n_components, d))
    below = pm.Normal("below", shape=(n_components, d * (d - 1) // 2))
    rows, columns = np.tril_indices(d, -1)
    A = pt.zeros((n_components, d, d))[:, np.arange(d), np.arange(d)].set(pt.sqrt(square))
    A = A[:, rows, columns].set(below)
    T = pt.as_tensor(F) @ A
    log_det = 0.5 * pt.log(square).sum(axis=1) + np.log(np.diag(F)).sum()
    mean = pm.Flat("mean", shape=(n_components, d))
    whitened = (T * (mean - family.mu)[:, :, None]).sum(axis=1)
    log_mean = log_det + d / 2 * (math.log(family.kappa) - LOG_2_PI) - family.kappa / 2 * (whitened**2).sum(axis=1)
    pm.Potential("mean_prior", log_mean.sum())
    return T, mean, log_det


def stick_log_weights(alpha, n_components):
    v = pm.Beta("v", 1.0, alpha, shape=n_components - 1)
    return pt.concatenate([pt.log(v), [0.0]]) + pt.concatenate([[0.0], pt.cumsum(pt.log1p(-v))])


def marginal_model(X, family, alpha, n_components):
    """The model with labels summed out, for NUTS."""
    d = X.shape[1]
    with pm.Model() as model:
        T, mean, log_det = _components(family, n_components, d)
        # T'(x - m) for all items and components, shape (n, K, d).
        y = pt.tensordot(pt.as_tensor(X), T, axes=[[1], [1]]) - (T * mean[:, :, None]).sum(axis=1)
        log_p = stick_log_weights(alpha, n_components) + log_det - 0.5 * (y**2).sum(axis=2) - d / 2 * LOG_2_PI
        pm.Potential("x", pt.logsumexp(log_p, axis=1).sum())
    return model


def label_model(X, family, alpha, n_components):
    """The model with labels as variables."""
    n, d = X.shape
    with pm.Model() as model:
        T, mean, log_det = _components(family, n_components, d)
        labels = pm.Categorical("labels", logit_p=stick_log_weights(alpha, n_components), shape=n)
        y = (T[labels] * (pt.as_tensor(X) - mean[labels])[:, :, None]).sum(axis=1)
        pm.Potential("x", (log_det[labels] - 0.5 * (y**2).sum(axis=1) - d / 2 * LOG_2_PI).sum())
    return model


def log_weights_of(v):
    """Log weights of sticks, in NumPy."""
    v = np.asarray(v)
    with np.errstate(divide="ignore"):
        return np.append(np.log(v), 0.0) + np.append(0.0, np.cumsum(np.log1p(-v)))


def parameters(point, family):
    """Log weights (K,), factors T (K, d, d) and means (K, d) from values of the variables, in NumPy."""
    square, below, v = (np.asarray(point[name]) for name in ("square", "below", "v"))
    n_components, d = square.shape
    A = np.zeros((n_components, d, d))
    A[:, np.arange(d), np.arange(d)] = np.sqrt(square)
    A[:, *np.tril_indices(d, -1)] = below
    return log_weights_of(v), np.linalg.cholesky(np.linalg.inv(family.Psi)) @ A, np.asarray(point["mean"])


def log_joint_table(X, log_weights, T, mean):
    """Log of weight times density, for every item and component, shape (n, K)."""
    log_det = np.log(np.diagonal(T, axis1=1, axis2=2)).sum(axis=1)
    y = np.einsum("kji,nkj->nki", T, X[:, None] - mean)
    return log_weights + log_det - 0.5 * (y**2).sum(axis=2) - X.shape[1] / 2 * LOG_2_PI


def draw_labels(X, point, family, rng):
    """Draw the labels of all items given the parameters."""
    table = log_joint_table(X, *parameters(point, family))
    return (table + rng.gumbel(size=table.shape)).argmax(axis=1)


def values_of(model, points):
    """Values of the random variables, from points in unconstrained coordinates."""
    names = [variable.name for variable in model.free_RVs]
    function = model.compile_fn(model.unobserved_value_vars, inputs=model.value_vars, on_unused_input="ignore")
    every = [variable.name for variable in model.unobserved_value_vars]
    return [{name: x for name, x in zip(every, function(point), strict=True) if name in names} for point in points]


def check(family, alpha=1.3, n=7, n_components=4):
    """Check the log density of both models against SciPy's distributions at a random point."""
    rng = np.random.default_rng(1)
    d = len(family.Psi)
    X = rng.normal(0, 3, (n, d))
    point = {
        "square": rng.chisquare(family.nu, (n_components, d)),
        "below": rng.normal(size=(n_components, d * (d - 1) // 2)),
        "v": rng.beta(1, alpha, n_components - 1),
        "mean": rng.normal(0, 3, (n_components, d)),
    }
    log_weights, T, mean = parameters(point, family)
    covariances = np.linalg.inv(T @ T.transpose(0, 2, 1))
    F = np.linalg.cholesky(np.linalg.inv(family.Psi))
    i = np.arange(d)
    log_prior = stats.beta(1, alpha).logpdf(point["v"]).sum()
    for k, covariance in enumerate(covariances):
        # Change variables from the covariance to the squared diagonal of A and its entries below: with Lambda = T T',
        # |dSigma| = |Lambda|^-(d+1) |dLambda|, |dLambda| = 2^d prod T_ii^(d-i) |dT|, |dT| = prod F_ii^(i+1) |dA|.
        jacobian = (d + 1) * np.linalg.slogdet(covariance)[1] + d * math.log(2)
        jacobian += ((d - i) * np.log(np.diag(T[k])) + (i + 1) * np.log(np.diag(F))).sum()
        jacobian -= (math.log(2) + 0.5 * np.log(point["square"][k])).sum()
        log_prior += stats.invwishart(family.nu, family.Psi).logpdf(covariance) + jacobian
        mu = np.broadcast_to(family.mu, d)
        log_prior += stats.multivariate_normal(mu, covariance / family.kappa).logpdf(mean[k])
    table = np.array([stats.multivariate_normal(mean[k], covariances[k]).logpdf(X) for k in range(n_components)]).T
    labels = rng.integers(0, n_components, n)
    expected = {
        marginal_model: logsumexp(table + log_weights, axis=1).sum(),
        label_model: (table + log_weights)[np.arange(n), labels].sum(),
    }
    for make, log_likelihood in expected.items():
        model = make(X, family, alpha, n_components)
        unconstrained = {"square": np.log, "v": lambda v: np.log(v) - np.log1p(-v)}
        values = {}
        for variable, value in model.rvs_to_values.items():
            given = (point | {"labels": labels})[variable.name]
            values[value.name] = unconstrained.get(variable.name, lambda x: x)(given)
        found = float(model.compile_fn(model.logp(jacobian=False))(values))
        assert abs(found - log_prior - log_likelihood) < 1e-6, (make.__name__, found, log_prior + log_likelihood)
