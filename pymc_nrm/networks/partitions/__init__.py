"""Pairs of items as kernels hold them."""
