"""What block models refuse, and what they say about it."""

import logging

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.networks import BlockModel, block_data, block_models
from tests.helpers import refused

A = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
BERNOULLI, POISSON = nrm.BernoulliBeta(1.0, 1.0), nrm.PoissonGamma(1.0, 1.0)


def changed(*entries):
    matrix = A.copy()
    for i, j, value in entries:
        matrix[i, j] = value
    return matrix


def block_model(observed, family=BERNOULLI, n=3, columns=None, **options):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=n)
        if columns is not None:
            z = (z, nrm.Partition("w", nrm.DirichletProcess(1.0), n=columns))
        BlockModel("ties", z, family, observed=observed, **options)
    return model


def observed_of(**kwargs):
    return lambda: block_model(**kwargs)


def test_labels_that_are_set_must_be_valid():
    done = pm.do(block_model(A), {"z": np.array([2, 0, 1])})
    with pytest.raises(ValueError, match=r"^labels 'z' of a Partition must be numbered from 0"):
        done.compile_logp(mode="FAST_COMPILE")({})


test_data_are_refused = refused(
    lambda make: make(),
    (observed_of(observed=A[:2]), r"observed of BlockModel 'ties' must have the shape \(3, 3\).*got shape \(2, 3\)"),
    (observed_of(observed=A, n=4), r"must have the shape \(4, 4\).*items of 'z'.*got shape \(3, 3\)"),
    (observed_of(observed=A, columns=2), r"must have the shape \(3, 2\).*'z' and 'w'"),
    (observed_of(observed=[1.0, 2.0, 3.0]), r"got shape \(3,\)"),
    (
        observed_of(observed=changed((0, 2, 1)), directed=False),
        r"must be symmetric.*entry \[0, 2\] is 1 and entry \[2, 0\] is 0",
    ),
    (observed_of(observed=changed((0, 1, np.nan)), directed=False), r"entry \[0, 1\] is nan and entry \[1, 0\] is 1"),
    (observed_of(observed=changed((1, 2, -2), (2, 1, -2)), family=POISSON), r"at least 0; got -2.0 in row 1, column 2"),
    (observed_of(observed=2 * A), r"'ties'.*must be 0, 1 or NaN; got 2.0 in row 0, column 1"),
    (
        observed_of(observed=changed((1, 2, 0.5), (2, 1, 0.5)), family=nrm.CategoricalDirichlet(1.0)),
        r"'ties'.*must be whole numbers; got 0.5 in row 1, column 2",
    ),
    (observed_of(observed=sparse.csr_matrix(-A), family=POISSON), r"at least 0; got -1.0 in row 0, column 1"),
    (observed_of(observed=np.full((3, 3), np.nan)), "at least one observed pair"),
    (observed_of(observed=np.where(np.eye(3), 1.0, np.nan)), "at least one observed pair"),
    (observed_of(observed=None), "must be a matrix; got None"),
    (observed_of(observed=changed((0, 1, np.nan), (1, 0, np.nan)), family=POISSON, degree_corrected=1.0), "no NaN"),
    (observed_of(observed=A, degree_corrected=1.0), "degree_corrected must be None unless the family is PoissonGamma"),
    *[
        (
            observed_of(observed=A, family=POISSON, degree_corrected=value),
            f"degree_corrected must be a finite positive number, or a scalar tensor; got {text}",
        )
        for value, text in [
            (-1.0, "-1.0"),
            (np.inf, "inf"),
            (np.nan, "nan"),
            (True, "True"),
            (np.array(True), "array.True."),
            ([1.0, 2.0], ".1.0, 2.0."),
            ("1", "'1'"),
            (pt.constant(np.inf), "inf"),
            (pt.vector("c"), "c of type Vector"),
        ]
    ],
    (observed_of(observed=A, family=POISSON, columns=3, directed=True), "directed must be omitted for a table"),
    (observed_of(observed=A, directed=1), TypeError, "directed must be True or False; got 1"),
    (observed_of(observed=A, family="Bernoulli"), TypeError, "family must be a family"),
    (observed_of(observed="A"), TypeError, "must be real numbers"),
)


def test_partitions_are_refused():
    with pm.Model():
        slots = nrm.Partition("slots", nrm.DirichletProcess(1.0), n=3, max_clusters=4)
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        with pytest.raises(ValueError, match="without max_clusters.*got 'slots'"):
            BlockModel("ties", slots, BERNOULLI, observed=A)
        with pytest.raises(TypeError, match="partition must be a Partition"):
            BlockModel("ties", A, BERNOULLI, observed=A)
        with pytest.raises(ValueError, match="different Partitions; got 'z' twice"):
            BlockModel("ties", (z, z), BERNOULLI, observed=A)


def test_the_log_says_whether_a_network_is_directed(caplog):
    with caplog.at_level(logging.INFO, "pymc.nrm_models"):
        assert not block_data(block_model(A), "ties").directed
        assert block_data(block_model(changed((0, 2, 1))), "ties").directed
        block_model(A, directed=False)
    said = [record.getMessage() for record in caplog.records if "BlockModel" in record.getMessage()]
    assert ["undirected" in said[0], "directed=True" in said[1], len(said)] == [True, True, 2]


def test_other_steps_and_other_uses_of_labels_are_refused():
    model = block_model(A)
    with model, pytest.raises(ValueError, match="'ties' must not depend on the labels"):
        nrm.steps.TreeGuided([model["z"]])
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        BlockModel("ties", z, nrm.BernoulliBeta(1.0 + z.max(), 1.0), observed=A, directed=False)
        with pytest.raises(ValueError, match="'ties' must not depend on the labels"):
            nrm.networks.BlockSampler([z])


def test_block_models_of_a_partition_are_found():
    with pm.Model() as model:
        z, w = (nrm.Partition(name, nrm.DirichletProcess(1.0), n=3) for name in "zw")
        BlockModel("ties", z, BERNOULLI, observed=A, directed=False)
        BlockModel("visits", (z, w), POISSON, observed=A)
    assert [rv.name for rv in block_models(model)] == ["ties", "visits"]
    assert [rv.name for rv in block_models(model, w)] == ["visits"]
    with pytest.raises(ValueError, match=r"one of \['ties', 'visits'\]; got 'z'"):
        block_data(model, "z")
    data = block_data(model, "ties")
    prepared = data.prepared(BERNOULLI._replace(alpha=np.ones(1), beta=np.ones(1)))
    sums = data.sums(BERNOULLI._replace(alpha=np.ones(1), beta=np.ones(1)), prepared, np.array([0, 0, 1]))
    # Ones and zeros of the pairs within and between {0, 1} and {2}.
    np.testing.assert_array_equal(sums, [[[1, 0], [1, 1]], [[1, 1], [0, 0]]])
