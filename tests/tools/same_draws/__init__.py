"""Draws of fixed seeds: whether a change of the code altered them."""
