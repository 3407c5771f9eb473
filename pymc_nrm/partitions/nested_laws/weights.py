"""Mixing weights of the nodes of a nested partition: hierarchical Dirichlet processes along the tree."""

from typing import Any, NamedTuple

from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.kernels.generic import describe_fields

__all__ = ["HierarchicalDirichletProcess"]


@describe_fields(
    {"gamma": Hyperparameter(("level",), "positive"), "gamma_0": Hyperparameter((), "positive")}, scalars=("gamma_0",)
)
class HierarchicalDirichletProcess(NamedTuple):
    """Mixing weights of all nodes of a tree over components that they share.

    The weights of the root are ``GEM(gamma_0)``; those of a node of level l are a Dirichlet process of concentration
    ``gamma[l - 1]`` whose centre are the weights of its parent.  Every item draws its component from its leaf.  This is
    the multilevel hierarchical Dirichlet process of Huang, Laitonjam, Piao & Hurley (2020).

    Parameters
    ----------
    gamma : positive float, tensor or random variable, scalar or shape (depth,)
        Concentrations of levels 1 to depth: the larger, the more the weights of a node resemble those of its parent.
    gamma_0 : positive float, scalar tensor or random variable
        Concentration of the root; the number of components grows with it.

    Notes
    -----
    Components are drawn once for the whole tree and independently of each other, and each item shows one component
    once.  Given the components, a random tree is therefore independent of the data: how near two components are says
    nothing about where they stand in the tree.  Over known groups this is the hierarchical Dirichlet process of Teh,
    Jordan, Beal & Blei (2006), and the data say which components each group has.

    Examples
    --------
    >>> HierarchicalDirichletProcess(gamma=1.15, gamma_0=1.0)
    HierarchicalDirichletProcess(gamma=1.15, gamma_0=1.0)
    """

    gamma: Any = 1.0
    gamma_0: Any = 1.0
