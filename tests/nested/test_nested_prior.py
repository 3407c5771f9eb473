"""The law of nested partitions: it sums to one, is the same in graphs and kernels, and is that of forward draws."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from enumeration import all_values

from pymc_nrm.measures import DirichletProcess, PitmanYorProcess
from pymc_nrm.partitions.nested import Nested, WeightedNested
from pymc_nrm.partitions.nested_laws.forward import draw_nested, draw_paths
from pymc_nrm.partitions.nested_laws.levels import Levels, levels_of, symbolic_levels_of
from pymc_nrm.partitions.nested_laws.prior import log_nested_prior, log_path_prior, symbolic_log_nested_prior

ALPHA, SIGMA, GAMMA = np.array([0.7, 1.3, 0.4]), np.array([0.5, 0.2, 0.0]), np.array([1.5, 0.8, 1.9, 0.6])


def levels(depth, has_discount=False):
    return Levels(ALPHA[:depth].copy(), SIGMA[:depth] * has_discount)


def log_prior(depth, values, has_discount=False):
    if values.shape[1] == depth:
        return log_path_prior(levels(depth, has_discount), values)
    return log_nested_prior(levels(depth, has_discount), GAMMA[: depth + 1].copy(), values)


def measure_of(depth, has_discount):
    own = levels(depth, has_discount)
    return PitmanYorProcess(own.sigma, own.alpha) if has_discount else DirichletProcess(own.alpha)


def symbolic(depth, has_weights, has_discount):
    """Function of alpha, sigma, gamma and a value that returns its log probability and the gradients."""
    alpha, sigma, gamma, labels = pt.dvector("alpha"), pt.dvector("sigma"), pt.dvector("gamma"), pt.lmatrix("labels")
    measure = PitmanYorProcess(sigma, alpha) if has_discount else DirichletProcess(alpha)
    value = (WeightedNested if has_weights else Nested)(depth)
    own = symbolic_levels_of(measure)
    log_p = symbolic_log_nested_prior(value, own, gamma if has_weights else None, labels, pt.constant(4))
    gradient = pytensor.grad(log_p, [alpha, gamma], disconnected_inputs="ignore")
    mode = pytensor.compile.mode.Mode(linker="py", optimizer="fast_compile")
    compiled = pytensor.function([alpha, sigma, gamma, labels], [log_p, *gradient], on_unused_input="ignore", mode=mode)
    parameters = levels(depth, has_discount)
    return lambda labels, shift=0.0: compiled(
        parameters.alpha + shift, parameters.sigma, GAMMA[: depth + 1] + shift, labels
    )


@pytest.mark.parametrize("has_discount", [False, True])
@pytest.mark.parametrize(
    ("n", "depth", "has_weights", "n_values"), [(3, 1, True, 25), (4, 2, True, 900), (4, 3, False, 155)]
)
def test_probabilities_sum_to_one(n, depth, has_weights, n_values, has_discount):
    values = all_values(n, depth, has_weights)
    if n_values != 155:
        assert len({(*value[:, :depth].ravel(), *value[:, -1]) for value in values}) == n_values
    total = sum(np.exp(log_prior(depth, value, has_discount)) for value in values)
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("depth", "has_weights", "has_discount"), [(1, True, True), (2, True, False), (3, False, True)]
)
def test_graph_and_kernel_agree(depth, has_weights, has_discount):
    function = symbolic(depth, has_weights, has_discount)
    values = all_values(4, depth, has_weights)
    for value in values[:: max(1, len(values) // 50)]:
        log_p, alpha, gamma = function(value)
        assert log_p == pytest.approx(log_prior(depth, value, has_discount), abs=1e-12)
        slope = (function(value, 1e-5)[0] - function(value, -1e-5)[0]) / 2e-5
        assert slope == pytest.approx(alpha.sum() + has_weights * gamma.sum(), abs=1e-6)


def test_other_values_are_impossible():
    function = symbolic(2, True, False)
    value = np.array([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 2, 2, 0], [1, 2, 3, 3, 0]])
    assert np.isfinite(function(value)[0])
    renamed, crossing, across = value.copy(), value.copy(), value.copy()
    renamed[:, 0] = 1 - renamed[:, 0]
    crossing[3, 1] = 1  # a leaf with two parents
    across[3, 2] = 2  # a table in two leaves
    gap, negative, large = value.copy(), value.copy(), value.copy()
    gap[3, 1], negative[3, 1], large[3, 1] = 3, -1, 9
    for wrong in (renamed, crossing, across, gap, negative, large, value[:3]):
        assert function(wrong)[0] == -np.inf


@pytest.mark.parametrize("has_discount", [False, True])
def test_forward_draws_have_the_law(has_discount):
    depth, n_draws = 2, 20_000
    rng = np.random.default_rng(1)
    values = all_values(3, depth, True)
    index = {value.tobytes(): k for k, value in enumerate(values)}
    counts = np.zeros(len(values))
    own = levels(depth, has_discount)
    for _ in range(n_draws):
        counts[index[draw_nested(rng, own, GAMMA[:3].copy(), 3).tobytes()]] += 1
    p = np.exp([log_prior(depth, value, has_discount) for value in values])
    scores = (counts / n_draws - p) / np.sqrt(p * (1 - p) / n_draws)
    assert np.abs(scores).max() < 4.5
    assert (draw_paths(rng, own, 1) == 0).all()


def test_levels_of_measures():
    own = levels_of(measure_of(2, True))
    assert own.alpha.tolist() == [0.7, 1.3]
    assert own.sigma.tolist() == [0.5, 0.2]
