"""The Levy intensity of a normalized random measure: a homogeneous completely random measure divided by its total mass.

If rho is the Levy intensity, the Laplace exponent is ``psi(u) = int (1 - exp(-u w)) rho(dw)``, the tilted moments are
``kappa(m, u) = int w^m exp(-u w) rho(dw)``, and the joint density of a partition of n items and of the auxiliary
variable u is ``u^(n-1) exp(-psi(u)) / Gamma(n) prod_c kappa(n_c, u)`` (James, Lijoi & Prünster 2009, eq. 7 and 8).

A measure of finite activity may have no atom, and is meant given that it has one: the joint density is divided by
``1 - exp(-psi(inf))``, where psi(inf) is the mass of rho.

Tables of weights are in units of ``1 / (1 + u)``: ``moment[m] = log kappa'(m, u)`` with ``kappa'(m, u) = (1 + u)^m
kappa(m, u)``, and ``log_joint_term`` is ``(n - 1) log u - n log(1 + u) - psi(u) - log Gamma(n)``.  This moves the
factor ``(1 + u)^-n``, which all partitions of n items share, out of the tables; nothing then cancels if u is huge.

Samplers call none of these functions.  They are the definitions that the tables must agree with.
"""

from pymc_nrm.kernels.generic import generic


@generic
def log_levy_intensity(measure, w):
    """Log density of the Levy intensity rho at w > 0."""
    raise NotImplementedError


@generic
def laplace_exponent(measure, u):
    """Laplace exponent psi(u) for u >= 0."""
    raise NotImplementedError


@generic
def log_tilted_moment(measure, m, u):
    """Log of ``kappa(m, u)``, for m = 1, 2, ... and u >= 0."""
    raise NotImplementedError
