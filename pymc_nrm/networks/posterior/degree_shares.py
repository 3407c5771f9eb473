"""Ties of nodes and rates of pairs with degree correction, drawn given labels and data."""

import numpy as np


def draw_pair_rates(draws, draw, first, second, rng):
    """Draw the shares of nodes and the rates of blocks; return the rates of pairs (m,).

    The rate of a pair is ``theta_i theta_j lambda_rs``.  The thetas of block r are its size n_r times shares, whose
    posterior is Dirichlet with parameters ``c + k_i``; k_i is the number of ties of node i (Karrer & Newman 2011,
    "Stochastic blockmodels and community structure in networks").  Nodes of directed networks have two thetas, of ties
    from them and to them.
    """
    thetas = [draw_thetas(draw.labels[0], draw.degree_corrected + degrees, rng) for degrees in draws.degrees]
    rates = draws.draw_parameters(draw, rng)["rate"]
    means = thetas[0][first] * thetas[-1][second] * rates[draw.labels[0][first], draw.labels[1][second]]
    # An undirected loop has half the rate.
    return means if draws.directed else np.where(first == second, 0.5, 1.0) * means


def draw_thetas(labels, concentrations, rng):
    """Draw shares of nodes in their clusters, times the sizes of these. Shapes: ``concentrations`` and returns (n,)."""
    # Logarithms of gamma variables stay finite for small shapes: G(a) = G(a + 1) U^(1 / a).
    logs = np.log(rng.gamma(concentrations + 1.0)) + np.log(rng.random(len(labels))) / concentrations
    largest = np.full(labels.max() + 1, -np.inf)
    np.maximum.at(largest, labels, logs)
    shares = np.exp(logs - largest[labels])
    return shares * (np.bincount(labels) / np.bincount(labels, shares))[labels]
