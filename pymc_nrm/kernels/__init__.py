"""Compilation by numba: kernels and generic functions, their cache, Ctrl-C, and shared numerics."""
