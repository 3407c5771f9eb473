"""Models, steps and summaries of nested partitions whose draws of fixed seeds are compared."""

from functools import partial

import numpy as np
import pymc as pm

import pymc_nrm as nrm
from tests.cases import MEASURES
from tests.tools.same_draws.models import ANIMALS, FAMILIES, FULL

GROUPS = [["a", 0], ["a", 1], ["b", 0], ["b", 0], ["a", 1], ["c", 0]]
TREE_FAMILIES = {
    "NormalDiffusion": lambda depth: nrm.nested.NormalDiffusion(4.0, [2.0] + [1.0] * depth, np.eye(2), 4.0),
    "IndependentNormalDiffusion": lambda depth: nrm.nested.IndependentNormalDiffusion(
        4.0, [2.0] + [1.0] * depth, 3.0, 2.0
    ),
}


def nested(depth=2, weights=True, family="BernoulliBeta", measure=None, learned=False, observed=True, paths=None):
    """A nested partition, with weights, with a tree family, or with known paths."""
    with pm.Model(coords=ANIMALS) as model:
        gamma = (pm.Gamma("gamma", 2, 2), pm.Gamma("gamma_0", 2, 2)) if learned else (1.0, 1.5)
        weights = nrm.nested.HierarchicalDirichletProcess(*gamma) if weights else None
        if paths is not None:
            h = nrm.nested.NestedPartition("h", weights=weights, paths=paths, dims="item")
        else:
            measure = measure or nrm.DirichletProcess(pm.Gamma("alpha", 2, 2) if learned else 0.8)
            h = nrm.nested.NestedPartition("h", measure, depth, *([] if weights is None else [weights]), dims="item")
        if family in TREE_FAMILIES:
            family, X = TREE_FAMILIES[family](depth), FULL
        else:
            family, X = FAMILIES[family]
        nrm.Mixture("x", h, family, **({"observed": X} if observed else {"shape": X.shape}))
    return model


def tree(function):
    """Levels of the tree that a function of draws estimates."""

    def of(idata, model):
        found = function(idata)
        return {f"level {level}": found.labels(level) for level in range(3)} | {"depth": found.common_depth()}

    return of


KINDS = {
    "nested": partial(nested, learned=True),
    "nested PY NormalGamma": partial(nested, 3, family="NormalGamma", measure=MEASURES["PY"]),
    "nested tree family": partial(nested, 3, False, "NormalDiffusion", learned=True),
    "nested independent": partial(nested, 2, False, "IndependentNormalDiffusion", MEASURES["PY"]),
    "known paths": partial(nested, 2, learned=True, paths=GROUPS),
}
OPTIONS = {"known paths": {"new_paths": GROUPS}}
AFTER = {
    "nested_point_estimate": (
        tuple(KINDS),
        tree(partial(nrm.nested.nested_point_estimate, random_seed=1, progressbar=False)),
    ),
    "consensus_tree": (tuple(KINDS), tree(nrm.nested.consensus_tree)),
}
GIBBS = (nrm.nested.NestedGibbs, {})
STEPS = {
    **{f"NestedGibbs/weights/{f}": (partial(nested, family=f), *GIBBS) for f in FAMILIES},
    **{f"NestedGibbs/known paths/{f}": (partial(nested, family=f, paths=GROUPS), *GIBBS) for f in FAMILIES},
    **{
        f"NestedGibbs/{family}/{measure}": (partial(nested, 3, False, family, MEASURES[measure]), *GIBBS)
        for family in TREE_FAMILIES
        for measure in ("DP", "PY")
    },
}
