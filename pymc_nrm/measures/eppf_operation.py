"""The log EPPF of a generalized gamma measure and its derivatives in one operation.

PyTensor compiles a graph operation by operation, and rewrites it in every process; the same formulas as a graph have
thirty operations.
"""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp, symbolic_pullback
from pymc_nrm.kernels.special import digamma
from pymc_nrm.measures.gibbs_type import symbolic_size_factors
from pymc_nrm.measures.quadrature import N_NODES, find_window, log_integrand, symbolic_log_integral


@kernel
def expm1_ratio_slope(y):
    """Derivative of ``expm1(y) / y`` at y >= 0."""
    if y < 0.1:
        series = 0.0
        for order in range(9, 0, -1):
            # y^(order - 1) has the coefficient order / (order + 1)!.
            series = order + y * series / (order + 2.0)
        return 0.5 * series
    return (math.exp(y) - math.expm1(y) / y) / y


@kernel
def log_integral_with_slopes(n, k, alpha, sigma):
    """Logarithm of I(n, k), and its derivatives in alpha and sigma at fixed nodes; see ``quadrature.py``."""
    low, high = find_window(n, k, alpha, sigma)
    spacing = (high - low) / (N_NODES - 1)
    values, x, L, largest = np.empty(N_NODES), np.empty(N_NODES), np.empty(N_NODES), -math.inf
    for j in range(N_NODES):
        x[j], L[j], _, values[j] = log_integrand(n, k, alpha, sigma, low + j * spacing)
        largest = max(largest, values[j])
    total, in_alpha, in_sigma = 0.0, 0.0, 0.0
    for j in range(N_NODES):
        weight = math.exp(values[j] - largest)
        total += weight
        # Where it is 0, x may be infinite.
        if weight != 0.0:
            in_alpha -= weight * x[j]
            in_sigma += weight * L[j] * (k - alpha * L[j] * expm1_ratio_slope(sigma * L[j]))
    return largest + math.log(total) + math.log(spacing), in_alpha / total, in_sigma / total


@kernel
def log_eppf_with_slopes(counts, alpha, sigma):
    """Log EPPF of cluster sizes, and its derivatives in alpha and sigma; all are arrays."""
    alpha, sigma, k = alpha.item(), sigma.item(), counts.shape[0]
    n, n_larger, sizes, slope = 0, 0, 0.0, 0.0
    for m in counts:
        n += m
        # The second term of log Gamma(m - sigma) - log Gamma(1 - sigma) diverges as sigma tends to 1.
        if m > 1:
            n_larger += 1
            sizes += math.lgamma(m - sigma)
            slope -= digamma(m - sigma)
    sizes += n_larger * (math.log1p(-sigma) - math.lgamma(2.0 - sigma))
    slope += n_larger * (digamma(2.0 - sigma) - 1.0 / (1.0 - sigma))
    log_integral, in_alpha, in_sigma = log_integral_with_slopes(float(n), float(k), alpha, sigma)
    value = k * math.log(alpha) + sizes - math.lgamma(n) + log_integral
    return np.asarray(value), np.asarray(k / alpha + in_alpha), np.asarray(slope + in_sigma)


def symbolic_log_eppf_by_nodes(counts, alpha, sigma):
    """The log EPPF as a graph, which has derivatives of any order."""
    n, k = counts.sum(), counts.shape[0]
    sizes = symbolic_size_factors(counts, sigma)
    return k * pt.log(alpha) + sizes - pt.gammaln(n) + symbolic_log_integral(n, k, alpha, sigma)


class LogEPPF(KernelOp):
    """Log EPPF, and its derivatives in alpha and sigma, from sizes of clusters (k,), alpha and sigma."""

    kernel = log_eppf_with_slopes
    constant = (0,)
    gufunc_signature = "(k),(),()->(),(),()"

    def make_node(self, counts, alpha, sigma):
        inputs = [pt.as_tensor(counts).astype("int64"), *(pt.as_tensor(x).astype("float64") for x in (alpha, sigma))]
        return Apply(self, inputs, [pt.dscalar(), pt.dscalar(), pt.dscalar()])

    def infer_shape(self, node, input_shapes):
        return [(), (), ()]

    def pullback(self, inputs, outputs, cotangents):
        of_value, *of_slopes = cotangents
        result = [disconnected_type(), *(pt.zeros_like(value) for value in inputs[1:])]
        if not isinstance(of_value.type, DisconnectedType):
            result[1:] = [of_value * slope for slope in outputs[1:]]
        if any(not isinstance(cotangent.type, DisconnectedType) for cotangent in of_slopes):

            def slopes(counts, alpha, sigma):
                return pt.grad(symbolic_log_eppf_by_nodes(counts, alpha, sigma), [alpha, sigma])

            second = symbolic_pullback(slopes, inputs, of_slopes, self.constant)
            result[1:] = [a + b for a, b in zip(result[1:], second[1:], strict=True)]
        return result
