"""Labels with weights of the user's own: densities, new labels, and labels drawn after they were summed out."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats
from scipy.special import log_softmax, logsumexp

import pymc_nrm as nrm
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.label_dependence import changed_by_renaming
from tests.helpers import refused, result_of

W = np.array([[0.0, 0.4, -1.0], [1.0, 0.0, -np.inf], [0.3, 0.3, 0.3], [-2.0, 0.0, 1.0]])
Y, COUNTS = np.array([0.3, -1.0, 2.0, 0.1]), np.array([1, 0, 9, 2])
FAMILY = nrm.PoissonGamma(1.0, 0.5)
MEANS = np.array([[-1.0, 0.5, 2.0], [0.0, 0.1, -0.3]])
LABELS = np.array([[0, 0, 1, 2], [1, 0, 1, 1]])


def make_model(weights=W, with_counts=True, with_means=True):
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=weights, n=4)
        if with_means:
            mean = pm.Normal("mean", 0.0, 2.0, shape=3)
            # Item 2 has two rows, item 3 none.
            pm.Normal("y", mean[z][[0, 1, 2, 2]], 0.7, observed=Y)
        if with_counts:
            nrm.Mixture("x", z, FAMILY, observed=COUNTS)
    return model


def draws(**arrays):
    return result_of(**{name: np.asarray(values)[None] for name, values in arrays.items()})


def counts_given(others):
    """Log densities of 0 to 20 given other counts of a component."""
    shape, rate = 1.0 + sum(others), 0.5 + len(others)
    return stats.nbinom.logpmf(np.arange(21), shape, rate / (rate + 1.0))


def test_items_are_left_out_with_all_their_data():
    found = nrm.compute_log_likelihood(draws(z=LABELS, mean=MEANS), make_model(), progressbar=False)
    values, shares = found["log_likelihood"]["z"].values[0], log_softmax(W, axis=1)
    for s, (labels, means) in enumerate(zip(LABELS, MEANS, strict=True)):
        rows = stats.norm.logpdf(Y[:, None], means, 0.7)
        indexed = np.stack([rows[0], rows[1], rows[2] + rows[3], np.zeros(3)])
        for i in range(4):
            others = [COUNTS[(labels == k) & (np.arange(4) != i)] for k in range(3)]
            of_counts = [counts_given(of_component)[COUNTS[i]] for of_component in others]
            assert values[s, i] == pytest.approx(logsumexp(shares[i] + indexed[i] + of_counts), rel=1e-9)


def test_densities_of_new_items_have_the_weights_of_all_items():
    model = make_model(W[0], with_means=False)
    found = nrm.log_predictive_density(draws(z=LABELS), model, np.arange(21), progressbar=False)
    expected = [
        np.exp(log_softmax(W[0])) @ np.exp([counts_given(COUNTS[labels == k]) for k in range(3)]) for labels in LABELS
    ]
    np.testing.assert_allclose(np.exp(found), np.mean(expected, axis=0), rtol=1e-9)
    with pytest.raises(ValueError, match="log_weights differ between items"):
        nrm.log_predictive_density(draws(z=LABELS, mean=MEANS), make_model(), [1], progressbar=False)


def test_descriptions_say_why_components_are_not_joined():
    texts = {True: "labels index parameters", False: "log_weights define the components"}
    for with_means, text in texts.items():
        model = make_model(with_means=with_means)
        posterior = draws(z=LABELS, mean=MEANS)
        assert f"(not joined: {text})" in nrm.describe(posterior, model).title


def test_join_others_leaves_an_item_out():
    found = draws_of(draws(z=LABELS, mean=MEANS), make_model())
    shares = log_softmax(W, axis=1)
    for draw in found:
        join = found.log_join_others(draw)
        own = [draw.value[draw.labels == k][0] for k in range(draw.labels.max() + 1)]
        for i in range(4):
            alone = (draw.labels == draw.labels[i]).sum() == 1
            kept = [slot for slot in own if not (alone and slot == draw.value[i])]
            expected = [shares[i, slot] if slot in kept else -np.inf for slot in own]
            free = [shares[i, slot] for slot in range(3) if slot not in kept]
            np.testing.assert_allclose(join[i], [*expected, logsumexp(free) if free else -np.inf])


def covariate_model():
    with pm.Model() as model:
        x = pm.Data("x", [-1.0, 0.0, 0.5, 2.0])
        gate = pm.Normal("gate", 0.0, 1.0, shape=3)
        z = nrm.Partition("z", log_weights=x[:, None] * gate, n=x.shape[0], max_clusters=3)
        mean = pm.Normal("mean", 0.0, 2.0, shape=3)
        pm.Normal("y", mean[z], 0.7, observed=pm.Data("y_data", Y))
    return model


def test_new_labels_have_weights_of_new_covariates():
    model = covariate_model()
    gates, n = np.array([0.5, -1.0, 1.5]), 4000
    posterior = draws(z=np.zeros((n, 4), int), mean=np.tile(MEANS[0], (n, 1)), gate=np.tile(gates, (n, 1)))
    pm.set_data({"x": [1.0, -3.0], "y_data": [0.2, 0.2]}, model=model)
    shares = log_softmax(np.array([1.0, -3.0])[:, None] * gates, axis=1)
    given_y = log_softmax(shares + stats.norm.logpdf(0.2, MEANS[0], 0.7), axis=1)
    for known, expected in (([], shares), (None, given_y)):
        found = nrm.sample_new_labels(posterior, model, known=known, random_seed=1, progressbar=False)
        labels = found["posterior"]["z"].values[0]
        p = np.exp(expected)
        frequencies = (labels[:, :, None] == np.arange(3)).mean(axis=0)
        assert (np.abs(frequencies - p) < 5.0 * np.sqrt(p * (1.0 - p) / n) + 1e-9).all()


GATES = np.array([[0.5, -1.0, 1.5], [0.0, 2.0, -0.5]])
NEW_X = np.array([1.0, -3.0, 0.2])


def test_densities_of_new_items_have_weights_of_new_covariates():
    with pm.Model(coords={"item": range(4)}) as model:
        x = pm.Data("covariate", [-1.0, 0.0, 0.5, 2.0], dims="item")
        gate = pm.Normal("gate", 0.0, 1.0, shape=3)
        z = nrm.Partition("z", log_weights=x[:, None] * gate, dims="item", max_clusters=3)
        nrm.Mixture("x", z, FAMILY, observed=COUNTS)
        nrm.Mixture("w", z, nrm.BernoulliBeta(1.0, 2.0), observed=[[0], [1], [1], [0]])
    posterior, points = draws(z=LABELS, gate=GATES), np.arange(1000)
    given = {"covariate": NEW_X, "w": [[1], [0], [1]]}
    found = nrm.predictive_density(posterior, model, points, given=given, progressbar=False)
    np.testing.assert_allclose(found["density"].sum("point"), 1.0, rtol=1e-5)
    joint = np.empty((2, 3, 21))
    for s, (labels, gates) in enumerate(zip(LABELS, GATES, strict=True)):
        shares = np.exp(log_softmax(NEW_X[:, None] * gates, axis=1))
        heads = [(1.0 + (np.array([0, 1, 1, 0])[labels == k]).sum()) / (3.0 + (labels == k).sum()) for k in range(3)]
        of_w = np.where(np.array(given["w"]) == 1, heads, 1.0 - np.array(heads))
        np.testing.assert_allclose(np.exp(found["log_density_of_given"][0, s]), (shares * of_w).sum(axis=1))
        np.testing.assert_allclose(
            found["new_cluster_weight"][0, s], shares[:, np.bincount(labels, minlength=3) == 0].sum(axis=1)
        )
        joint[s] = (shares * of_w) @ np.exp([counts_given(COUNTS[labels == k]) for k in range(3)])
        expected = joint[s] / (shares * of_w).sum(axis=1)[:, None]
        np.testing.assert_allclose(found["density"][0, s, :, :21], expected, rtol=1e-9)
    log_joint = nrm.log_predictive_density(posterior, model, given | {"x": [4, 4, 4]}, progressbar=False)
    np.testing.assert_allclose(np.exp(log_joint), joint[..., 4].mean(axis=0), rtol=1e-9)
    with pytest.raises(ValueError, match=r"given must have new values of \['covariate'\], on which log_weights of 'z'"):
        nrm.predictive_density(posterior, model, points, given={"w": [[1]]}, progressbar=False)
    with pytest.raises(ValueError, match=r"X_new must have new values of \['covariate'\], on which log_weights of 'z'"):
        nrm.cluster_probabilities(posterior, model, {"x": [4]}, [0, 0, 1, 1], progressbar=False)
    with pytest.raises(ValueError, match=r"given\['covariate'\] must have a row for each new item; got 0.5"):
        nrm.predictive_density(posterior, model, points, given={"covariate": 0.5}, var_name="x", progressbar=False)


def by_a_process(x):
    return pm.math.stack([pm.Normal("height", shape=4) * x, pt.zeros(4)], axis=1)


def by_constants(x):
    return x[:, None] * pm.Normal("gate", shape=2) + np.arange(8.0).reshape(4, 2)


def about_the_mean(x):
    return (x - x.mean())[:, None] * pm.Normal("gate", shape=2)


def without_data(x):
    return np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    ("make_weights", "message"),
    [
        (by_a_process, "'height' may have a value for each old item"),
        (by_constants, "make 4 rows of weights|their graph at [15] rows of"),
        (about_the_mean, r"they are not a function of \['covariate'\] row by row"),
        (without_data, "they depend on no pm.Data with a row for each item"),
    ],
)
def test_weights_without_a_value_for_new_items_are_refused(make_weights, message):
    with pm.Model() as model:
        x = pm.Data("covariate", [-1.0, 0.0, 0.5, 2.0])
        z = nrm.Partition("z", log_weights=make_weights(x), n=4, max_clusters=2)
        nrm.Mixture("x", z, FAMILY, observed=COUNTS)
    posterior = draws(z=[[0, 0, 1, 1]], gate=[[0.5, 1.0]], height=[[0.1, 0.2, 0.3, 0.4]])
    if make_weights is not without_data:
        with pytest.raises(ValueError, match=message):
            nrm.predictive_density(posterior, model, [1], given={"covariate": [3.0]}, progressbar=False)
    # The same items in number would have the weights of the old ones.
    with pm.Model() as model:
        x = pm.Data("covariate", [-1.0, 0.0, 0.5, 3.0])
        z = nrm.Partition("z", log_weights=make_weights(x), n=4, max_clusters=2)
        pm.Normal("y", pm.Normal("mean", shape=2)[z], 1.0, observed=Y)
    with pytest.raises(ValueError, match=message):
        nrm.sample_new_labels(posterior, model, known=[], progressbar=False)


def test_weights_of_whole_numbers():
    """A single new item shows whether its weight depends on others, if the number may change; an index may not."""
    age, place = np.array([30, 40, 50, 60]), np.array([0, 1, 1, 0])
    with pm.Model(coords={"item": range(4)}) as model:
        ages, places = pm.Data("age", age, dims="item"), pm.Data("place", place, dims="item")
        gate, effect = pm.Normal("gate", shape=2), pm.Normal("effect", shape=(2, 2))
        z = nrm.Partition("z", log_weights=ages[:, None] * gate + effect[places], dims="item")
        centred = (ages - ages.mean())[:, None] * gate
        other = nrm.Partition("other", log_weights=centred, dims="item")
        nrm.Mixture("x", z, FAMILY, observed=COUNTS)
        nrm.Mixture("w", other, FAMILY, observed=COUNTS)
    posterior = draws(z=[[0, 0, 1, 1]], other=[[0, 0, 1, 1]], gate=[[0.5, 1.0]], effect=np.ones((1, 2, 2)))
    given = {"age": [70], "place": [1]}
    found = nrm.predictive_density(posterior, model, [1], given=given, var_name="x", progressbar=False)
    assert np.isfinite(found["density"]).all()
    with pytest.raises(ValueError, match="'age' must be whole numbers, as in the model; got 70.5"):
        nrm.predictive_density(posterior, model, [1], given=given | {"age": [70.5]}, var_name="x", progressbar=False)
    with pytest.raises(ValueError, match=r"they are not a function of \['age'\] row by row"):
        nrm.predictive_density(posterior, model, [1], given={"age": [70]}, var_name="w", progressbar=False)


def test_labels_are_drawn_from_their_conditional_distribution():
    model, n = make_model(with_counts=False), 4000
    summed = nrm.summed_out(model)
    assert [rv.name for rv in summed.basic_RVs] == ["mean"]
    assert not summed.discrete_value_vars
    found = nrm.draw_labels(draws(mean=np.tile(MEANS[0], (n, 1))), model, random_seed=1, progressbar=False)
    rows = stats.norm.logpdf(Y[:, None], MEANS[0], 0.7)
    table = log_softmax(W, axis=1) + np.stack([rows[0], rows[1], rows[2] + rows[3], np.zeros(3)])
    p = np.exp(log_softmax(table, axis=1))
    frequencies = (found["posterior"]["z"].values[0][:, :, None] == np.arange(3)).mean(axis=0)
    assert (np.abs(frequencies - p) < 5.0 * np.sqrt(p * (1.0 - p) / n) + 1e-9).all()
    assert found["posterior"]["z_n_clusters"].shape == (1, n)
    # Means change places when components are renamed, so that chains may disagree about them.
    assert not [name for name in nrm.summary(found.sel(draw=slice(100))).index if name.startswith("mean")]
    # The density of the means is the sum over all labels.
    expected = stats.norm.logpdf(MEANS[0], 0.0, 2.0).sum() + logsumexp(table, axis=1).sum()
    assert summed.compile_logp(mode="FAST_COMPILE")({"mean": MEANS[0]}) == pytest.approx(expected, rel=1e-9)


def test_labels_are_drawn_given_potentials_and_imputed_values():
    """As for the model without labels and for steps: everything that depends on a label counts."""
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=W[0], n=3)
        mean = pm.Normal("mean", 0.0, 2.0, shape=3)
        with pytest.warns(UserWarning, match="imput"):
            pm.Normal("y", mean[z], 0.7, observed=[0.3, np.nan, 2.0])
        pm.Potential("prefers", pt.switch(pt.eq(z, 2), 1.5, 0.0))
    n, missing = 4000, 1.7
    given = draws(mean=np.tile(MEANS[0], (n, 1)), y_unobserved=np.full((n, 1), missing))
    found = nrm.draw_labels(given, model, random_seed=1, progressbar=False)
    table = log_softmax(W[0]) + stats.norm.logpdf(np.array([[0.3], [missing], [2.0]]), MEANS[0], 0.7) + [0.0, 0.0, 1.5]
    p = np.exp(log_softmax(table, axis=1))
    frequencies = (found["posterior"]["z"].values[0][:, :, None] == np.arange(3)).mean(axis=0)
    assert (np.abs(frequencies - p) < 5.0 * np.sqrt(p * (1.0 - p) / n) + 1e-9).all()


def test_labels_that_cannot_be_drawn():
    with pm.Model() as model:
        z = nrm.Partition("z", log_weights=np.zeros(2), n=2)
        low = pm.Normal("low", shape=2)
        pm.Uniform("y", low[z], low[z] + 2.0, observed=[0.5, 3.0])
    given = draws(low=[[0.0, 2.0], [0.0, 10.0]])
    with pytest.raises(ValueError, match="in draw 1 of chain 0, item 1 of 'z' is impossible in all components"):
        nrm.draw_labels(given, model, progressbar=False)
    with pytest.raises(ValueError, match="model must have no Mixture over 'z'; got 'x', whose parameters are integrat"):
        nrm.draw_labels(draws(z=LABELS, mean=MEANS), make_model(), progressbar=False)


def test_weights_of_sticks_sum_to_one():
    logits = np.array([[0.3, -50.0, 2.0], [800.0, 0.0, -800.0]])
    weights = np.exp(nrm.log_stick_breaking(logits).eval())
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert nrm.log_stick_breaking(np.zeros((2, 0))).eval().tolist() == [[0.0], [0.0]]
    share = 1.0 / (1.0 + np.exp(-0.3))
    np.testing.assert_allclose(weights[0, :2], [share, (1.0 - share) / (1.0 + np.exp(50.0))])


def test_weights_of_components_change_when_components_are_renamed():
    model = covariate_model()
    with model:
        pm.Deterministic("first", model["gate"][0])
        pm.Deterministic("level", 2.0 * model["x"].sum())
    assert changed_by_renaming(model, {"z": ["mean"]}) == {"gate": "z", "first": "z"}


def partition(options):
    with pm.Model():
        return nrm.Partition("z", **options)


test_bad_arguments = refused(
    partition,
    ({"measure": nrm.DirichletProcess(1.0), "log_weights": W}, ValueError, "measure of Partition 'z' must be omitted"),
    ({"log_weights": W, "together": [0, 0, 1, 1]}, ValueError, "together of Partition 'z' must be omitted"),
    ({"log_weights": W, "known": [0, -1, 1, 1]}, ValueError, "known .* write minus infinity into log_weights"),
    ({"log_weights": W[None]}, ValueError, r"shape \(n, K\) or"),
    ({"log_weights": W > 0.0, "n": 4}, ValueError, "must be real numbers"),
    ({"log_weights": W, "max_clusters": 4}, ValueError, "must have max_clusters=4 columns; got 3"),
    ({"log_weights": W, "n": 5}, ValueError, "must have a row for each of 5 items"),
    ({"log_weights": W[0]}, ValueError, "n of Partition 'z', the number of items, must be given"),
    ({"log_weights": pt.matrix(), "n": 4}, ValueError, "max_clusters must be given"),
    ({"n": 4}, TypeError, "unless log_weights is given"),
)


def test_weights_that_are_not_finite_are_named_where_a_chain_starts():
    for bad, shown in ((np.nan, "nan"), (np.inf, "inf")):
        weights = W.copy()
        weights[2, 1] = bad
        with pytest.raises(pm.exceptions.SamplingError, match=f"finite entry in every row; got .*{shown}.* for item 2"):
            model = make_model(weights, with_means=False)
            nrm.steps.WeightedGibbs([model["z"]], model=model)


def two_kinds():
    with pm.Model() as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    return model


def test_weights_that_depend_on_labels_are_refused():
    with pm.Model():
        scale = pm.HalfNormal("scale", shape=2)
        first = nrm.Partition("first", log_weights=np.zeros(2), n=4)
        of_first = pt.stack([scale[first], -scale[first]], axis=1)
        pm.Normal("y", scale[nrm.Partition("second", log_weights=of_first, n=4)], 1.0, observed=Y)
        with pytest.raises(ValueError, match="'second' must be a sum of terms .* of partition 'first'"):
            nrm.steps.WeightedNUTS()


test_what_cannot_be_summed_is_refused = refused(
    lambda make: nrm.summed_out(make()),
    (two_kinds, ValueError, "labels of the Partition 'z' depend on each other"),
    (make_model, ValueError, "must have no Mixture over 'z'; got 'x'"),
    (pm.Model, ValueError, "must have a Partition with log_weights"),
)
