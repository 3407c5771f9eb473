"""What follows from draws of block models, against direct formulas over lists of the values of blocks."""

import itertools

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.common.wrapping import whole_percent
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.networks.posterior.block_draws import draws_of_blocks
from pymc_nrm.networks.posterior.block_parameters import mean_over_pairs
from pymc_nrm.networks.posterior.degree_shares import draw_pair_rates
from tests.helpers import label_counts
from tests.networks.block_cases import (
    FAMILIES,
    log_bernoulli,
    log_network,
    log_normal,
    log_table,
    matrix,
    network_model,
    partitions_and_posterior,
    symmetric,
)

MEASURE = nrm.PitmanYorProcess(0.3, 1.2)
LABELS = np.array([[0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]])
CASES = [(name, directed) for name in FAMILIES for directed in (False, True)]
OF_FAMILIES = pytest.mark.parametrize(
    ("name", "directed"), CASES, ids=[f"{name}{', directed' * directed}" for name, directed in CASES]
)
QUICK = pytest.mark.quick("Bernoulli")


def draws_of(labels, name="z"):
    labels = np.atleast_2d(labels)
    return xr.Dataset({name: (("chain", "draw", f"item of {name}"), labels[None])})


def with_value(A, i, j, x, directed):
    A = np.array(A)
    A[i, j] = x
    if not directed:
        A[j, i] = x
    return A


@pytest.mark.parametrize(("directed", "loops"), list(itertools.product([False, True], repeat=2)))
def test_means_over_pairs(directed, loops):
    """Averages over all pairs of items of two clusters, each undirected pair once."""
    rng, n = np.random.default_rng(1), 7
    A = rng.integers(0, 2, (n, n)).astype(float)
    A = A if directed else symmetric(A)
    blocks = draws_of_blocks(
        draws_of(np.zeros(n, dtype=int)), network_model(A, FAMILIES["Bernoulli"].family, MEASURE, loops=loops)
    ).blocks
    z, estimate = np.array([0, 0, 1, 1, 1, 2, 0]), np.array([0, 1, 0, 0, 1, 2, 1])
    values = rng.normal(size=(3, 3, 2))
    values = values if directed else values + values.swapaxes(0, 1)
    table = np.eye(3)[z].T @ np.eye(3)[estimate]
    found = mean_over_pairs(values, [table, table], blocks)
    expected = np.full((3, 3, 2), np.nan)
    for r, s in itertools.product(range(3), repeat=2):
        pairs = [
            (i, j)
            for i, j in itertools.product(range(n), repeat=2)
            if (estimate[i], estimate[j]) == (r, s) and (i != j or loops) and (directed or r != s or i <= j)
        ]
        if pairs:
            expected[r, s] = np.mean([values[z[i], z[j]] for i, j in pairs], axis=0)
    np.testing.assert_allclose(found, expected)


def test_parameters_of_blocks():
    """Of draws that agree with the estimate: a beta posterior for each block, with its interval."""
    A = matrix("Bernoulli", 2)
    model = network_model(A, FAMILIES["Bernoulli"].family, MEASURE)
    found = nrm.networks.block_parameters(
        draws_of(np.tile(LABELS[0], (4000, 1))), model, [5, 5, 3, 3, 4], ci_prob=0.8, random_seed=1
    )
    assert found["cluster"].values.tolist() == found["cluster_to"].values.tolist() == [5, 3, 4]
    assert found["size"].values.tolist() == [2, 2, 1] and found["n_pairs"].values.tolist() == [
        [1, 4, 2],
        [4, 1, 2],
        [2, 2, 0],
    ]
    assert np.isnan(found["probability"].values[2, 2])
    for r, s in [(0, 0), (0, 1), (1, 0), (2, 1)]:
        own = [A[i, j] for i, j in itertools.combinations(range(5), 2) if {LABELS[0, i], LABELS[0, j]} == {r, s}]
        a, b = 0.7 + sum(own), 1.1 + len(own) - sum(own)
        drawn = np.random.default_rng(3).beta(a, b, size=100_000)
        mean, sd = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
        assert found["probability"].values[r, s] == pytest.approx(mean, abs=4.5 * sd / np.sqrt(4000))
        ends = [found[f"probability_{end}"].values[r, s] for end in ("low", "high")]
        np.testing.assert_allclose(ends, np.quantile(drawn, [0.1, 0.9]), atol=0.03)


@QUICK
@OF_FAMILIES
def test_densities_of_missing_pairs(name, directed):
    """Ratios of marginal likelihoods with and without a value of the pair, averaged over draws."""
    A, of_family = matrix(name, 3, directed, gaps=2), FAMILIES[name]
    model = network_model(A, of_family.family, MEASURE, directed=directed)
    values = np.array([A[0, 1], A[2, 1]])
    found = nrm.networks.pair_probabilities(
        draws_of(LABELS), model, [(0, 2), (3, 1)], values, random_seed=1, progressbar=False
    )
    where = [(0, 2), (1, 3) if not directed else (3, 1)]
    for place, ((i, j), x) in enumerate(zip(where, values, strict=True)):
        if directed and (i, j) == (3, 1):
            continue  # was observed
        ratios = [
            np.exp(
                log_network(with_value(A, i, j, x, directed), labels, of_family.log_marginal, directed)
                - log_network(A, labels, of_family.log_marginal, directed)
            )
            for labels in LABELS
        ]
        assert found["log_density"].values[place] == pytest.approx(np.log(np.mean(ratios)), abs=1e-9)
    if not of_family.family.continuous:
        zero = nrm.networks.pair_probabilities(draws_of(LABELS), model, [(0, 2)], [0.0], progressbar=False)
        assert zero["tie_probability"].item() == pytest.approx(1 - np.exp(zero["log_density"].item()))
    by_default = nrm.networks.pair_probabilities(draws_of(LABELS), model, random_seed=1, progressbar=False)
    assert list(zip(by_default["first"].values, by_default["second"].values, strict=True)) == [(0, 2), (1, 3)]


@QUICK
@OF_FAMILIES
def test_pairs_left_out(name, directed):
    """The ratio with and without each pair, and leave-one-out densities by importance over all partitions."""
    A, log_marginal = matrix(name, 4, directed, gaps=1), FAMILIES[name].log_marginal
    model = network_model(A, FAMILIES[name].family, MEASURE, directed=directed)
    partitions, posterior = partitions_and_posterior(lambda z: log_network(A, z, log_marginal, directed), MEASURE)
    found = nrm.networks.pair_log_likelihood(
        draws_of(np.array(partitions)), model, extend_inferencedata=False, progressbar=False
    )["ties"]
    n_pairs = 19 if directed else 9
    assert found.shape == (1, len(partitions), n_pairs) and found.dims == ("chain", "draw", "pair")
    for k in (0, n_pairs // 2, n_pairs - 1):
        i, j = int(found["first"][k]), int(found["second"][k])
        without = with_value(A, i, j, np.nan, directed)
        logs = [log_network(one, z, log_marginal, directed) for one in (A, without) for z in partitions]
        with_pair, left = np.reshape(logs, (2, -1))
        np.testing.assert_allclose(found.values[0, :, k], with_pair - left, atol=1e-8)
        prior = np.exp([log_eppf(MEASURE, label_counts(z)) for z in partitions])
        exact = (prior * np.exp(with_pair)).sum() / (prior * np.exp(left)).sum()
        assert 1.0 / (posterior / np.exp(found.values[0, :, k])).sum() == pytest.approx(exact)


def test_log_likelihood_in_the_form_of_arviz():
    A = matrix("Bernoulli", 5)
    model = network_model(A, FAMILIES["Bernoulli"].family, MEASURE)
    idata = xr.DataTree.from_dict({"posterior": draws_of(LABELS)})
    assert nrm.networks.pair_log_likelihood(idata, model, progressbar=False) is idata
    assert idata["log_likelihood"]["ties"].dims == ("chain", "draw", "pair")
    with pytest.raises(TypeError, match="idata must be a DataTree .* got Dataset"):
        nrm.networks.pair_log_likelihood(draws_of(LABELS), model)


def joined(A, out, into, value=np.nan):
    """A matrix with one more node."""
    return np.block([[A, np.reshape(into, (-1, 1))], [np.reshape(out, (1, -1)), np.full((1, 1), value)]])


@pytest.mark.parametrize("directed", [False, True])
def test_clusters_of_new_nodes(directed):
    """Ratios of joint probabilities with and without the new node, for each cluster that it may join."""
    A, rng = matrix("Bernoulli", 6, directed, gaps=1), np.random.default_rng(7)
    age = rng.normal(size=5)
    attributes = (nrm.NormalGamma(0.0, 0.5, 2.0, 1.0), age)
    model = network_model(A, FAMILIES["Bernoulli"].family, MEASURE, attributes, directed=directed)
    out = rng.integers(0, 2, 5).astype(float)
    out[1] = np.nan
    into = rng.integers(0, 2, 5).astype(float) if directed else out
    options = {"ties_to": into[None]} if directed else {}

    def log_joint(network, z, ages):
        value = log_eppf(MEASURE, label_counts(z)) + log_network(network, z, log_bernoulli, directed)
        clusters = [ages[(np.array(z) == k) & ~np.isnan(ages)] for k in range(max(z) + 1)]
        return value + sum(log_normal(x, 0.0, 0.5, 2.0, 1.0) for x in clusters)

    for labels in LABELS[:2]:
        n_clusters = max(labels) + 1
        for given in (None, [0.3]):
            ages = np.append(age, np.nan if given is None else given)
            logs = [log_joint(joined(A, out, into), [*labels, k], ages) for k in range(n_clusters + 1)]
            expected = np.exp(np.array(logs) - max(logs))
            expected /= expected.sum()
            found = nrm.networks.new_node_probabilities(
                draws_of(labels), model, out[None], labels, attributes=given, progressbar=False, **options
            )
            np.testing.assert_allclose(found["probability"].values[0], expected[:-1], atol=1e-10)
            assert found["new_cluster_probability"].item() == pytest.approx(expected[-1])


@pytest.mark.parametrize(
    ("option", "said", "only_known"),
    [
        ("together", ["a", "a", "b", "c", "d", "e"], False),
        ("known", ["u", None, None, "v", None, None], False),
        ("known", ["u", None, "v", None, "w", None], True),
    ],
    ids=["together", "known", "only known"],
)
def test_clusters_of_new_nodes_beside_groups_and_known_labels(option, said, only_known):
    """Ratios of the probabilities of a model with the new node, which may be in a new cluster in any case."""
    A, out, labels = matrix("Bernoulli", 6), np.array([1.0, 0, 1, 1, 0]), LABELS[0]
    models = []
    for values, further in ((A, {"only_known": only_known}), (joined(A, out, out), {})):
        with pm.Model() as model:
            z = nrm.Partition("z", MEASURE, n=len(values), **{option: said[: len(values)]}, **further)
            nrm.networks.BlockModel("ties", z, FAMILIES["Bernoulli"].family, observed=values)
        models.append(model)
    logp = models[1].compile_logp()
    logs = np.array([logp({"z": np.append(labels, k)}) for k in range(4)])
    expected = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    found = nrm.networks.new_node_probabilities(draws_of(labels), models[0], out[None], labels, progressbar=False)
    np.testing.assert_allclose(found["probability"].values[0], expected[:-1], atol=1e-10)
    assert found["new_cluster_probability"].item() == pytest.approx(expected[-1])


@pytest.mark.parametrize("which", ["rows", "columns"])
def test_clusters_of_new_rows_and_columns(which):
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, (4, 3)).astype(float)
    X[0, 1] = np.nan
    rows, columns = np.array([0, 0, 1, 0]), np.array([0, 1, 1])
    with pm.Model() as model:
        partitions = [nrm.Partition(name, MEASURE, n=n) for name, n in (("rows", 4), ("columns", 3))]
        nrm.networks.BlockModel("x", tuple(partitions), FAMILIES["Bernoulli"].family, observed=X)
    own, n_other = (rows, 3) if which == "rows" else (columns, 4)
    ties = rng.integers(0, 2, (1, n_other)).astype(float)
    logs = []
    for k in range(3):
        z = np.append(own, k)
        both = (z, columns) if which == "rows" else (rows, z)
        wider = np.vstack([X, ties]) if which == "rows" else np.hstack([X, ties.T])
        logs.append(log_eppf(MEASURE, label_counts(z)) + log_table(wider, *both, log_bernoulli))
    expected = np.exp(np.array(logs) - max(logs))
    draws = xr.merge([draws_of(rows, "rows"), draws_of(columns, "columns")])
    found = nrm.networks.new_node_probabilities(draws, model, ties, own, var_name=which, progressbar=False)
    np.testing.assert_allclose(found["probability"].values[0], (expected / expected.sum())[:-1], atol=1e-10)


@pytest.mark.parametrize("directed", [False, True])
def test_rates_of_pairs_with_degree_correction(directed):
    """Posterior means of theta_i theta_j lambda_rs, in closed form for i != j."""
    A, c, n_draws = matrix("Poisson", 9, directed), 1.3, 4000
    np.fill_diagonal(A, 0.0)
    model = network_model(A, FAMILIES["Poisson"].family, MEASURE, degree_corrected=c, directed=directed)
    labels = LABELS[0]
    draws = draws_of_blocks(draws_of(labels), model)
    [draw] = list(draws)
    first, second = np.array([0, 0, 2, 3]), np.array([1, 2, 4, 2])
    rng = np.random.default_rng(1)
    drawn = np.array([draw_pair_rates(draws, draw, first, second, rng) for _ in range(n_draws)])
    sizes = np.bincount(labels)
    degrees = [A.sum(1), A.sum(0)] if directed else [A.sum(1)] * 2
    for place, (i, j) in enumerate(zip(first, second, strict=True)):
        r, s = labels[i], labels[j]
        block = A[np.ix_(labels == r, labels == s)]
        exposure, total = sizes[r] * sizes[s], block.sum()
        if r == s and not directed:
            exposure, total = exposure / 2, total / 2
        own, other = c + degrees[0], c + degrees[1]
        sums = own[labels == r].sum(), other[labels == s].sum()
        theta = sizes[r] * sizes[s] * own[i] * other[j] / (sums[0] * sums[1])
        if r == s and not directed:
            theta = sizes[r] ** 2 * own[i] * own[j] / (sums[0] * (sums[0] + 1))
        expected = theta * (1.2 + total) / (0.6 + exposure)
        error = drawn[:, place].std() / np.sqrt(n_draws)
        assert abs(drawn[:, place].mean() - expected) < 4.5 * error


def test_predictions_with_degree_correction_are_averages_of_rates():
    A = matrix("Poisson", 9)
    model = network_model(A, FAMILIES["Poisson"].family, MEASURE, degree_corrected=1.0)
    draws = draws_of(np.tile(LABELS[0], (500, 1)))
    found = nrm.networks.pair_probabilities(draws, model, [(0, 1)], [2.0], random_seed=1, progressbar=False)
    assert 0 < found["tie_probability"].item() < 1 and found["mean"].item() > 0 and found["log_density"].item() < 0
    values = nrm.networks.pair_log_likelihood(draws, model, extend_inferencedata=False, random_seed=1)["ties"]
    assert values.shape == (1, 500, 10) and (values < 0).all()
    with pytest.raises(ValueError, match="values: data of PoissonGamma must be at least 0; got -3.0 at position 1"):
        nrm.networks.pair_probabilities(draws, model, [(0, 1), (0, 2)], [2.0, -3.0], progressbar=False)
    with pytest.raises(NotImplementedError, match="new nodes of 'ties' are not predicted with degree correction"):
        nrm.networks.new_node_probabilities(draws, model, [[0, 1, 0, 0, 0]])


def named_model():
    A = np.kron(np.eye(2), np.ones((4, 4))) * (1 - np.eye(8))
    with pm.Model(coords={"person": list("abcdefgh")}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="person")
        nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A)
    labels = np.tile([0, 0, 0, 0, 1, 1, 1, 1], (20, 1))
    labels[0] = 0
    return xr.Dataset({"z": (("chain", "draw", "person"), labels[None])}, {"person": list("abcdefgh")}), model


def test_wrong_pairs_and_names():
    idata, model = named_model()
    predict = nrm.networks.pair_probabilities
    with pytest.raises(ValueError, match="pairs must be given: all pairs of 'ties' were observed"):
        predict(idata, model)
    with pytest.raises(ValueError, match="pairs must be of names of 'person', 'a' to 'h'; got 'x'"):
        predict(idata, model, [("a", "x")])
    with pytest.raises(ValueError, match="pairs must be of two nodes, since 'ties' has no loops; got 'a' twice"):
        predict(idata, model, [("a", "a")])
    with pytest.raises(ValueError, match="values must have one number for each of the 1 pairs; got shape"):
        predict(idata, model, [("a", "b")], [1.0, 0.0])
    with pytest.raises(ValueError, match="values: data of .* must be whole numbers; got 0.5 at position 0"):
        predict(idata, model, [("a", "b")], [0.5])
    with pytest.raises(ValueError, match="ties of 'ties' must have shape .m, 8., a row for each new item"):
        nrm.networks.new_node_probabilities(idata, model, [[1, 0]])
    with pytest.raises(ValueError, match="ties of 'ties': data of .* must be 0, 1 or NaN; got 2.0 in row 1, column 3"):
        nrm.networks.new_node_probabilities(idata, model, [[np.nan] * 8, [0, 1, np.nan, 2] + [0] * 4])
    with pytest.raises(ValueError, match="ties_to must be None, since 'ties' is not a directed network"):
        nrm.networks.new_node_probabilities(idata, model, [[1] * 8], ties_to=[[1] * 8])
    with pytest.raises(ValueError, match="ties must have names of block models, of .'ties'.; got 'x'"):
        nrm.networks.new_node_probabilities(idata, model, {"x": [[1] * 8]})
    with pytest.raises(ValueError, match="var_name must name a BlockModel of the model, one of .'ties'.; got 'z'"):
        nrm.networks.block_parameters(idata, model, var_name="z")
    with pm.Model() as other:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=8)
    with pytest.raises(ValueError, match="model must have a BlockModel"):
        nrm.networks.block_parameters(idata, other)


def test_pairs_of_items_with_repeated_names():
    with pm.Model(coords={"person": ["a", "a", "b", "c"]}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="person")
        A = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
        nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A)
    idata = xr.Dataset({"z": (("chain", "draw", "person"), [[[0, 0, 1, 1]] * 5])})
    with pytest.raises(ValueError, match="pairs must be of names that one item of 'person' has; got 'a', which"):
        nrm.networks.pair_probabilities(idata, model, [("b", "a")])
    with pytest.raises(ValueError, match="pairs must be of names of 'person', 'a' to 'c'; got 'x'"):
        nrm.networks.pair_probabilities(idata, model, [("b", "x")])
    found = nrm.networks.pair_probabilities(idata, model, [("c", "b")], [1.0], progressbar=False)
    # One tie of the only pair within {b, c}: a beta distribution with the mean 2/3.
    assert np.exp(found["log_density"].item()) == pytest.approx(2 / 3)


def test_description_of_a_network():
    idata, model = named_model()
    text = nrm.describe(idata, model)
    assert text.title.startswith("8 persons in 2 clusters")
    assert text.entries[0].startswith("within 8") and text.entries[0].endswith("a, b, c, d")
    blocks = text.tables["blocks"]
    assert blocks["data"].unique().tolist() == ["ties"] and len(blocks) == 4
    own = blocks[blocks["cluster"] == blocks["to"]]
    assert (own["mean"] > 0.7).all() and (own["low"] < own["mean"]).all() and (own["mean"] < own["high"]).all()
    assert text.tables["members"]["cluster"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    lines = str(text).splitlines()
    assert max(map(len, lines)) <= 80 and "whom it is tied to (all pairs" in lines[2]
    assert text.table["cluster"]["certainty"].tolist() == pytest.approx([1.0, 1.0])
    assert str(nrm.describe(idata, model, [0, 0, 1, 1, 2, 2, 2, 2])).startswith("8 persons in 3 clusters")
    with pytest.raises(ValueError, match="level must be left out, since 'z' has a block model; got 2"):
        nrm.describe(idata, model, level=2)
    with pytest.raises(ValueError, match="components must be left out"):
        nrm.describe(idata, model, components=True)


@pytest.mark.parametrize(("directed", "loops"), list(itertools.product([False, True], repeat=2)))
def test_descriptions_have_the_mean_of_all_pairs(directed, loops):
    """Each pair counts once: 12 nodes in clusters of two have ties within them."""
    labels = np.repeat(np.arange(6), 2)
    A = np.kron(np.eye(6), np.ones((2, 2)))
    model = network_model(A, nrm.BernoulliBeta(1.0, 1.0), MEASURE, directed=directed, loops=loops)
    draws = draws_of(np.tile(labels, (50, 1)))
    blocks = nrm.networks.block_parameters(draws, model, labels, random_seed=0, progressbar=False)
    n_pairs = blocks["n_pairs"].values if directed else np.triu(blocks["n_pairs"])
    mean = np.average(blocks["probability"], weights=n_pairs)
    assert f"(all pairs {whole_percent(mean)})" in str(nrm.describe(draws, model, labels))


@pytest.mark.parametrize("which", ["rows", "columns"])
def test_descriptions_have_the_mean_of_all_entries(which):
    labels = {"rows": np.array([0, 0, 0, 0, 1, 1]), "columns": np.array([0, 1, 1])}
    X = np.equal.outer(labels["rows"], labels["columns"]).astype(float)
    with pm.Model() as model:
        partitions = tuple(nrm.Partition(name, MEASURE, n=len(own)) for name, own in labels.items())
        nrm.networks.BlockModel("x", partitions, nrm.BernoulliBeta(1.0, 1.0), observed=X)
    draws = xr.merge([draws_of(np.tile(own, (50, 1)), name) for name, own in labels.items()])
    blocks = nrm.networks.block_parameters(draws, model, random_seed=0, progressbar=False)
    mean = np.average(blocks["probability"], weights=blocks["n_pairs"])
    assert f"(all pairs {whole_percent(mean)})" in str(nrm.describe(draws, model, var_name=which))


def test_description_of_layers_attributes_and_directions():
    rng = np.random.default_rng(2)
    advice = rng.integers(0, 2, (8, 8)).astype(float)
    with pm.Model(coords={"person": list("abcdefgh")}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="person")
        nrm.networks.BlockModel("advice", z, nrm.BernoulliBeta(1.0, 1.0), observed=advice)
        nrm.networks.BlockModel("talks", z, nrm.PoissonGamma(1.0, 1.0), observed=symmetric(advice) * 3, directed=False)
        nrm.Mixture("age", z, nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), observed=np.repeat([0.0, 5.0], 4))
    idata, _ = named_model()
    text = nrm.describe(idata, model)
    assert "advice" in text.entries[0] and "talks" in text.entries[0] and "age" in text.entries[0]
    assert set(text.tables["blocks"]["data"]) == {"advice", "talks"}
    # Fused components would be those of the attributes alone.
    assert "draw_fusion" not in text.estimate


def test_description_of_a_table():
    X = np.kron(np.array([[3, 0], [0, 3]]), np.ones((3, 2)))
    with pm.Model(coords={"person": list("abcdef"), "event": list("wxyz")}) as model:
        rows = nrm.Partition("rows", nrm.DirichletProcess(1.0), dims="person")
        columns = nrm.Partition("columns", nrm.DirichletProcess(1.0), dims="event")
        nrm.networks.BlockModel("visits", (rows, columns), nrm.PoissonGamma(1.0, 1.0), observed=X)
    draws = {"rows": (("chain", "draw", "person"), [[[0, 0, 0, 1, 1, 1]] * 9])}
    draws["columns"] = ("chain", "draw", "event"), [[[0, 0, 1, 1]] * 9]
    text = nrm.describe(xr.Dataset(draws), model, var_name="rows")
    assert text.entries[0].startswith("to 0 ") and text.title == "6 persons in 2 clusters (in all draws)"
    of_columns = nrm.describe(xr.Dataset(draws), model, var_name="columns")
    assert of_columns.tables["blocks"]["mean"].to_numpy().reshape(2, 2).argmax(axis=1).tolist() == [0, 1]
    estimates = {"rows": [0, 0, 0, 1, 1, 1], "columns": [0, 0, 0, 0]}
    found = nrm.networks.block_parameters(xr.Dataset(draws), model, estimates, random_seed=1)
    assert found["rate"].shape == (2, 1) and found["n_pairs"].values.tolist() == [[12], [12]]
    with pytest.raises(ValueError, match="estimate must be two estimates, of 'rows' and 'columns'"):
        nrm.networks.block_parameters(xr.Dataset(draws), model, [0, 0, 0, 1, 1, 1])
