"""Shared parts: checks of arguments, supports, marks of results, progress bars, and PyMC's internals."""
