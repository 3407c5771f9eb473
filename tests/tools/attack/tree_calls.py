"""Attacks on the functions of ``pymc_nrm.trees``, and on ``from_data``."""

from hypothesis import strategies as st

import pymc_nrm as nrm

from .case import Case, names_of, pieces
from .inputs import inputs
from .values import choose, options

OPTIONS = {
    "bhc": {"u": ["None", "1.0", "1e-8", "1e8", "1e-300", "1e300"], "random_seed": ["None", "1"]},
    "ibhc": {
        "u": ["None", "1.0", "1e-8", "1e300"],
        "n_passes": ["1", "2"],
        "balance_depth": ["64", "0", "None", "2"],
        "random_seed": ["1"],
    },
    "bayes_kmeans_bhc": {"n_clusters": ["None", "1", "min(2, {n})", "{n}"], "u": ["None", "0.5"], "random_seed": ["1"]},
}
AFTER = {
    "": "",
    "linkage": "result = tree.to_linkage(), tree.cut_height\n",
    "alternatives": "result = nrm.trees.alternative_trees(tree.tree, X, family, measure)\n",
    "bound": "result = nrm.trees.log_evidence_lower_bound(tree.tree, X, family, measure{options})\n",
    "predict": "result = nrm.trees.predictive_log_density(tree.tree, X, {new}, family, measure)\n",
}
TREE = """\
X = {X}
measure = {measure}
family = {family}
tree = nrm.trees.{function}(X, family, measure{options})
"""
NEW = pieces("""
    X | X[:1] | X[0] | np.array(X) * 1e3 | nan | [] | 'x' | X[:, :0] | np.array(X)[None] | np.array(X) * nan
""")
NAMES = names_of(
    *(nrm.trees.bhc, nrm.trees.ibhc, nrm.trees.bayes_kmeans_bhc, nrm.trees.alternative_trees),
    *(nrm.trees.log_evidence_lower_bound, nrm.trees.predictive_log_density),
) | {"X_new", "start", "tree", "n_clusters"}


@st.composite
def tree_cases(draw, kinds, functions=tuple(OPTIONS)):
    """A tree, and sometimes what is computed from it."""
    given = draw(inputs(kinds))
    function = choose(draw, functions)
    table = {name: [value.format(n=given.n) for value in values] for name, values in OPTIONS[function].items()}
    chosen = draw(options(table, hostile=choose(draw, [0, 0, 3])))
    sources = {"X": given.X.source, "measure": given.measure.source, "family": given.family.source}
    text = TREE.format(**sources, function=function, options=chosen.source)
    after = choose(draw, sorted(AFTER))
    new = choose(draw, NEW) if after == "predict" else ""
    u = choose(draw, ["", ", u=1.0", ", u=-1", ", u='x'", ", u=nan"]) if after == "bound" else ""
    text += AFTER[after].format(new=new, options=u)
    parts = (given.family, given.measure, given.X, chosen)
    return Case("trees", text, NAMES, all(part.is_plain for part in parts) and not new and not u)


@st.composite
def from_data_cases(draw):
    """Hyperparameters from data."""
    kind = choose(draw, ["NormalGamma", "NormalWishart"])
    given = draw(inputs((kind,), hostility=(0, 3, 8)))
    text = f"X = {given.X.source}\nresult = nrm.{kind}.from_data(X)\n"
    return Case("from_data", text, names_of() | {"X", "features", "values"})
