"""Descriptions of groups of trajectories, against sums by hand, and label-free effects of covariates."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.growth.posterior.trajectory_groups import membership_effects, trajectory_groups

# Kernels of trajectories take 8 s to compile.
pytestmark = pytest.mark.slow

RNG = np.random.default_rng(3)
N, TIMES = 12, np.array([1.0, 2.0, 4.0])
GROUP = np.arange(N) % 2
Y = np.array([5.0, 9.0])[GROUP][:, None] + np.array([1.0, -1.0])[GROUP][:, None] * TIMES
Y = Y + 0.5 * RNG.normal(size=(N, 1)) + 0.3 * RNG.normal(size=(N, 3))
Y[4, 1] = np.nan
DF = pd.DataFrame({"id": np.repeat(np.arange(N), 3), "t": np.tile(TIMES, N), "y": Y.ravel()})
DF["age"] = np.repeat(RNG.normal(40.0, 5.0, N), 3)
VALUES = {"ratio": 2.0, "share": 0.1, "kappa": 0.05, "g": 3.0, "excess": 4.0}
ESTIMATE = np.where(GROUP, 7, 3)


def make_model(**options):
    names = {"subject": "id", "time": "t", "target": "y", "degree": 1, "jitter_ties": False}
    return nrm.growth.growth_mixture(DF, **names, **options)


def make_draws(z, **further):
    z = np.asarray(z)[None]
    draws = {f"trajectory_{name}": (("chain", "draw"), np.full(z.shape[:2], value)) for name, value in VALUES.items()}
    return xr.Dataset(draws | {"z": (("chain", "draw", "subject"), z), **further})


def posterior_mean_of_curve(model, items, times):
    """The mean of the curve of a cluster by generalised least squares with the prior of the coefficients."""
    family = model["trajectory"].owner.op.family(model["trajectory"].owner)
    given = {model[f"trajectory_{name}"]: value for name, value in VALUES.items()}
    W, mu, Lambda = (
        getattr(family, name).eval(given, on_unused_input="ignore") for name in ("covariates", "mu", "Lambda")
    )
    precision, total = Lambda.copy(), Lambda @ mu
    for i in items:
        ok = ~np.isnan(Y[i])
        V = np.linalg.inv(np.eye(ok.sum()) + VALUES["ratio"])
        precision += W[i][ok].T @ V @ W[i][ok]
        total += W[i][ok].T @ V @ Y[i][ok]
    coefficients = np.linalg.solve(precision, total)
    slope = (W[0, 1, 1] - W[0, 0, 1]) / (TIMES[1] - TIMES[0])
    columns = np.column_stack([np.ones(len(times)), W[0, 0, 1] + slope * (times - TIMES[0])])
    return columns @ coefficients


def test_curves_are_those_of_the_members():
    model = make_model()
    draws = make_draws(np.tile(GROUP, (400, 1)), alpha=(("chain", "draw"), np.ones((1, 400))))
    description = nrm.describe(draws, model, ESTIMATE, ci_prob=0.9)
    for k, name in enumerate((3, 7)):
        curve = description.tables["curves"][description.tables["curves"]["group"] == name]
        wanted = posterior_mean_of_curve(model, np.flatnonzero(k == GROUP), curve["time"].to_numpy())
        error = (curve["high"] - curve["low"]) / 3.3 / np.sqrt(400)
        assert (np.abs(curve["mean"] - wanted) < 4 * error).all()
        row = description.table["group"].loc[name]
        assert row["first"] == curve["mean"].iloc[0] and row["size"] == 6 and row["certainty"] == 1.0
        assert row["slope"] == pytest.approx((curve["mean"].iloc[-1] - curve["mean"].iloc[0]) / 3.0)
        assert row["intercepts"] == pytest.approx(np.sqrt(2.0) * row["noise"])
    text = str(description)
    assert text.startswith("12 subjects in 2 groups (in all draws); y over t, degree 1")
    assert max(map(len, text.splitlines())) <= 80
    assert "<td>0</td>" not in description.to_html() and "<td>3</td>" in description.to_html()


def test_probabilities_of_members():
    """The second draw joins the first two items of either group."""
    z = np.stack([GROUP, np.where(np.arange(N) < 4, 2, GROUP)])
    z[1] = pd.factorize(z[1])[0]
    groups = trajectory_groups(make_draws(z, alpha=(("chain", "draw"), np.ones((1, 2)))), make_model(), ESTIMATE)
    assert groups.names.tolist() == [3, 7]
    np.testing.assert_allclose(groups.probability[:4].max(axis=1), 0.75)
    np.testing.assert_allclose(groups.probability[4:].max(axis=1), 1.0)
    np.testing.assert_allclose(groups.probability.sum(axis=1), 1.0)


def test_effects_do_not_depend_on_the_order_of_components():
    model, S = make_model(membership="age", n_groups=3), 5
    level, gate = RNG.normal(size=(S, 3)), RNG.normal(size=(S, 1, 3))
    z, effects = np.where(RNG.random((S, N)) < 0.2, 2, GROUP), []
    for order in ([0, 1, 2], [2, 0, 1]):
        further = {
            "level": (("chain", "draw", "x"), level[None][..., order]),
            "gate": (("chain", "draw", "m", "x"), gate[None][..., order]),
        }
        draws = make_draws(np.argsort(order)[z], **further)
        groups = trajectory_groups(draws, model, ESTIMATE)
        [effect] = membership_effects(draws, model, groups)
        effects.append([effect.low, effect.high])
    np.testing.assert_allclose(effects[0], effects[1])
    age = DF.groupby("id")["age"].first()
    assert effect.label == "age" and effect.low_value == pytest.approx(age.mean() - age.std(ddof=0))
    logits = level - gate[:, 0]
    weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shares = [[(GROUP[row == k] == 0).sum() / max((row == k).sum(), 1) for k in range(3)] for row in z]
    np.testing.assert_allclose(effects[0][0][:, 0], (weights * np.array(shares)).sum(axis=1))
    table = nrm.describe(draws, model, ESTIMATE).tables["effects"]
    assert table["group"].tolist() == [3, 7] and (table["difference_low"] <= table["difference_high"]).all()


def test_effects_of_levels_are_those_of_subjects_who_have_them():
    """Nobody has two levels: arms are compared with the most frequent one, whoever is in which."""
    arm = np.array(["a", "b", "c", "c"] * 3)
    names = {"subject": "id", "time": "t", "target": "y", "degree": 1, "n_groups": 2, "membership": ["arm", "age"]}
    model = nrm.growth.growth_mixture(DF.assign(arm=np.repeat(arm, 3)), **names)
    gate, level = RNG.normal(size=(3, 2)), np.array([0.3, -0.2])
    further = {
        "level": (("chain", "draw", "group"), np.tile(level, (1, 20, 1))),
        "gate": (("chain", "draw", "membership_term", "group"), np.tile(gate, (1, 20, 1, 1))),
    }
    description = nrm.describe(make_draws(np.tile(GROUP, (20, 1)), **further), model, ESTIMATE)
    effects = description.tables["effects"][description.tables["effects"]["term"] == "arm"]
    assert effects[["from", "to"]].drop_duplicates().values.tolist() == [["c", "a"], ["c", "b"]]
    X = model["membership"].get_value()
    for end in ("from", "to"):
        for _, row in effects.iterrows():
            designs = X.copy()
            designs[:, :2] = X[arm == row[end]][0, :2]
            weights = np.exp(level + designs @ gate)
            shares = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
            np.testing.assert_allclose(row[f"probability_{end}"], shares[[3, 7].index(row["group"])])
    assert " at arm c, " in str(description)


def test_a_model_written_by_hand():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N)
        when = pm.Data("when", np.tile(TIMES, (N, 1)))
        W = pm.math.stack([pm.math.ones_like(when), when], axis=-1)
        nrm.Mixture("y", z, nrm.growth.NormalTrajectory(W, 1.0, 0.0, 0.01 * np.eye(2), 2.0, 1.0), observed=Y)
    draws = xr.Dataset({"z": (("chain", "draw", "item"), np.tile(GROUP, (1, 50, 1)))})
    description = nrm.describe(draws, model, ESTIMATE)
    np.testing.assert_allclose(description.table["group"].loc[[3, 7], "slope"], [1.0, -1.0], atol=0.5)
    assert "y over time" in str(description) and len(description.tables["effects"]) == 0


def test_models_without_trajectories():
    draws = xr.Dataset({"z": (("chain", "draw", "item"), np.zeros((1, 2, 4), dtype=int))})
    with pytest.raises(ValueError, match="model must have one observed Mixture of NormalTrajectory"):
        trajectory_groups(draws, nrm.gaussian_mixture(np.arange(4.0)))
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N)
        W = np.stack([np.ones(3), TIMES], axis=1)
        nrm.Mixture("y", z, nrm.growth.NormalTrajectory(W, 1.0, 0.0, 0.01 * np.eye(2), 2.0, 1.0), observed=Y)
    draws = xr.Dataset({"z": (("chain", "draw", "item"), GROUP[None, None])})
    with pytest.raises(ValueError, match="covariates of 'y' must be a function of one pm.Data"):
        nrm.describe(draws, model)


def test_covariates_that_are_sampled_have_no_new_values():
    """Curves at other times would take the rate from its prior, another one at each call."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N)
        when, rate = pm.Data("when", np.tile(TIMES, (N, 1))), pm.HalfNormal("rate")
        W = pm.math.stack([pm.math.ones_like(when), pm.math.exp(-rate * when)], axis=-1)
        nrm.Mixture("y", z, nrm.growth.NormalTrajectory(W, 1.0, 0.0, 0.01 * np.eye(2), 2.0, 1.0), observed=Y)
    draws = xr.Dataset({"z": (("chain", "draw", "item"), GROUP[None, None]), "rate": (("chain", "draw"), [[1.0]])})
    message = r"covariates of 'y' must be a function of pm.Data alone, .* got one of \['rate'\]"
    with pytest.raises(ValueError, match=message):
        nrm.describe(draws, model, ESTIMATE)
    with pytest.raises(ValueError, match=message):
        nrm.log_predictive_density(draws, model, {"y": Y, "when": np.tile(TIMES, (N, 1))}, progressbar=False)


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (None, r"covariates of 'y' must be a function of \['when'\] row by row, .* other new ones"),
        (1, "covariates of a visit of 'y' must be a function of its own time"),
    ],
    ids=["mean of all", "mean of an item"],
)
def test_covariates_that_are_centred_by_their_data(axis, message):
    """The mean of other times is another one."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N)
        when = pm.Data("when", np.tile(TIMES, (N, 1)))
        W = pm.math.stack([pm.math.ones_like(when), when - when.mean(axis=axis, keepdims=True)], axis=-1)
        nrm.Mixture("y", z, nrm.growth.NormalTrajectory(W, 1.0, 0.0, 0.01 * np.eye(2), 2.0, 1.0), observed=Y)
    draws = xr.Dataset({"z": (("chain", "draw", "item"), GROUP[None, None])})
    with pytest.raises(ValueError, match=message):
        nrm.describe(draws, model, ESTIMATE)


def test_new_subjects_join_the_groups_of_their_curves():
    model = make_model()
    draws = make_draws(np.tile(GROUP, (20, 1)), alpha=(("chain", "draw"), np.ones((1, 20))))
    new = nrm.table_data(model, pd.DataFrame({"id": list("aabb"), "t": [1.0, 4, 1, 4], "y": [6.0, 9, 8, 5]}))
    found = nrm.cluster_probabilities(draws, model, new, ESTIMATE)
    assert found.labels.values.tolist() == [3, 7] and found.new_subject.values.tolist() == ["a", "b"]


def test_new_subjects_with_covariates_of_membership():
    """Weights of the groups follow the covariate, also where the data say nothing."""
    model = make_model(membership="age", n_groups=2)
    further = {
        "level": (("chain", "draw", "group"), np.zeros((1, 20, 2))),
        "gate": (("chain", "draw", "membership_term", "group"), np.tile([0.0, 2.0], (1, 20, 1, 1))),
    }
    draws = make_draws(np.tile(GROUP, (20, 1)), **further)
    age = DF.groupby("id")["age"].first()
    new = pd.DataFrame({"id": list("abb"), "t": [1.0, 1, 4], "y": [np.nan, 8, 5], "age": age.mean() + age.std(ddof=0)})
    new = nrm.table_data(model, new.assign(y=[7.5, 8, 5]))
    new["trajectory"][0] = np.nan
    found = nrm.cluster_probabilities(draws, model, new, ESTIMATE)
    np.testing.assert_allclose(found["probability"].sel(cluster=7)[0], 1.0 / (1.0 + np.exp(-2.0)), atol=1e-6)
    assert found["probability"].sel(cluster=7)[1] > 0.95
