"""Cholesky factors in kernels; numba takes many times as long to compile the functions of NumPy."""

import math

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_gamma

# A pivot below this share of its diagonal entry has fewer than about ten digits.
_LEAST_PIVOT = 1e-6


@kernel
def factor_in_place(A):
    """Overwrite the lower triangle with the Cholesky factor; return False if a pivot loses digits."""
    right = True
    for i in range(A.shape[0]):
        diagonal = A[i, i]
        for j in range(i + 1):
            total = A[i, j]
            for m in range(j):
                total -= A[i, m] * A[j, m]
            if i == j:
                right &= total > _LEAST_PIVOT * diagonal
            A[i, j] = math.sqrt(total) if i == j else total / A[j, j]
    return right


@kernel
def invert_factored(factor, inverse):
    """Write the inverse of a matrix from its Cholesky factor; return its log determinant."""
    d = inverse.shape[0]
    log_determinant = 0.0
    # First the inverse of the factor, in the lower triangle.
    for i in range(d):
        log_determinant += 2.0 * math.log(factor[i, i])
        inverse[i, i] = 1.0 / factor[i, i]
        for j in range(i):
            total = 0.0
            for m in range(j, i):
                total -= factor[i, m] * inverse[m, j]
            inverse[i, j] = total * inverse[i, i]
    # Entry (i, j) of the product needs row i from column j on, and the rows below.
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for m in range(i, d):
                total += inverse[m, i] * inverse[m, j]
            inverse[i, j] = total
    for i in range(d):
        for j in range(i):
            inverse[j, i] = inverse[i, j]
    return log_determinant


@kernel
def solve_column(factor, x):
    """Replace x by the solution of ``L y = x`` for a lower triangular factor; return its squared length."""
    length = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            x[i] -= factor[i, j] * x[j]
        x[i] /= factor[i, i]
        length += x[i] * x[i]
    return length


@kernel
def draw_bartlett(nu, rng, bartlett):
    """Write a lower triangular A with A A' ~ Wishart(nu, I), over the lower triangle of a matrix."""
    for i in range(bartlett.shape[0]):
        bartlett[i, i] = math.sqrt(2.0 * draw_gamma(rng, 0.5 * (nu - i)))
        for j in range(i):
            bartlett[i, j] = rng.standard_normal()


@kernel
def draw_inverse_wishart(factor, nu, rng, bartlett, root):
    """Draw S with inverse(S) ~ Wishart(nu, inverse(F F')), given F: write R with R R' = S and a lower triangular A.

    inverse(S) is inverse(F)' A A' inverse(F), with A A' ~ Wishart(nu, I) (Bartlett), and R is F inverse(A)'.
    """
    d = root.shape[0]
    draw_bartlett(nu, rng, bartlett)
    # Solve R A' = F row by row; A' is upper triangular.
    for i in range(d):
        for j in range(d):
            total = factor[i, j] if j <= i else 0.0
            for m in range(j):
                total -= root[i, m] * bartlett[j, m]
            root[i, j] = total / bartlett[j, j]
