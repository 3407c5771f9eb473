"""Computations on draws that are already there: NumPy and xarray only."""
