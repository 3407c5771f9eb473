"""Runs on further rows: how they start, that they have the posterior of all rows, and what is refused."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.recipes import longer_tables, new_rows, update
from pymc_nrm.testing import all_partitions, kernel_inputs
from tests.helpers import assert_law, label_counts, log_density, refused, result_of, seeded

FAMILY, MEASURE = nrm.PoissonGamma(1.0, 0.2), nrm.PitmanYorProcess(0.3, 1.0)
OLD, NEW = np.array([0, 1, 9]), np.array([1, 8])
QUIET = {"chains": 2, "cores": 1, "random_seed": 1, "quiet": True}
TABLE = pd.DataFrame(
    {
        "colour": ["red", "red", "blue", "blue", "red", "blue"],
        "size": ["S", "S", "L", "L", "M", "L"],
        "visits": [1, 0, 7, 9, 1, 8],
    }
)
KINDS = {"visits": "count"}


def model_of(X, data=False):
    """A mixture of counts; its data may be pm.Data."""
    with pm.Model() as model:
        observed = pm.Data("counts", X) if data else X
        z = nrm.Partition("z", MEASURE, n=observed.shape[0])
        nrm.Mixture("x", z, FAMILY, observed=observed)
    return model


def draws(labels, **others):
    """Two chains of one draw."""
    return result_of(z=np.array([[labels]] * 2), **{name: np.array([[one]] * 2) for name, one in others.items()})


def ones_of(model):
    """Ones in the shape of every free variable, none of which is a simplex."""
    point = model.initial_point()
    return {rv.name: np.ones(np.shape(point[model.rvs_to_values[rv].name])) for rv in model.free_RVs}


def test_new_rows_join_clusters_by_their_predictive_probabilities():
    X = np.append(OLD, 4)
    family, data = kernel_inputs(FAMILY, X)
    old = np.array([0, 0, 1])
    log_p = [
        log_eppf(MEASURE, label_counts(labels)) + log_density(family, data, labels)
        for labels in (np.append(old, k) for k in range(3))
    ]
    expected, rng, n = np.exp(log_p - logsumexp(log_p)), seeded("new rows"), 4000
    drawn = [new_rows.labels_of_new_rows(rng, MEASURE, family, data, old, 4)[3] for _ in range(n)]
    found = np.bincount(drawn, minlength=3) / n
    assert (np.abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / n)).all()
    assert (expected > 0.02).all()


def test_rows_that_open_a_cluster_share_it():
    """Ten rows far away: the first opens a cluster, and all others join it."""
    X = np.concatenate([[0, 1, 0, 1], np.full(10, 60)])
    family, data = kernel_inputs(FAMILY, X)
    labels = new_rows.labels_of_new_rows(seeded("share"), MEASURE, family, data, np.zeros(4, dtype=int), 14)
    assert labels.tolist() == [0] * 4 + [1] * 10


@pytest.fixture
def started(monkeypatch):
    """Arguments with which update would sample."""
    found = {}

    def sample(draws, **options):
        found.update(options)
        return "the run"

    monkeypatch.setattr(new_rows, "sample", sample)
    return found


def test_a_table_is_read_as_before(started):
    df = TABLE.assign(length=[1.2, 1.1, 5.0, 5.3, np.nan, 4.9])
    model = nrm.mixture_model(df, kinds=KINDS, measure=nrm.DirichletProcess(pm.Gamma.dist(2.0, 1.0)))
    more = pd.DataFrame(
        {
            "visits": [2, 6],
            "length": [np.nan, 5.1],
            "size": ["M", "L"],
            "colour": ["red", "blue"],
            "class": ["new", "new"],
        }
    )
    last = ones_of(model)
    last |= {"alpha": 0.7, "z": [0, 0, 1, 1, 2, 1]}
    idata = draws(last.pop("z"), **last)
    result, longer = update(idata, model, more, chains=3, random_seed=1, draws=10)
    assert result == "the run" and started["model"] is longer and started["tune"] == 200
    assert longer.coords["item"] == tuple(range(8)) and longer.coords["size_level"] == model.coords["size_level"]
    assert {*longer.named_vars} == {*model.named_vars}
    for rv in model.observed_RVs:
        before, after = (pm.backends.arviz.find_observations(one)[rv.name] for one in (model, longer))
        assert type(rv.owner.op) is type(longer[rv.name].owner.op)
        np.testing.assert_allclose(after[: len(before)], before)
    assert len(started["initvals"]) == 3
    for start in started["initvals"]:
        assert start["z"][:6].tolist() == [0, 0, 1, 1, 2, 1] and len(start["z"]) == 8
        assert start["alpha"] == 0.7
        assert np.isfinite(longer.point_logps(new_rows.initial_point_with(longer, start), round_vals=9)["z"])


def test_entries_of_new_rows_that_are_not_numbers_warn(started):
    model = nrm.mixture_model(TABLE.assign(length=[1.2, 1.1, 5.0, 5.3, 0.7, 4.9]), kinds=KINDS | {"length": "numeric"})
    last = ones_of(model)
    idata = draws([0] * 6, **{name: value for name, value in last.items() if name != "z"})
    with pytest.warns(UserWarning, match=r"in column 'length': 'abc' \(1 row\)"):
        _, longer = update(idata, model, TABLE[:2].assign(length=["abc", "5.0"]), random_seed=1)
    assert len(longer.coords["item"]) == 8
    with pytest.raises(ValueError, match="new_rows: column 'length' must be finite or missing; got inf"):
        update(idata, model, TABLE[:2].assign(length=[np.inf, 5.0]))


def test_missing_entries_that_are_drawn_keep_their_values(started):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(12, 2)), columns=["a", "b"])
    X.iloc[3, 1] = X.iloc[7, 0] = np.nan
    model = nrm.mixture_model(X, covariance="full")
    last = ones_of(model) | {"numeric_missing": [10.0, 20.0]}
    last.pop("z")
    more = pd.DataFrame({"a": [np.nan, 0.1], "b": [0.3, np.nan]})
    _, longer = update(draws(np.zeros(12, dtype=int), **last), model, more, random_seed=1)
    start = started["initvals"][0]["numeric_missing"]
    assert start.shape == (4,) and start[:2].tolist() == [10.0, 20.0] and np.isfinite(start).all()
    assert type(longer["numeric"].owner.op) is type(model["numeric"].owner.op)


def test_data_containers_get_the_new_rows(started):
    model = model_of(OLD, data=True)
    _, longer = update(draws([0, 0, 1]), model, {"counts": NEW}, random_seed=1)
    assert longer is model and longer["counts"].get_value().tolist() == [0, 1, 9, 1, 8]
    assert all(start["z"][:3].tolist() == [0, 0, 1] and len(start["z"]) == 5 for start in started["initvals"])


def test_names_of_new_rows_continue_in_the_next_update(started):
    with pm.Model(coords={"item": ["a", "b", "new 4"]}) as model:
        observed = pm.Data("counts", OLD, dims="item")
        z = nrm.Partition("z", MEASURE, dims="item")
        nrm.Mixture("x", z, FAMILY, observed=observed, dims="item")
    for labels in ([0, 0, 1], [0, 0, 1, 0, 1]):
        update(draws(labels), model, {"counts": NEW}, random_seed=1)
    assert model.coords["item"] == ("a", "b", "new 4", "new 5", "new 6", "new 7", "new 8")


class Name:
    """A name of a row that counts how often it is looked up."""

    n_hashes = 0

    def __hash__(self):
        Name.n_hashes += 1
        return id(self)


def test_names_of_rows_are_compared_in_linear_time():
    old, new = [Name() for _ in range(100)], [Name() for _ in range(50)]
    assert longer_tables.names_of_rows(old, pd.Index(new, dtype=object)) == [*old, *new]
    assert Name.n_hashes == len(old) + 2 * len(new)


def test_masked_entries_of_new_rows_are_missing(started):
    with pm.Model() as model:
        observed = pm.Data("lengths", [1.0, 2.0, 9.0])
        z = nrm.Partition("z", MEASURE, n=observed.shape[0])
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), observed=observed)
    new = np.ma.masked_array([5.0, 999.0], [False, True])
    _, longer = update(draws([0, 0, 1]), model, {"lengths": new}, random_seed=1)
    np.testing.assert_array_equal(longer["lengths"].get_value(), [1.0, 2.0, 9.0, 5.0, np.nan])


def test_columns_of_new_rows_are_found_by_their_names(started):
    with pm.Model(coords={"feature": ["a", "b"]}) as model:
        observed = pm.Data("lengths", [[1.0, 10.0], [2.0, 20.0], [9.0, 90.0]], dims=("item", "feature"))
        z = nrm.Partition("z", MEASURE, n=observed.shape[0])
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), observed=observed)
    _, longer = update(draws([0, 0, 1]), model, {"lengths": pd.DataFrame({"b": [50], "a": [5]})}, random_seed=1)
    assert longer["lengths"].get_value()[3].tolist() == [5.0, 50.0]


def test_groups_stay_together_in_a_start(started):
    def grouped(X, groups):
        with pm.Model() as model:
            z = nrm.Partition("z", MEASURE, together=groups)
            nrm.Mixture("x", z, FAMILY, observed=X)
        return model

    longer = grouped(np.append(OLD, NEW), ["a", "a", "b", "a", "c"])
    for seed in range(5):
        update(draws([0, 0, 1]), grouped(OLD, ["a", "a", "b"]), longer, random_seed=seed)
        assert all(start["z"][3] == 0 for start in started["initvals"])


def updated(options):
    """Models are made when the test runs."""
    arguments = {"idata": draws([0, 0, 1]), "model": model_of(OLD), "new_rows": model_of(np.append(OLD, NEW))}
    return update(**(arguments | options()))


def of_counts(new):
    return {"model": model_of(OLD, data=True), "new_rows": {"counts": new}}


def known_labels():
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURE, known=["a", None, "b"])
        nrm.Mixture("x", z, FAMILY, observed=OLD)
    return model


def table(**options):
    return {"idata": draws([0, 0, 1, 1, 0, 1]), "model": nrm.mixture_model(TABLE, kinds=KINDS, **options)}


test_bad_arguments = refused(
    updated,
    (lambda: {"new_rows": model_of(OLD)}, "must have more than the 3 items of 'z', the old ones first; got 3"),
    (lambda: {"new_rows": 3}, TypeError, "must be a DataFrame, a dict .* got int"),
    (lambda: {"new_rows": {"counts": NEW}}, "must be of pm.Data of the model.* pass the model of all rows"),
    (lambda: {"new_rows": TABLE}, "made by mixture_model"),
    (lambda: of_counts([[1], [2]]), r"must have shape \(m\)"),
    *(
        (lambda new=new: of_counts(new), rf"must be values that int\d+ holds, the type of pm.Data 'counts'; got {got}")
        for new, got in (
            ([2.7, -0.5], r"2\.7"),
            ([np.nan], "nan"),
            (np.ma.masked_array([5, 999], [0, 1]), "nan"),
            ([2**63], str(2**63)),
        )
    ),
    (lambda: of_counts(["2"]), TypeError, r"new_rows\['counts'\] must be real numbers; got text such as '2'"),
    (lambda: {"model": known_labels()}, "no slots, known labels, states"),
    (lambda: {"idata": result_of(alpha=[[1.0]])}, "must have draws of 'z'"),
    (lambda: {"initvals": {}}, TypeError, "initvals must be left out"),
    (lambda: {"tune": -1}, "tune must be"),
    (lambda: table() | {"new_rows": TABLE.drop(columns="size")}, "lacks .*size"),
    (lambda: table() | {"new_rows": TABLE.assign(size="XL")}, "XL"),
    (lambda: table(together=[1, 1, 2, 3, 4, 5]) | {"new_rows": TABLE}, "made without together"),
    (lambda: table() | {"new_rows": TABLE.set_index(pd.Index([9, 9, 10, 11, 12, 13]))}, "index of names"),
)


@pytest.mark.slow
@pytest.mark.parametrize("data", [False, True])
def test_an_update_has_the_posterior_of_all_rows(data):
    X = np.append(OLD, NEW)
    model = model_of(OLD, data)
    first = nrm.sample(200, tune=100, model=model, **QUIET)
    rows = {"counts": NEW} if data else model_of(X)
    idata, longer = update(first, model, rows, 4000, tune=100, **QUIET)
    partitions = all_partitions(5)
    family, prepared = kernel_inputs(FAMILY, X)
    log_p = [log_eppf(MEASURE, label_counts(labels)) + log_density(family, prepared, labels) for labels in partitions]
    assert_law(idata.posterior["z"].values, partitions, np.exp(log_p - logsumexp(log_p)))
    assert nrm.log_predictive_density(idata, longer, [3], progressbar=False).shape == (1,)


@pytest.mark.slow
def test_an_update_of_a_table_is_a_run_on_the_longer_table():
    """Means of label-invariant quantities agree with those of a run from the start of the same model."""
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 3, size=120)
    df = pd.DataFrame(
        {
            "a": np.array([0.0, 4.0, 8.0])[kind] + rng.normal(size=120),
            "b": np.array([0.0, 4.0, 0.0])[kind] + rng.normal(size=120),
            "c": np.where(rng.random(120) < np.array([0.1, 0.5, 0.9])[kind], "yes", "no"),
        }
    )
    model = nrm.mixture_model(df[:80])
    first = nrm.sample(300, tune=300, model=model, **QUIET)
    updated, longer = update(first, model, df[80:], 2000, **QUIET)
    whole = nrm.sample(2000, tune=1000, model=longer, **QUIET)
    for name in ("z_n_clusters", "alpha", "numeric_share"):
        values = [np.log(idata.posterior[name].values.astype(float)) for idata in (updated, whole)]
        means, errors = zip(*(nrm.testing.mean_and_error(one[..., None])[:2] for one in values), strict=True)
        assert abs(means[0] - means[1])[0] < 4.0 * np.hypot(*errors)[0], name
    assert longer.coords["item"] == tuple(range(120))
