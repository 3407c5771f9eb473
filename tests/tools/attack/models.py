"""Attacks on models: partitions, mixtures and steps, and some draws."""

from hypothesis import strategies as st

import pymc_nrm as nrm

from .case import Case, names_of, pieces
from .inputs import inputs, measures
from .values import choose, options

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
    nrm.Partition,
    nrm.Mixture,
    nrm.steps.TreeGuided,
    nrm.steps.SplitMerge,
    nrm.steps.MarginalGibbs,
    nrm.steps.SliceSampler,
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
    step = nrm.steps.{step}([z], initial_point={{"z": {start}}}{options}, rng=np.random.default_rng({seed}))
points, statistics = [{{"z": {start}}}], []
for _ in range({draws}):
    point, [row] = step.step(points[-1])
    points.append(point)
    statistics.append(row)
"""


@st.composite
def models(draw, given, hostile):
    """Text of a model, and whether it is plain."""
    chance = st.integers(0, 9) if hostile else st.just(9)
    place = choose(draw, PLACES) if draw(chance) < 2 else "n={n}"
    more = choose(draw, MORE) if draw(chance) < 2 else ""
    form = draw(chance)
    observed = "pm.Data('X', X)" if form == 0 else "None" if form == 1 and draw(st.booleans()) else "X"
    sizes = {"n": given.n, "d": given.d}
    sources = {"X": given.X.source, "measure": given.measure.source, "family": given.family.source}
    text = MODEL.format(**sizes, **sources, place=place.format(**sizes), observed=observed, more=more.format(**sizes))
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
    start, draws = choose(draw, STARTS).format(n=given.n), draw(st.integers(1, 4))
    text += STEP.format(step=step, start=start, options=chosen.source, draws=draws, seed=draw(st.integers(0, 99)))
    # Ordinary options need not fit each other.
    return Case("steps", text, NAMES, is_plain and not chosen.source)


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
