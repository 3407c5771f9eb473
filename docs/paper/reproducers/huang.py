"""Huang, Laitonjam, Piao & Hurley (2020), Algorithm 2: two items in one leaf, exact transition probabilities.

Run with ``python huang.py``; NumPy is all it needs.  There is no data, so that a sweep must leave the prior invariant:
two items have one component with probability 1 / (1 + gamma) + gamma / ((1 + gamma) (1 + gamma_0)).  The root has
weights GEM(gamma_0), the leaf a Dirichlet process with concentration gamma, centred at them.  A sweep draws the weights
of root and leaf given the components, then the component of each item; expectations over weights are integrals.
Error 3 does nothing without data; ``huang_singletons.py`` has data.
"""

import numpy as np

GAMMA_0, GAMMA = 1.0, 1.0
U, P = np.polynomial.legendre.leggauss(40)
U, P = 0.5 + 0.5 * U, 0.5 * P  # nodes and weights of integrals over (0, 1)


def customers_at_root(counts_tables):
    """Numbers of customers at the root if both items have one component, and their probabilities."""
    weights = np.array([1.0, GAMMA / (1 + GAMMA_0)]) if counts_tables else np.array([0.0, 1.0])
    return np.array([1, 2]), weights / weights.sum()


def mean_root_weight(counts_tables):
    """Mean weight at the root of a component that both items have."""
    n, p = customers_at_root(counts_tables)
    return p @ (n / (n + GAMMA_0))


def square_of_new(rest, counts_pick, a):
    """Mean of the weight of the rest of the leaf, of parameter a, times that of a component newly drawn from it."""
    share = (GAMMA * rest / (1 + GAMMA_0) + counts_pick) / (GAMMA * rest + counts_pick)
    return a * (a + 1) * share / ((GAMMA + 2) * (GAMMA + 3))


def probability_together(counts_tables, counts_pick, removes=True):
    """Stationary probability that both items have one component."""
    together = 0.0  # of items that have one component, after a sweep
    for n, p in zip(*customers_at_root(counts_tables), strict=True):
        density = P * U ** (n - 1) * (1 - U) ** (GAMMA_0 - 1)  # weight of the component at the root
        a = GAMMA * U + 2
        kept = a * (a + 1) / ((GAMMA + 2) * (GAMMA + 3))
        together += p * density @ (kept + square_of_new(1 - U, counts_pick, GAMMA * (1 - U))) / density.sum()
    if removes:
        # Two components of one item each: the first is removed with its item, and its weights return to the rest.
        # The other one has weight y ~ Beta(1, 1 + gamma_0) at the root.
        y = 1 - (1 - U) ** (1 / (1 + GAMMA_0))
        b = GAMMA * y + 1
        kept = b * (b + 1) / ((GAMMA + 2) * (GAMMA + 3))
        apart = P @ (kept + square_of_new(1 - y, counts_pick, GAMMA * (1 - y) + 1))
    else:
        # Both are kept.  The rest of the root is r ~ Beta(gamma_0, 2).
        y, density = (
            1 - (1 - U) ** (1 / (1 + GAMMA_0)),
            P * U ** (GAMMA_0 - 1) * (1 - U),
        )
        b = GAMMA * y + 1
        kept = P @ (2 * b * (b + 1)) / ((GAMMA + 2) * (GAMMA + 3))
        apart = kept + density @ square_of_new(U, counts_pick, GAMMA * U) / density.sum()
    return apart / (apart + 1 - together)


CASES = {
    "as published": (False, False, False),
    "error 1 alone, items are counted in place of tables": (False, True),
    "error 2 alone, the pick of a new component is not counted": (True, False),
    "error 3 alone, components of single items are kept": (True, True, False),
    "none of them": (True, True),
}

if __name__ == "__main__":
    exact = 1 / (1 + GAMMA) + GAMMA / (1 + GAMMA) / (1 + GAMMA_0)
    print(f"mean weight at the root: exact {mean_root_weight(True):.4f}, published {mean_root_weight(False):.4f}")
    print(f"one component: prior {exact:.4f}")
    for name, repairs in CASES.items():
        found = probability_together(*repairs)
        print(f"{name}: {found:.4f}, total variation {abs(found - exact):.4f}")
