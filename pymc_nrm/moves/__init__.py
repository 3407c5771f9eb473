"""Kernels that change a partition, given the auxiliary variable and tables of weights."""
