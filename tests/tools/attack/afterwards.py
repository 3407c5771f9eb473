"""Attacks on what is computed from draws: statistics, predictions and pictures, on posteriors made without sampling."""

from operator import attrgetter

from hypothesis import strategies as st

import pymc_nrm as nrm

from .case import Case, Text, names_of, pieces
from .inputs import OF_WINGS, VALUES, data, families, measures
from .values import WRONG_ANYTHING, choose, options

NAMED = {
    "SEED": ["1", "0", "None", "np.random.default_rng(3)"],
    "LOSS": pieces("""
        'variation_of_information' | 'binder' | 'normalized_variation_of_information' | 'one_minus_adjusted_rand'
    """),
    "ESTIMATE": pieces("""
        None | labels[0] | np.zeros(n, dtype=int) | np.arange(n) | [5] * n | labels[0].tolist()
        xr.DataArray(labels[0], dims='z_dim_0')
    """),
}


def table(text):
    """Values of arguments by function and name; those in capitals are lists of ``NAMED``."""
    found = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        function, arguments = line.split(": ", 1) if ": " in line else (line, "")
        for argument in filter(None, arguments.split("; ")):
            name, values = argument.split(" = ", 1)
            choices = [NAMED.get(value, [value]) for value in values.split(" | ")]
            found.setdefault(function, {})[name] = [value for values in choices for value in values]
        found.setdefault(function, {})
    return found


# Functions of draws alone, with ordinary arguments; all of them are also given wrong ones.
STATISTICS = table("""
    summary: var_names = None | 'z' | ['z']; n_sizes = 0 | 1 | 3; n_pairs = 0 | 1 | 10; random_seed = 0
    point_estimate: loss = LOSS; max_clusters = None | 1 | 3; n_restarts = 1 | 2; max_sweeps = 1 | 5
    point_estimate: max_zealous = 0 | 2; max_draws = 1000 | None | 1 | 7; progressbar = False
    point_estimate: random_seed = SEED; var_name = None | 'z'
    point_estimates: n = 3 | 1 | 2 | 5; min_share = 0.05 | 0 | 0.5; loss = LOSS; max_draws = 1000 | None | 1 | 7
    point_estimates: progressbar = False; random_seed = SEED; var_name = None | 'z'
    similarity: items = None | [0] | [0, n - 1] | slice(0, 2) | [-1] | [n]; var_name = None | 'z'
    credible_ball: estimate = ESTIMATE; probability = 0.95 | 0.5 | 1.0; loss = LOSS; random_seed = SEED
    assignment_uncertainty: estimate = ESTIMATE; loss = LOSS; random_seed = SEED
    partition_convergence: n_pairs = 0 | 1 | 500; random_seed = 0; var_name = None | 'z'
    add_diagnostics: n_pairs = 0 | 5; random_seed = 0; var_name = None | 'z'
    without_labels
""")
PREDICTIONS = table("""
    sample_cluster_parameters: to_items = True | False; random_seed = SEED; var_name = None | 'x'
    compute_log_likelihood: var_name = None | 'x'; extend_inferencedata = True | False
    sample_posterior_predictive: new_items = 0 | 1 | 3; var_names = None | 'x' | ['x']; random_seed = SEED
    sample_random_measure: tail_mass = 1e-3 | 0.5; max_new_atoms = 1000 | 1 | 0; random_seed = SEED
    sample_random_measure: var_name = None | 'x'
    predictive_density: var_name = None | 'x'
    cluster_probabilities: estimate = ESTIMATE; var_name = None | 'z'
""")
PLOTS = table("""
    plot_similarity: order = 'estimate' | None | np.arange(n) | 'data'; estimate = ESTIMATE
    plot_similarity: names = None | list(range(n))
    plot_n_clusters: prior = None | nrm.DirichletProcess(1.0); by_chain = True | False
    plot_cluster_sizes: ci_prob = None | 0.5; log = True | False; max_rank = None | 1 | 40
    plot_partition_trace: var_name = None | 'z'
    plot_distance: estimate = ESTIMATE; loss = None | LOSS; probability = 0.9
    plot_clusters: estimate = ESTIMATE; uncertainty = True | False; features = None | [0]
    plot_clusters: min_size = None | 1; probability = 0.9
""")
VISUALS = ["None", "{}", "{'title': False}", "{'lines': {'color': 'red'}}"]

# How a posterior may be changed before it is passed.
POSTERIORS = ["posterior"] * 8 + pieces("""
    posterior.isel(draw=slice(0, 1)) | posterior.isel(chain=[0], draw=slice(0, 2)) | posterior.dataset
    posterior.isel(draw=slice(0, 0)) | posterior.isel(chain=[]) | xr.DataTree() | xr.Dataset() | None
    posterior['z'] | posterior.rename({'z': 'w'}) | posterior.dataset.isel(chain=0)
    posterior.dataset.astype(float) | posterior.dataset + 1 | posterior.dataset * -1
    posterior.dataset.isel(z_dim_0=slice(0, 2)) | posterior.dataset.isel(z_dim_0=[])
    posterior.dataset.astype('uint8') | [1, 2] | labels | posterior.dataset.transpose('z_dim_0', 'draw', 'chain')
    posterior.dataset.assign(w=posterior['z']) | posterior.dataset.drop_vars('z') | posterior.dataset.astype(str)
    posterior.dataset.astype(bool) | posterior.dataset.isel(chain=0, draw=0) | {'posterior': posterior}
    posterior.dataset.where(posterior['z'] > 0) | posterior.dataset * 2**40
    posterior.dataset.rename(draw='sample')
""")
DRAWS = """\
n = {n}
labels = np.array([{one}(np.random.default_rng({seed} + s), n, s) for s in range({chains} * {draws})])
posterior = xr.Dataset({{"z": (("chain", "draw", "z_dim_0"), labels.reshape({chains}, {draws}, n))}})
posterior = xr.DataTree.from_dict({{"posterior": posterior}})["posterior"]
idata = {idata}
if isinstance(idata, xr.DataTree) and idata.name == "posterior":
    idata = xr.DataTree.from_dict({{"posterior": idata.to_dataset()}})
"""
# One draw of labels in order of appearance.
ONE = {
    "random": "(lambda rng, n, s: np.unique(np.sort(rng.integers(0, 4, size=n)), return_inverse=True)[1])",
    "one cluster": "(lambda rng, n, s: np.zeros(n, dtype=int))",
    "singletons": "(lambda rng, n, s: np.arange(n))",
    "both": "(lambda rng, n, s: np.arange(n) * (s % 2))",
}
MODEL = """\
X = {X}
with pm.Model() as model:
    z = nrm.Partition("z", {measure}, n={n})
    x = nrm.Mixture("x", z, {family}, observed=X)
"""
NEW = pieces("""
    np.array(X) | np.array(X)[:1] | np.array(X)[0] | np.array(X) * 100 | np.array(X) * 1e30 | np.array(X) + 1e8
    pd.DataFrame(np.array(X)) | np.array(X)[:, :0] | np.array(X)[:0] | nan | [] | 'x' | None | np.array(X) * nan
    np.array(X) * inf | np.array(X)[None] | np.array(X) * 1j | np.append(X, X, axis=1) | np.array(X).astype(str)
    {'x': X} | {'y': X} | sparse.csr_array(np.array(X)) | xr.Dataset() | pt.constant(1.0)
""")
# What follows draws of a random measure.
MEASURED = pieces("""
    density = nrm.random_measure.measure_density(result, model, np.array(X))
    mean = nrm.random_measure.measure_mean(result, model)
    cdf = nrm.random_measure.measure_cdf(result, model, np.sort(np.array(X)[:, 0]))
    cdf = nrm.random_measure.measure_cdf(result, model, [nan, 'x'])
    cdf = nrm.random_measure.measure_cdf(result, model, [0.0, 1.0], feature=9)
    density = nrm.random_measure.measure_density(result.isel(atom=slice(0, 0)), model, np.array(X))
    mean = nrm.random_measure.measure_mean(result.drop_vars('weight'), model)
""")


# Where functions of draws are that are not at the top.
PLACES = ("stats", "random_measure")


def function_of(module, name):
    """A function of draws by its name, at the top or in one of the places."""
    return getattr(module, name) if name in module.__all__ else attrgetter(place_of(name))(nrm)


def place_of(name):
    """A function of draws as users write it, without the package."""
    return name if name in nrm.__all__ else next(f"{p}.{name}" for p in PLACES if name in getattr(nrm, p).__all__)


def _names(table, module):
    names = set(names_of(*[function_of(module, name) for name in table])).union(*table.values())
    extra = "posterior draws chain draw labels visuals backend X_new grid items plot_collection cost_false_join w"
    return frozenset(names | {*extra.split(), "cost_false_split"})


@st.composite
def posteriors(draw, n, hostile):
    """Text of draws of labels, and whether they are ordinary."""
    idata = choose(draw, POSTERIORS) if hostile else "posterior"
    one, seed = ONE[choose(draw, sorted(ONE))], draw(st.integers(0, 50))
    chains, draws = draw(st.integers(1, 3)), choose(draw, [5, 12, 4])
    text = DRAWS.format(n=n, one=one, seed=seed, chains=chains, draws=draws, idata=idata)
    return Text(text, idata == "posterior")


# Functions of draws by kind, the room of the package where they are, and further words for their errors.
ROOMS = {
    "statistics": (STATISTICS, nrm, []),
    "predictions": (PREDICTIONS, nrm, ["measure_draws", "feature", "weight", "total", "atom"]),
    "plots": (PLOTS, nrm.plots, ["matplotlob"]),
}
# What plot_clusters gets besides draws; the last ones are wrong.
POINTS = pieces("""
    rng.normal(size=({n}, 2)) | rng.normal(size={n}) | rng.normal(size=({n}, 5)) | rng.normal(size=(3, 2))
    None | 'X' | np.full(({n}, 2), nan)
""")


@st.composite
def cases_of(draw, room, kinds=()):
    """A function of draws alone, of draws and a model of a family of ``kinds``, or a picture on no backend."""
    table, module, words = ROOMS[room]
    function = choose(draw, sorted(table))
    hostile = choose(draw, {"statistics": [0, 0, 3], "predictions": [0, 0, 2], "plots": [0, 3]}[room])
    n = choose(draw, {"statistics": [5, 1, 2, 8, 20], "predictions": [5, 3, 1, 2], "plots": [6, 2, 1]}[room])
    text, given, after, is_plain = "", "", "", True
    if room == "predictions":
        # Regressions need covariates of new items, which these programs do not have.
        kind = choose(draw, [kind for kind in kinds if kind not in ("NormalRegression", *OF_WINGS)])
        d = choose(draw, [2, 1, 3])
        X, family, measure = (
            draw(data(VALUES[kind], n, d, 0)),
            draw(families(kind, n, d, hostile)),
            draw(measures(hostile)),
        )
        is_plain = all(part.is_plain for part in (X, family, measure))
        text, given = MODEL.format(X=X.source, measure=measure.source, family=family.source, n=n), ", model"
        if function in ("predictive_density", "cluster_probabilities"):
            ordinary = not draw(st.integers(0, 1))
            given += ", np.array(X)" if ordinary else f", {choose(draw, [*NEW, *WRONG_ANYTHING])}"
            is_plain = is_plain and ordinary
        if function == "sample_random_measure" and draw(st.booleans()):
            after, is_plain = choose(draw, MEASURED) + "\n", False
    elif room == "plots":
        if function == "plot_clusters":
            points = choose(draw, POINTS if hostile else POINTS[:3]).format(n=n)
            given = ", " + points.replace("rng", "np.random.default_rng(1)")
        backend = choose(draw, ["'none'"] * 9 + ["'matplotlob'"])
        given, is_plain = f"{given}, backend={backend}", backend == "'none'" and not hostile
    before = draw(posteriors(n, hostile and (room != "predictions" or draw(st.booleans()))))
    more = {"visuals": VISUALS} if room == "plots" else {}
    chosen = draw(options(table[function] | more, hostile=hostile))
    written = f"plots.{function}" if room == "plots" else place_of(function)
    call = f"result = nrm.{written}(idata{given}{chosen.source})\n"
    check = "plots" if room == "plots" else f"nrm.{function}"
    is_plain = is_plain and before.is_plain and not chosen.source
    return Case(check, text + before.source + call + after, _names(table, module) | set(words), is_plain)
