"""``check_measure`` names the function that is wrong: each case has one wrong function and is right otherwise."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.gradient import zero_grad

from pymc_nrm.families import PoissonGamma
from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma, base
from pymc_nrm.testing import CheckError, check_measure


def test_the_measures_of_the_package_pass(compiled_measure):
    check_measure(compiled_measure)


def right(generic):
    return generic.dispatch(DirichletProcess)


def log_eppf(measure, counts):
    return right(base.log_eppf)(measure, counts) + 1e-3 * counts.shape[0]


def log_eppf_of_other_measure(measure, counts):
    return right(base.log_eppf)(DirichletProcess(measure.alpha + 1e-3), counts)


def log_eppf_that_depends_on_the_order(measure, counts):
    # Sizes in falling order have the right probability, and only few items are wrong.
    return right(base.log_eppf)(measure, counts) + (1e-3 if counts[0] < counts[-1] and counts.sum() > 6 else 0.0)


def symbolic_log_eppf(measure, counts):
    return right(base.symbolic_log_eppf)(measure, counts) + 1e-3


def symbolic_log_eppf_with_nan(measure, counts):
    return right(base.symbolic_log_eppf)(measure, counts) + pt.sqrt(abs(measure.alpha - 1.5))


def symbolic_log_eppf_without_gradient(measure, counts):
    return right(base.symbolic_log_eppf)(DirichletProcess(zero_grad(measure.alpha)), counts) + 0.0 * measure.alpha


def n_clusters_log_pmf(measure, n):
    return np.roll(right(base.n_clusters_log_pmf)(measure, n), 1)


def n_clusters_log_pmf_of_many(measure, n):
    return right(base.n_clusters_log_pmf)(measure, n) + (1e-3 if n > 100 else 0.0)


def n_clusters_mean(measure, n):
    return right(base.n_clusters_mean)(measure, n) + 1e-3


def weights(measure, n, log_u):
    table = right(base.weights)(measure, n, log_u)
    table.join[0] += 0.01
    return table


def weights_of_other_measure(measure, n, log_u):
    return right(base.weights)(DirichletProcess(measure.alpha * 1.01), n, log_u)


def short_weights(measure, n, log_u):
    return right(base.weights)(measure, n - 1, log_u)


def log_joint_term(measure, n, log_u):
    return right(base.log_joint_term)(measure, n, log_u) + 1e-3 * n


def log_joint_increment(measure, n, log_u):
    return right(base.log_joint_increment)(measure, n, log_u) + 1e-3


def draw_log_auxiliary(measure, n, n_clusters, rng):
    return right(base.draw_log_auxiliary)(measure, n, n_clusters, rng) + 0.2


def draw_partition(measure, n, rng):
    return right(base.draw_partition)(DirichletProcess(1.3 * measure.alpha), n, rng)


def draw_partition_in_reverse(measure, n, rng):
    labels = right(base.draw_partition)(measure, n, rng)
    return labels.max(initial=0) - labels


WRONG = [
    (base.log_eppf, log_eppf, "log_eppf of Wrong is wrong: probabilities of all partitions of 1 items sum to"),
    (
        base.log_eppf,
        log_eppf_that_depends_on_the_order,
        r"log_eppf of Wrong is wrong: for clusters of \[1, 9, 40\] items",
    ),
    (base.log_eppf, log_eppf_of_other_measure, "symbolic_log_eppf of Wrong is wrong"),
    (base.symbolic_log_eppf, symbolic_log_eppf, r"symbolic_log_eppf of Wrong is wrong: for clusters of \[1\] items it"),
    (
        base.symbolic_log_eppf,
        symbolic_log_eppf_with_nan,
        "symbolic_log_eppf of Wrong .* derivative in alpha is nan",
    ),
    (base.symbolic_log_eppf, symbolic_log_eppf_without_gradient, "symbolic_log_eppf of Wrong .* times 1.5, is 0.0"),
    (base.n_clusters_log_pmf, n_clusters_log_pmf, "n_clusters_log_pmf of Wrong is wrong: the probability among 6"),
    (base.n_clusters_log_pmf, n_clusters_log_pmf_of_many, "n_clusters_log_pmf of Wrong .* 200 items sum to"),
    (base.n_clusters_mean, n_clusters_mean, "n_clusters_mean of Wrong is wrong: of 6 items it is"),
    (base.weights, weights, "weights of Wrong is wrong: unlike the sums of join, moment"),
    (base.weights, short_weights, r"weights of Wrong is wrong: join for 1 items has shape \(1,\), not \(2,\)"),
    (base.weights, weights_of_other_measure, "weights or log_joint_term of Wrong is wrong: the joint density"),
    (base.log_joint_term, log_joint_term, "log_joint_term of Wrong is wrong: the joint density"),
    (base.log_joint_increment, log_joint_increment, "log_joint_increment of Wrong is wrong: unlike the difference"),
    (base.draw_log_auxiliary, draw_log_auxiliary, "draw_log_auxiliary of Wrong is wrong: for clusters of"),
    (base.draw_partition, draw_partition, "draw_partition of Wrong is wrong: the"),
    (base.draw_partition, draw_partition_in_reverse, "draw_partition of Wrong is wrong: labels .* order of appearance"),
]


@pytest.mark.parametrize("generic, implementation, message", WRONG, ids=[row[1].__name__ for row in WRONG])
def test_a_wrong_function_is_named(generic, implementation, message):
    Wrong = type("Wrong", (DirichletProcess,), {generic.__name__: implementation})
    with pytest.raises(CheckError, match=message):
        check_measure(Wrong(1.5), compiled=False)


def test_whole_numbers_that_overflow_when_compiled_are_noticed():
    class Wrong(DirichletProcess):
        def log_joint_term(self, n, log_u):
            factorial = 1
            for i in range(30):
                factorial *= i + 1
            # In 64 bits it is negative.
            offset = 0.0 if factorial < 0 else 1e-3
            return base.log_joint_term(DirichletProcess(self.alpha), n, log_u) + offset

    with pytest.raises(CheckError, match="log_joint_term of Wrong is wrong: compiled, unlike in Python, it is"):
        check_measure(Wrong(1.5))


def test_a_measure_without_a_required_function_is_refused():
    class Wrong(NormalizedGeneralizedGamma):
        draw_partition = base.draw_partition.dispatch(object)

    with pytest.raises(NotImplementedError, match="Wrong has no draw_partition, which check_measure needs"):
        check_measure(Wrong())


def test_a_family_is_refused():
    with pytest.raises(TypeError, match="measure must be a measure"):
        check_measure(PoissonGamma())
