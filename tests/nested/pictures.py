"""Pictures of trees."""

import functools

import numpy as np

import pymc_nrm as nrm
from tests.plots import plot_cases

IMAGES = np.ones((plot_cases.N, 2, 3))


@functools.cache
def tree():
    return (nrm.nested.nested_point_estimate(plot_cases.make_nested_draws(), random_seed=1),)


def draws():
    return (plot_cases.make_nested_draws(),)


PICTURES = {
    "tree": (draws, {}, ("matplotlib",)),
    "tree_1": (draws, {"composition": plot_cases.TRUE, "images": {0: np.eye(3)}}, ("matplotlib",)),
}
WRONG_PICTURES = {
    "0": ("tree", tree, {"collapse": 1}, "collapse must be True or False; got 1"),
    "1": (
        "tree",
        tree,
        {"composition": plot_cases.TRUE[1:]},
        r"must have shape \(27,\) or \(27, K\); got shape \(26,\)",
    ),
    "2": ("tree", tree, {"composition": np.eye(4)[plot_cases.TRUE] * 2}, "must have shares of at least 0 with sum 1"),
    "3": ("tree", tree, {"composition": np.arange(plot_cases.N)}, "composition must have at most 8 classes; got 27"),
    "4": ("tree", tree, {"images": {99: IMAGES[0]}}, "images must be keyed by nodes from 0 to .*; got 99"),
    "5": ("tree", tree, {"images": IMAGES[1:]}, r"must have shape \(27, height, width\); got shape \(26, 2, 3\)"),
    "6": ("tree", tree, {"images": {0: np.zeros(3)}}, r"images must have two axes, .*; got shape \(3,\)"),
    "7": ("tree", tree, {"var_name": "h"}, "var_name must be None with a tree; got 'h'"),
    "8": ("tree", tree, {"names": ["a", "b"]}, "names must have one entry for each of the 27 items; got 2"),
}
