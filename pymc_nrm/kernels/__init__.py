"""What is compiled by numba: kernels and generic functions, their cache, Ctrl-C, and the numerics that they share."""
