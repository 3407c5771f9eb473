"""``check_measure`` names the function that is wrong: each case has one wrong function and is right otherwise."""

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.gradient import zero_grad

import pymc_nrm as nrm
from pymc_nrm.measures import base
from pymc_nrm.testing import CheckError, check_measure
from tests.helpers import functions_of


@pytest.mark.quick("NormalizedGeneralizedGamma(alpha=0.3, sigma=0.25)")
def test_the_measures_of_the_package_pass(compiled_measure):
    check_measure(compiled_measure)


def right(generic, *arguments):
    return generic.dispatch(nrm.DirichletProcess)(*arguments)


def larger_first_entry(table, *_):
    table.join[0] += 0.01
    return table


def of_other_measure(generic, factor=1.0, by=0.0):
    return lambda value, measure, *rest: right(generic, nrm.DirichletProcess(factor * measure.alpha + by), *rest)


def without_gradient(value, measure, counts):
    return right(base.symbolic_log_eppf, nrm.DirichletProcess(zero_grad(measure.alpha)), counts) + 0.0 * measure.alpha


# What is done to the result of a function, and the message.  Sizes in falling order have the right probability in the
# second row, and only few items are wrong.
WRONG = [
    (
        base.log_eppf,
        lambda value, m, counts: value + 1e-3 * len(counts),
        "the sum of the probabilities of all partitions of 1 items",
    ),
    (
        base.log_eppf,
        lambda value, m, counts: value + (1e-3 if counts[0] < counts[-1] and counts.sum() > 6 else 0.0),
        r"it depends on the order of cluster sizes .*: for \[1, 9, 40\]",
    ),
    (base.symbolic_log_eppf, lambda value, *_: value + 1e-3, r"for cluster sizes \[1\] it"),
    (base.symbolic_log_eppf, lambda value, m, counts: value + pt.sqrt(abs(m.alpha - 1.5)), "times 1.5, is nan"),
    (base.symbolic_log_eppf, without_gradient, "times 1.5, is 0.0"),
    (base.n_clusters_log_pmf, lambda value, *_: np.roll(value, 1), "its value for 6 items"),
    (base.n_clusters_log_pmf, lambda value, m, n: value + (1e-3 if n > 100 else 0.0), "probabilities for 200 items is"),
    (base.n_clusters_mean, lambda value, *_: value + 1e-3, "for 6 items it is"),
    (base.weights, larger_first_entry, "moment differs from the sums of join"),
    (
        base.weights,
        lambda value, measure, n, log_u: right(base.weights, measure, n - 1, log_u),
        r"join for 1 items has shape \(1,\), not \(2,\)",
    ),
    (base.log_joint_increment, lambda value, *_: value + 1e-3, "differs from the increment"),
    (base.draw_log_auxiliary, lambda value, *_: value + 0.2, "for cluster sizes"),
    (base.draw_partition, of_other_measure(base.draw_partition, 1.3), "the"),
    (base.draw_partition, lambda labels, *_: labels.max(initial=0) - labels, "labels .* order of appearance"),
]
WRONG = [(generic, change, f"^{generic.__name__} of Wrong is wrong: .*{message}") for generic, change, message in WRONG]
# Another function is blamed, together with the wrong one or instead of it.
WRONG += [
    (base.log_eppf, of_other_measure(base.log_eppf, by=1e-3), "^symbolic_log_eppf of Wrong is wrong"),
    (
        base.log_joint_term,
        lambda value, m, n, log_u: value + 1e-3 * n,
        "log_joint_term of Wrong is wrong: the integral",
    ),
    (base.weights, of_other_measure(base.weights, 1.01), "^weights or log_joint_term of Wrong is wrong: the integral"),
]


@pytest.mark.every(3)
@pytest.mark.parametrize("generic, change, message", WRONG, ids=[row[2] for row in WRONG])
def test_a_wrong_function_is_named(generic, change, message):
    wrong = functions_of(nrm.DirichletProcess)
    wrong[generic.__name__] = lambda *arguments: change(right(generic, *arguments), *arguments)
    with pytest.raises(CheckError, match=message):
        check_measure(type("Wrong", (nrm.DirichletProcess,), wrong)(1.5), compiled=False)


@pytest.mark.slow
def test_whole_numbers_that_overflow_when_compiled_are_noticed():
    class Wrong(nrm.DirichletProcess):
        # Not inherited, since it must agree with what is overridden.
        weights = base.weights.dispatch(nrm.DirichletProcess)

        def log_joint_term(self, n, log_u):
            factorial = 1
            for i in range(30):
                factorial *= i + 1
            # In 64 bits it is negative.
            offset = 0.0 if factorial < 0 else 1e-3
            return base.log_joint_term(nrm.DirichletProcess(self.alpha), n, log_u) + offset

    with pytest.raises(CheckError, match="log_joint_term of Wrong is wrong: .*compiled"):
        check_measure(Wrong(1.5))


def test_a_measure_without_a_required_function_is_refused():
    class Wrong(nrm.NormalizedGeneralizedGamma):
        draw_partition = base.draw_partition.dispatch(object)

    with pytest.raises(NotImplementedError, match="Wrong has no draw_partition, which check_measure needs"):
        check_measure(Wrong())


def test_a_family_is_refused():
    with pytest.raises(TypeError, match="measure must be a measure"):
        check_measure(nrm.PoissonGamma())
