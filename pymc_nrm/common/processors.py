"""Processors that this process may use."""

import os


def usable_cores():
    """Number of processors that this process may use; PyMC counts only half of those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
