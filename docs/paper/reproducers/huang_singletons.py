"""Huang, Laitonjam, Piao & Hurley (2020), error 3: a component whose only item is taken out must be removed.

Run with ``python huang_singletons.py``; NumPy is all it needs.  Two binary items of one node with weights GEM(gamma_0);
the probability of a one is 0.2 or 0.8 in each component.  A sweep draws weights and parameters of the components in
use given the items, then the component of each item; weights and parameters of unused ones are integrated out.
Transition probabilities are integrals over weights and sums over parameters.
"""

import itertools

import numpy as np

GAMMA_0, THETA, X = 1.0, np.array([0.2, 0.8]), (1, 1)
U, P = np.polynomial.legendre.leggauss(30)
U, P = 0.5 + 0.5 * U, 0.5 * P
# Weights of two components and the share of a third in the rest, and the density of each triple.
A, B, T = np.meshgrid(U, U, U, indexing="ij")
DENSITY = P[:, None, None] * P[None, :, None] * P[None, None, :] * GAMMA_0 * (1 - T) ** (GAMMA_0 - 1)


def f(x, theta):
    return theta if x else 1 - theta


def posterior(*items):
    """Probabilities of the parameter of a component given its items."""
    p = np.prod([f(x, THETA) for x in items], axis=0)
    return p / p.sum()


def together_after(a, b, density, thetas, single, removes):
    """Probability that two items share a component, if the first has component a and the other a or b."""
    (theta_a, theta_b, theta_c), (x1, x2) = thetas, X
    rest = 1 - a - b
    if single and removes:  # the only item of a is taken out: its weight returns to the rest
        a, rest = 0.0 * a, rest + a
    p_new = f(x1, THETA).mean()
    first = np.array([a * f(x1, theta_a), b * f(x1, theta_b), rest * p_new])
    first = first / first.sum(axis=0)
    total = 0.0
    for k in range(3):  # the first item takes a, b, or a new component c
        w = {
            "a": a,
            "b": b,
            "c": rest * T if k == 2 else 0.0,
            "rest": rest * (1 - T) if k == 2 else rest,
        }
        own = "b" if single else "a"
        if removes and own != "abc"[k]:  # the second item is the only one of its component
            w["rest"], w[own] = w["rest"] + w[own], 0.0
        densities = {
            "a": f(x2, theta_a),
            "b": f(x2, theta_b),
            "c": f(x2, theta_c),
            "rest": f(x2, THETA).mean(),
        }
        values = {name: w[name] * densities[name] for name in w}
        total = total + first[k] * values["abc"[k]] / sum(values.values())
    return (density * total).sum()


def probability_together(removes):
    """Stationary probability that both items have one component."""
    together = apart = 0.0
    p_one, p_two, p_new = posterior(*X), [posterior(x) for x in X], posterior(X[0])
    one = DENSITY * A * (1 - A) ** (GAMMA_0 - 1)
    two = DENSITY * (1 - A) * ((1 - A) * (1 - B)) ** (GAMMA_0 - 1)  # b is B (1 - a)
    for i, j, k in itertools.product(range(2), repeat=3):
        thetas = THETA[i], THETA[j], THETA[k]
        p = p_new[k] * p_one[i] * 0.5
        together += p * together_after(A, 0.0 * B, one / one.sum(), thetas, False, removes)
        p = p_new[k] * p_two[0][i] * p_two[1][j]
        apart += p * together_after(A, B * (1 - A), two / two.sum(), thetas, True, removes)
    return apart / (apart + 1 - together)


if __name__ == "__main__":
    prior = 1 / (1 + GAMMA_0)
    joint = prior * np.prod([f(x, THETA) for x in X], axis=0).mean()
    separate = (1 - prior) * np.prod([f(x, THETA).mean() for x in X])
    exact = joint / (joint + separate)
    print(f"one component: posterior {exact:.4f}")
    for name, removes in (
        ("components of single items are kept", False),
        ("removed", True),
    ):
        found = probability_together(removes)
        print(f"{name}: {found:.4f}, total variation {abs(found - exact):.4f}")
