"""Checks of tree families."""

from pymc_nrm.nested.testing.tree_family_checks import check_tree_family

__all__ = ["check_tree_family"]
