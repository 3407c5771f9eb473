"""Attacks on models: partitions, mixtures and steps, and some draws; a few with whole runs of a sampler."""

from hypothesis import strategies as st

import pymc_nrm as nrm

from .case import Case, names_of, pieces
from .inputs import inputs, measures
from .values import WRONG_ANYTHING, choose, options

STEPS = {
    "MarginalGibbs": {"n_items": ["None", "1", "{n}"]},
    "SliceSampler": {},
    "SplitMerge": {
        "n_moves": ["0", "1", "3"],
        "proposal": ["'sequential'", "'restricted_gibbs'"],
        "n_scans": ["0", "2"],
        "n_items": ["None", "1"],
    },
    "TreeGuided": {
        "moves": pieces("""
            {{}} | {{'tree_split_merge': 2}} | {{'marginal_gibbs': 0.5}} | {{'marginal_gibs': 1}}
            {{'subtree_gibbs': -1}}
        """),
        "n_trees": ["1", "2"],
        "n_cycles": ["1", "3", "None"],
    },
}
# Arguments of a partition instead of n.
PLACES = (
    ["n={n}"] * 12
    + [""]
    + pieces("""
    dims='item' | n={n}, dims='item' | n={n} + 1, dims='item' | dims='absent' | dims=('item', 'feature') | n={n}.0
    n=0 | n=-1 | n=True | n='{n}' | n=np.int32({n}) | n=2**40 | n=None, dims=None | n={n}, shape=({n},)
    n={n}, initval=np.arange({n}) | n={n}, initval=['a'] * {n} | n={n}, initval=[1.5] * {n} | n={n}, initval=[nan] * {n}
    n={n}, initval=[[0] * {n}] | n={n}, initval=np.full({n}, 2**62) | n={n}, initval=-np.arange({n}) | n={n}, initvals=1
    n={n}, initval=pd.Series(np.zeros({n}, dtype=int)) | n={n}, transform=None | n={n}, total_size=3 | n={n}, initval=0
""")
)
# More arguments of a mixture.
MORE = [""] * 12 + pieces("""
    , dims='item' | , dims=('item', 'feature') | , dims=('item', 'absent') | , dims=('a', 'b', 'c') | , dims=3
    , dims='feature' | , shape=({n}, {d}) | , shape=({n} + 1, {d}) | , shape=() | , total_size=7 | , size=3
    , initval=1.0 | , dtype='float32' | , observe=3 | , transform=None | , dims=() | , shape=3
""")
STARTS = ["np.zeros({n}, dtype=int)", "np.arange({n})", "np.arange({n}) % 2"]
NAMES = names_of(
    nrm.Partition, nrm.Mixture, nrm.TreeGuided, nrm.SplitMerge, nrm.MarginalGibbs, nrm.SliceSampler, nrm.sample
) | {
    *pieces("item | feature | absent | initval | initvals | transform | total_size | size | shape | moves"),
    *pieces("marginal_gibs | subtree_gibbs"),
}

MODEL = """\
X = {X}
measure = {measure}
family = {family}
with pm.Model(coords={{"item": range({n}), "feature": range({d})}}) as model:
    z = nrm.Partition("z", measure, {place})
    x = nrm.Mixture("x", z, family, observed={observed}{more})
"""
STEP = """\
    step = nrm.{step}([z], initial_point={{"z": {start}}}{options}, rng=np.random.default_rng({seed}))
points, statistics = [{{"z": {start}}}], []
for _ in range({draws}):
    point, [row] = step.step(points[-1])
    points.append(point)
    statistics.append(row)
"""
RUN = """\
    result = {sampler}({draws}, tune={tune}, chains={chains}, cores=1, progressbar=False, random_seed={seed}{options})
"""


@st.composite
def models(draw, given, hostile):
    """Text of a model, and whether it is plain."""
    chance = st.integers(0, 9) if hostile else st.just(9)
    place = choose(draw, PLACES) if draw(chance) < 2 else "n={n}"
    more = choose(draw, MORE) if draw(chance) < 2 else ""
    form = draw(chance)
    observed = "pm.Data('X', X)" if form == 0 else "None" if form == 1 and draw(st.booleans()) else "X"
    text = MODEL.format(
        X=given.X.source,
        measure=given.measure.source,
        family=given.family.source,
        n=given.n,
        d=given.d,
        place=place.format(n=given.n, d=given.d),
        observed=observed,
        more=more.format(n=given.n, d=given.d),
    )
    wrong = place != "n={n}" or more or observed != "X"
    return text, all(part.is_plain for part in (given.family, given.measure, given.X)) and not wrong


@st.composite
def step_cases(draw, kinds, steps=tuple(STEPS)):
    """A model and some draws by one step, without a run of a sampler."""
    given = draw(inputs(kinds))
    hostile = not draw(st.booleans())
    text, is_plain = draw(models(given, hostile))
    step = choose(draw, steps)
    table = {name: [value.format(n=given.n) for value in values] for name, values in STEPS[step].items()}
    chosen = draw(options(table, hostile=2 if hostile and draw(st.booleans()) else 0))
    text += STEP.format(
        step=step,
        start=choose(draw, STARTS).format(n=given.n),
        options=chosen.source,
        draws=draw(st.integers(1, 4)),
        seed=draw(st.integers(0, 99)),
    )
    # Ordinary options need not fit each other.
    return Case("steps", text, NAMES, is_plain and not chosen.source)


@st.composite
def run_cases(draw, kinds, steps=tuple(STEPS)):
    """A whole run of ``pm.sample`` or ``nrm.sample``, with tiny numbers of draws."""
    given = draw(inputs(kinds))
    text, is_plain = draw(models(given, draw(st.integers(0, 3)) == 3))
    sampler = choose(draw, ["nrm.sample", "pm.sample"])
    step = choose(draw, steps)
    more = f", step=[nrm.{step}([z])]"
    more += choose(draw, ["", "", f", initvals={{'z': np.arange({given.n})}}", ", discard_tuned_samples=False"])
    if sampler == "nrm.sample":
        table = {
            "label_storage": ["'full'", "'compact'", "'none'"],
            "thin": ["1", "2"],
            "initvals": ["None", f"{{'z': ['b'] * {given.n}}}", "{'z': [0]}", "{'zz': [0]}", "[]"],
            "partition_diagnostics": ["True", "False"],
            "client": ["None"],
            "quiet": ["True"],
        }
        chosen = draw(options(table, hostile=choose(draw, [0, 0, 3])))
        more, is_plain = (f", step=[nrm.{step}([z])]{chosen.source}", is_plain and chosen.is_plain)
    draws, tune = choose(draw, [5, 1, 2, 9]), choose(draw, [0, 3, 10])
    wrong = draw(st.integers(0, 19)) == 19
    count = choose(draw, [*WRONG_ANYTHING, "0"]) if wrong else draws
    text += RUN.format(
        sampler=sampler,
        draws=count,
        tune=tune,
        chains=draw(st.integers(1, 3)),
        seed=draw(st.integers(0, 99)),
        options=more,
    )
    return Case("runs", text, NAMES | {"draws", "tune", "chains"}, False)


HYPERPRIOR = """\
X = {X}
with pm.Model() as model:
    alpha = pm.Gamma("alpha", 2.0, 1.0)
    z = nrm.Partition("z", nrm.{measure}, n={n})
    scale = pm.LogNormal("scale", 0.0, 1.0)
    x = nrm.Mixture("x", z, {family}, observed=X)
    result = nrm.sample(3, tune=4, chains=1, cores=1, step=[nrm.{step}([z])], random_seed={seed}, quiet=True)
"""
HYPERPRIOR_MEASURES = pieces("""
    DirichletProcess(alpha) | NormalizedInverseGaussian(alpha) | NormalizedGeneralizedGamma(alpha)
    PitmanYorProcess(0.3, alpha - 0.25) | MixtureOfFiniteMixtures(alpha, 3.0 * alpha)
""")
SCALED = {
    "NormalGamma": "nrm.NormalGamma(0.0, 0.1, 2.0, scale)",
    "NormalRegression": "nrm.NormalRegression(np.ones(({n}, 1)), 0.0, np.eye(1), 2.0, scale)",
    "NormalWishart": "nrm.NormalWishart(0.0, 0.1, scale * np.eye({d}), {d} + 2.0)",
    "PoissonGamma": "nrm.PoissonGamma(1.0, scale)",
    "BernoulliBeta": "nrm.BernoulliBeta(scale, 1.0)",
    "CategoricalDirichlet": "nrm.CategoricalDirichlet(scale)",
    "MultinomialDirichlet": "nrm.MultinomialDirichlet(scale)",
}


@st.composite
def hyperprior_cases(draw, kinds, steps=tuple(STEPS)):
    """A whole run with NUTS for the hyperparameters, which compiles for some seconds."""
    kind = choose(draw, kinds)
    given = draw(inputs((kind,), hostility=(0, 2)))
    text = HYPERPRIOR.format(
        X=given.X.source,
        n=given.n,
        measure=choose(draw, HYPERPRIOR_MEASURES),
        family=SCALED[kind].format(n=given.n, d=given.d),
        step=choose(draw, steps),
        seed=draw(st.integers(0, 99)),
    )
    return Case("runs", text, NAMES | {"alpha", "scale", "z", "x"}, False)


PRIOR = """\
measure = {measure}
with pm.Model() as model:
    z = nrm.Partition("z", measure, n={n})
"""


@st.composite
def prior_cases(draw, steps=tuple(STEPS)):
    """A partition without data: measures by themselves, at all their extremes."""
    measure = draw(measures(choose(draw, [0, 4, 8])))
    n, step, seed = choose(draw, [5, 1, 2, 3, 40]), choose(draw, steps), draw(st.integers(0, 99))
    text = PRIOR.format(measure=measure.source, n=n)
    text += STEP.format(step=step, start=STARTS[0].format(n=n), options="", draws=4, seed=seed)
    return Case("steps", text, NAMES, measure.is_plain)
