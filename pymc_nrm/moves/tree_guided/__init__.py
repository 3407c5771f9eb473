"""Moves along a guide tree, and a cycle of them."""
