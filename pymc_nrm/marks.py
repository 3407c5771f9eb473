"""Marks in results: which variables are partitions, and to which partition a statistic of a step belongs."""

import zlib

__all__ = ["NAME", "NUMBER", "partition_number"]

# Attribute of posterior variables that are partitions: their own name, so that variables made from them are none.
NAME = "partition"
# Statistic of every step of a partition.  PyMC puts statistics of several steps side by side, this one among them.
NUMBER = "partition_number"


def partition_number(name):
    """Number of a partition in statistics, which numpy, NetCDF and Zarr store more readily than names.

    Parameters
    ----------
    name : str

    Returns
    -------
    int
        From 0 to 2^32 - 1, the same in every process.

    Examples
    --------
    >>> partition_number("z")
    1657960367
    """
    return zlib.crc32(name.encode())
