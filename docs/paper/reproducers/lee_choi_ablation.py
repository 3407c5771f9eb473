"""Lee & Choi (2015), Tree-guided MCMC: exact transition matrices for three items, without simulation.

Run with ``python lee_choi_ablation.py``; NumPy is all it needs.  Normal items of variance 1 about means of variance 4
in a Dirichlet process mixture.  A state is a set of binary trees, one for each cluster: seven states.
The moves are those of ``pymc_nrm.published``, where the readings of ambiguous passages are listed.
"""

import functools
import itertools
import math

import numpy as np

X, ALPHA, VARIANCE = (-1.5, 0.2, 1.3), 1.0, 4.0
G, D = 20, 2


def items(tree):
    return frozenset([tree]) if isinstance(tree, int) else items(tree[0]) | items(tree[1])


@functools.cache
def weight(cluster):
    """Alpha Gamma(m) p(X_c), the factor of a cluster in the posterior probability."""
    x = np.array([X[i] for i in sorted(cluster)])
    covariance = np.eye(len(x)) + VARIANCE
    log_p = -0.5 * (x @ np.linalg.solve(covariance, x) + np.linalg.slogdet(2 * np.pi * covariance)[1])
    return ALPHA * math.gamma(len(x)) * math.exp(log_p)


def potential(tree):
    own = weight(items(tree))
    return own if isinstance(tree, int) else own + potential(tree[0]) * potential(tree[1])


def d(a, b):
    return potential(a) * potential(b) / weight(items(a) | items(b))


def join(a, b):
    return (a, b) if min(items(a)) < min(items(b)) else (b, a)


def insert(tree, x):
    """SeqInsert: join the nearest pair among x and the two children."""
    if isinstance(tree, int):
        return join(tree, x)
    a, b = tree
    if d(a, b) <= min(d(a, x), d(b, x)):
        return join(tree, x)
    return join(insert(a, x), b) if d(a, x) <= d(b, x) else join(a, insert(b, x))


def nodes(tree):
    return [tree] if isinstance(tree, int) else [tree, *nodes(tree[0]), *nodes(tree[1])]


def sample_sub(tree, with_leaves):
    """SampleSub: nodes and their probabilities, proportional to d + epsilon with epsilon the largest d."""
    found = [v for v in nodes(tree) if with_leaves or not isinstance(v, int)]
    values = np.array([0.0 if isinstance(v, int) else d(*v) for v in found])
    values = values + values.max() if values.max() > 0 else np.ones(len(found))
    return list(zip(found, values / values.sum(), strict=True))


def splits(tree):
    """Outcomes of a split and their probabilities: cut at a node, then StocInsert of what was beside its path."""
    for v, p in sample_sub(tree, False):
        outcomes = [(p, list(v))]
        for part in [t for t in tree if t != v] if v != tree else []:
            for q, trees in outcomes.copy():
                outcomes.remove((q, trees))
                values = np.array([1 / d(t, part) for t in trees] + [1.0])
                for k, share in enumerate(values / values.sum()):
                    joined = [insert(t, part) if j == k else t for j, t in enumerate(trees)]
                    outcomes.append((q * share, joined if k < len(trees) else [*joined, part]))
        yield from outcomes


def chosen(forest, c, others):
    """Probability that a global move picks c and chooses exactly these other trees."""
    return math.prod(1 / (1 + d(c, t)) if t in others else 1 - 1 / (1 + d(c, t)) for t in forest - {c}) / len(forest)


def any_pick(forest, trees):
    return sum(chosen(forest, c, set(trees) - {c}) for c in trees)


def target(forest):
    return math.prod(weight(items(t)) for t in forest)


def partition(forest):
    return frozenset(frozenset(items(t)) for t in forest)


def restricted(cluster):
    """The tree of a cluster in which items 0 and 1 are joined first: a function of the cluster alone."""
    first, *others = sorted(cluster)
    for item in others:
        first = (first, item)
    return first


def global_move(forest, canonical, sums_picks):
    """States after a global move and their probabilities."""

    def kept(f):
        return frozenset(map(restricted, partition(f))) if canonical else frozenset(f)

    for c in forest:
        for chosen_trees in itertools.chain(*(itertools.combinations(forest - {c}, k) for k in range(len(forest)))):
            q = chosen(forest, c, set(chosen_trees))
            if not chosen_trees:
                for p, trees in splits(c) if isinstance(c, tuple) else [(1.0, [c])]:
                    new = (forest - {c}) | set(trees)
                    ratio = target(new) * any_pick(new, trees) / (target(forest) * q * p) if len(trees) > 1 else 0.0
                    yield kept(new), q * p * min(1.0, ratio)
                    yield forest, q * p * (1.0 - min(1.0, ratio))
                continue
            trees = [c, *sorted(chosen_trees, key=lambda t: min(items(t)))]
            union = trees[0]
            for t in trees[1:]:
                union = join(union, t)
            union = restricted(items(union)) if canonical else union
            new = (forest - set(trees)) | {union}
            back = sum(p for p, outcome in splits(union) if partition(outcome) == partition(trees))
            forward = any_pick(forest, trees) if sums_picks else q
            accepted = min(
                1.0,
                target(new) * chosen(new, union, set()) * back / (target(forest) * forward),
            )
            yield kept(new), q * accepted
            yield forest, q * (1.0 - accepted)


def without(tree, x):
    if isinstance(tree, int):
        return tree
    a, b = tree
    return b if a == x else a if b == x else join(without(a, x), without(b, x))


def gibbs(forest, x, canonical):
    """States after a Gibbs update of item x; it keeps its place in the tree if it stays."""
    [own] = [t for t in forest if x in items(t)]
    others = forest - {own} if own == x else (forest - {own}) | {without(own, x)}
    outcomes = [(t, weight(items(t) | {x}) / weight(items(t))) for t in others] + [(None, weight(frozenset([x])))]
    total = sum(w for _, w in outcomes)
    for t, w in outcomes:
        new = others | {x} if t is None else (others - {t}) | {insert(t, x)}
        new = forest if partition(new) == partition(forest) else new
        yield (
            (frozenset(map(restricted, partition(new))) if canonical else frozenset(new)),
            w / total,
        )


def local_items(forest, all_items):
    """Sets of items of the local moves and their probabilities: below a node of a node of each tree."""
    if all_items:
        return [({0, 1, 2}, 1.0)]
    found = [(set(), 1.0)]
    for t in forest:
        drawn = [(t, 1.0)]
        for _ in range(D):
            drawn = [(v, p * q) for w, p in drawn for v, q in sample_sub(w, True)]
        found = [(s | items(v), p * q) for s, p in found for v, q in drawn]
    return found


def stationary(transitions):
    n = len(transitions)
    system = np.vstack([transitions.T - np.eye(n), np.ones(n)])
    return np.linalg.lstsq(system, np.eye(n + 1)[-1], rcond=None)[0]


def distances(canonical, sums_picks, all_items):
    """Total variation from the posterior after the local moves, and after the G global moves that precede them."""
    states = [f for f in FORESTS if not canonical or all(t == restricted(items(t)) for t in f)]
    index = {f: k for k, f in enumerate(states)}

    def matrix(move):
        rows = np.zeros((len(states), len(states)))
        for f in states:
            for new, p in move(f):
                rows[index[f], index[new]] += p
        return rows

    updates = [matrix(lambda f, x=x: gibbs(f, x, canonical)) for x in range(3)]
    local = np.zeros((len(states), len(states)))
    for f in states:
        for drawn, p in local_items(f, all_items):
            row = np.eye(len(states))[index[f]]
            for x in sorted(drawn):
                row = row @ updates[x]
            local[index[f]] += p * row
    moves = np.linalg.matrix_power(matrix(lambda f: global_move(f, canonical, sums_picks)), G)
    after = stationary(moves @ local)
    exact = {partition(f): target(f) for f in FORESTS}
    total = sum(exact.values())
    found = []
    for p in (after, after @ moves):
        difference = {c: -value / total for c, value in exact.items()}
        for f in states:
            difference[partition(f)] += p[index[f]]
        found.append(0.5 * sum(map(abs, difference.values())))
    return found


FORESTS = [
    frozenset(f)
    for f in (
        [0, 1, 2],
        *([join(a, b), c] for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 2, 0))),
    )
]
FORESTS += [frozenset([join(join(a, b), c)]) for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 2, 0))]
CASES = {
    "as published": (False, False, False),
    "error 1 alone, items of local moves drawn from the trees of clusters": (
        True,
        True,
        False,
    ),
    "error 2 alone, trees that moves change": (False, True, True),
    "error 3 alone, merges count the pick that happened": (True, False, True),
    "none of them": (True, True, True),
}

if __name__ == "__main__":
    for name, case in CASES.items():
        after_local, after_global = distances(*case)
        print(f"{name}: total variation {after_local:.4f} after local, {after_global:.4f} after global moves")
