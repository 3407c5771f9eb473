"""Log marginals of the families in exact rational arithmetic or 40 digits, and the log probability of a partition."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

import pymc_nrm as nrm


def log(x):
    """Logarithm of a positive fraction, however large or small."""
    return math.log(x.numerator) - math.log(x.denominator)


def log1p(x):
    """Logarithm of one plus a fraction, also where the fraction is tiny."""
    return math.log1p(float(x)) if abs(x) < Fraction(1, 2) else log(1 + x)


def log_gamma_ratio(a, m):
    """``log Gamma(a + m) / Gamma(a)`` for m >= 0, without cancellation for large a."""
    a, m = float(a), float(m)
    if m == 0.0:
        return 0.0
    if a < 1e3:
        return math.lgamma(a + m) - math.lgamma(a)
    return (a + m - 0.5) * math.log1p(m / a) + m * (math.log(a) - 1.0) + _stirling(a + m) - _stirling(a)


def decimal_log_gamma(x):
    """``log Gamma(x)`` of a Decimal, to all digits of the context beyond about 24 behind the point."""
    if x < 1000:
        return Decimal(math.lgamma(x))
    series = (1 / Decimal(12) - (1 / Decimal(360) - 1 / (1260 * x * x)) / (x * x)) / x
    return (x - Decimal("0.5")) * x.ln() - x + Decimal(math.log(2.0 * math.pi) / 2.0) + series


def decimal_log_gamma_ratio(a, m):
    """:func:`log_gamma_ratio` as a Decimal: for large m its terms may cancel those of log factorials."""
    if m < 1e3:
        return Decimal(log_gamma_ratio(a, m))
    a, m = Decimal(float(a)), Decimal(float(m))
    with localcontext() as context:
        context.prec = 40 + max(0, a.adjusted())
        return decimal_log_gamma(a + m) - decimal_log_gamma(a)


def log_factorials(counts):
    """Sum of the log factorials of some counts, as a Decimal."""
    with localcontext() as context:
        context.prec = 40
        return sum(decimal_log_gamma(Decimal(float(x)) + 1) for x in np.ravel(counts))


def _stirling(x):
    return 1.0 / (12.0 * x) - 1.0 / (360.0 * x**3) if x < 1e100 else 0.0


def _fractions(x):
    return [Fraction(float(value)) for value in x]


def _location_scale(x, mu, kappa):
    """Scatter about the mean plus the part of the prior mean, of one or two features of values x."""
    n = len(x[0])
    means = [sum(values) / n for values in x]
    weight = kappa * n / (kappa + n)
    return [
        [
            sum((a - means[i]) * (b - means[j]) for a, b in zip(x[i], x[j], strict=True))
            + weight * (means[i] - mu[i]) * (means[j] - mu[j])
            for j in range(len(x))
        ]
        for i in range(len(x))
    ]


def normal_gamma(family, X):
    """Each feature is a normal-Wishart one of one dimension."""
    total = 0.0
    for values, mu, kappa, alpha, beta in zip(X.T, *family, strict=True):
        known = values[~np.isnan(values), None]
        if len(known):
            total += normal_wishart(nrm.NormalWishart([mu], kappa, [[2.0 * beta]], 2.0 * alpha), known)
    return total


def normal_wishart(family, X):
    n, d = X.shape
    nu, kappa = Fraction(float(family.nu)), Fraction(float(family.kappa))
    Psi = [_fractions(row) for row in np.asarray(family.Psi)]
    # The kernel reads one triangle; a user's matrix is symmetric up to rounding.
    Psi = [[Psi[max(i, j)][min(i, j)] for j in range(d)] for i in range(d)]
    added = _location_scale([_fractions(values) for values in X.T], _fractions(family.mu), kappa)
    before = _determinant(Psi)
    after = _determinant([[a + b for a, b in zip(*rows, strict=True)] for rows in zip(Psi, added, strict=True)])
    if before <= 0 or after <= 0:
        return None
    total = -n * d / 2 * math.log(math.pi) - d / 2 * log1p(n / kappa)
    total += -float(nu) / 2 * log1p((after - before) / before) - n / 2 * log(after)
    return total + sum(log_gamma_ratio((nu - i) / 2, n / 2) for i in range(d))


def normal_regression(family, X):
    """The items are the first rows of the covariates."""
    items = [_fractions([*w, y]) for w, [y] in zip(family.covariates, X, strict=False) if not np.isnan(y)]
    return _regression(family, len(items), [(1, v) for v in items])


def normal_trajectory(family, X):
    """Rows about the means of their items, and the means times the number m of responses over 1 + m ratio."""
    rows, n, total, [ratio] = [], 0, 0.0, _fractions([family.ratio])
    for W, y in zip(family.covariates, X, strict=False):
        item = [_fractions([*w, value]) for w, value in zip(W, y, strict=True) if not np.isnan(value)]
        if item:
            m = len(item)
            mean = [sum(column) / m for column in zip(*item, strict=True)]
            rows += [(1, [a - b for a, b in zip(v, mean, strict=True)]) for v in item]
            rows.append((m / (1 + m * ratio), mean))
            n, total = n + m, total - log1p(m * ratio) / 2
    found = _regression(family, n, rows)
    return None if found is None else total + found


def _regression(family, n, rows):
    """The log marginal of n responses from pairs of a weight and a row of covariates and response."""
    p = len(family.mu)
    mu, [alpha, beta] = _fractions(family.mu), _fractions([family.alpha, family.beta])
    Lambda = [_fractions(row) for row in np.asarray(family.Lambda)]
    product = [sum(a * b for a, b in zip(row, mu, strict=True)) for row in Lambda]
    last = [*product, sum(a * b for a, b in zip(product, mu, strict=True)) + 2 * beta]
    before = [[*row, a] for row, a in zip(Lambda, product, strict=True)] + [last]
    after = [
        [before[i][j] + sum(weight * v[i] * v[j] for weight, v in rows) for j in range(p + 1)] for i in range(p + 1)
    ]
    old, new = (_determinant([row[:p] for row in rows[:p]]) for rows in (before, after))
    if old <= 0 or new <= 0:
        return None
    beta_n = _determinant(after) / new / 2
    total = log_gamma_ratio(alpha, n / 2) - n / 2 * (log(beta_n) + math.log(2.0 * math.pi))
    return total - float(alpha) * log1p((beta_n - beta) / beta) - log1p((new - old) / old) / 2


def _determinant(matrix):
    """Determinant of a matrix of fractions, by elimination."""
    rows, determinant = [list(row) for row in matrix], Fraction(1)
    for i in range(len(rows)):
        if rows[i][i] <= 0:
            return Fraction(0)
        determinant *= rows[i][i]
        for j in range(i + 1, len(rows)):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return determinant


def poisson_gamma(family, X):
    with localcontext() as context:
        context.prec = 40
        total = Decimal(0)
        for values, alpha, beta in zip(X.T, *family, strict=True):
            values = values[~np.isnan(values)]
            n, s = len(values), values.sum()
            total -= log_factorials(values)
            total += decimal_log_gamma_ratio(alpha, s) - Decimal(float(alpha) * log1p(n / Fraction(float(beta))))
            total -= Decimal(float(s)) * (Decimal(float(beta)) + n).ln()
        return float(total)


def bernoulli_beta(family, X):
    return categorical_dirichlet(nrm.CategoricalDirichlet(np.stack([family.beta, family.alpha], axis=1)), X)


def categorical_dirichlet(family, X):
    total = 0.0
    for values, alpha in zip(X.T, np.asarray(family.alpha), strict=True):
        counts = np.array([(values == level).sum() for level in range(len(alpha))])
        if (counts[alpha == 0.0] > 0).any():
            return -math.inf
        total += sum(log_gamma_ratio(a, m) for a, m in zip(alpha, counts, strict=True) if m > 0)
        total -= log_gamma_ratio(math.fsum(alpha), counts.sum()) if counts.sum() else 0.0
    return total


def multinomial_dirichlet(family, X):
    counts, alpha = X.sum(axis=0), np.asarray(family.alpha)
    with localcontext() as context:
        context.prec = 40
        total = log_factorials(X.sum(axis=1)) - log_factorials(X)
        total += sum(decimal_log_gamma_ratio(a, m) for a, m in zip(alpha, counts, strict=True))
        return float(total - decimal_log_gamma_ratio(math.fsum(alpha), counts.sum()))


def of_logarithms(inner):
    """The log marginal of columns whose logarithms have another family: that of logarithms, less their sum."""

    def log_marginal(family, X):
        is_log = np.asarray(family.log_columns) == 1.0
        logs = np.where(is_log, np.log(np.where(is_log, X, 1.0)), X)
        return inner(family[1:] if inner is normal_gamma else nrm.NormalWishart(*family[1:]), logs) - np.nansum(
            logs[:, is_log]
        )

    return log_marginal


def of_zeros(family, X):
    """The log marginal of what is positive."""
    positive = np.where(np.isnan(X), np.nan, X > 0)
    return categorical_dirichlet(nrm.CategoricalDirichlet(np.stack([family.zeros, family.ones], axis=1)), positive)


def hurdle_log_normal(family, X):
    logs = np.log(np.where(X > 0, X, np.nan))
    return of_zeros(family, X) + normal_gamma(family[2:], logs) - np.nansum(logs)


def hurdle_poisson(family, X):
    return of_zeros(family, X) + poisson_gamma(family[2:], np.where(X > 0, X - 1, np.nan))


class _ByFamily(dict):
    def __missing__(self, name):
        raise KeyError(f"LOG_MARGINALS of tests/tools/attack/reference.py must have the log marginal of {name}")


LOG_MARGINALS = _ByFamily(
    {
        "HurdleLogNormal": hurdle_log_normal,
        "HurdlePoisson": hurdle_poisson,
        "LogNormalGamma": of_logarithms(normal_gamma),
        "LogNormalWishart": of_logarithms(normal_wishart),
        "NormalGamma": normal_gamma,
        "NormalRegression": normal_regression,
        "NormalTrajectory": normal_trajectory,
        "NormalWishart": normal_wishart,
        "PoissonGamma": poisson_gamma,
        "BernoulliBeta": bernoulli_beta,
        "CategoricalDirichlet": categorical_dirichlet,
        "MultinomialDirichlet": multinomial_dirichlet,
    }
)


def digits(*parameters):
    """A context whose numbers have 60 digits, and as many more as the smallest of the parameters has zeros."""
    return localcontext(prec=60 + max(0, *(-Decimal(x).adjusted() for x in parameters if x > 0)))


def pitman_yor_process(discount, concentration, counts):
    """Log probability of a partition under the Pitman-Yor process, as a Decimal."""
    with digits(discount, concentration):
        d, t, n = Decimal(discount), Decimal(concentration), int(sum(counts))
        value = sum((t + i * d).ln() for i in range(1, len(counts))) - sum((t + i).ln() for i in range(1, n))
        return value + sum((i - d).ln() for m in counts for i in range(1, int(m)))


def mixture_of_finite_mixtures(gamma, rate, counts):
    """Log probability of a partition under a mixture of finite mixtures, a sum over the number of components."""
    # exp(rate) - 1 loses the digits that a small rate has behind the point.
    with digits(gamma, rate):
        gamma, rate, n, k = Decimal(gamma), Decimal(rate), int(sum(counts)), len(counts)
        term, total = rate**k, Decimal(0)
        for m in range(int(rate + 12 * rate.sqrt()) + 80):
            term *= rate / m if m > 0 else 1
            total += term / math.prod(gamma * (k + m) + i for i in range(n))
        sizes = math.prod(gamma + i for size in counts for i in range(int(size)))
        return (sizes * total / (rate.exp() - 1)).ln()


def dirichlet_process(alpha, counts):
    """Log probability of a partition under the Dirichlet process, as a Decimal."""
    return pitman_yor_process(0, alpha, counts)


LOG_EPPFS = {
    "DirichletProcess": dirichlet_process,
    "PitmanYorProcess": pitman_yor_process,
    "MixtureOfFiniteMixtures": mixture_of_finite_mixtures,
}
