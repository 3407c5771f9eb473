"""Models of each kind of partition for tests of models that PyMC has transformed."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm

import pymc_nrm as nrm

N = 8
X = np.array([-3.1, -2.9, -3.3, -2.7, 2.9, 3.4, 3.0, 2.6])


class Transformed(NamedTuple):
    """A model, and the names of its partition and of its data in tables and graphs."""

    make: Any
    title: str
    data: str = "Mixture[NormalGamma]"
    # Whether its rows are quick, and whether copies of PyMC have the variables in an order that changes draws.
    quick: bool = False
    reordered: bool = False


def mixture(add_partition, **coords):
    with pm.Model(coords={"item": range(N), **coords}) as model:
        data = pm.Data("data", X, dims="item")
        labels = add_partition()
        nrm.Mixture("x", labels, nrm.NormalGamma.learned("x", X), observed=data)
    return model


def indexed(add_partition):
    """A model whose labels index means of three components."""
    with pm.Model(coords={"item": range(N), "component": range(3)}) as model:
        data = pm.Data("data", X, dims="item")
        labels = add_partition(data)
        mean = pm.Normal("mean", 0, 3, dims="component")
        pm.Normal("x", mean[labels], 1, observed=data, dims="item")
    return model
