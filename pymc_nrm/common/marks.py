"""Attributes by which results identify partitions, parameters of their slots, and statistics of their steps."""

import zlib

# Attribute of posterior variables that are partitions: their own name, so that derived variables do not count.
NAME = "partition"
# Attribute of partitions of rows in chunks, whose labels belong to followed rows: the number of all rows.
ROWS = "n_rows"
# Attribute of the group of clusters of rows in chunks: what tells the rows from others.
KEY_OF_ROWS = "key_of_rows"
# Attribute of partitions with log_weights: their number of components.
COMPONENTS = "n_components"
# Attribute of the coordinate that tells items with values from those without any: the name of their partition.
VALUES_OF = "values_of"
# Attributes of hidden states: the items at which sequences start, and the labels of the sequences, if they have any.
STARTS, SEQUENCES = "sequence_starts", "sequence_labels"
# Attribute of posterior variables that are nested partitions: their depth, the number of levels below the root.
NESTED = "nested_partition"
# Statistic of every step of a partition.  PyMC puts statistics of several steps side by side, this one among them.
NUMBER = "partition_number"
# Attribute of posterior variables that hold parameters of slots: the name of their partition.
SLOTS_OF = "slots_of"
# Attribute of deterministics that change when clusters are renamed: the name of their partition.
RENAMED = "changed_by_renaming"
# Attribute of posterior variables that are missing values of data: the name of their mixture.
MISSING_OF = "missing_values_of"
# Attribute of partitions whose clusters nrm.fused_estimate cannot compare: why, in a few words.
NOT_FUSED = "not_fused"
# Attribute of the posterior of a run without progress bars: 1.
WITHOUT_BARS = "without_progress_bars"
# Statistic of the steps of partitions with slots: whether a draw uses all of them.
ALL_SLOTS_USED = "all_slots_used"


def partition_number(name):
    """Number of a partition in statistics, from 0 to 2^32 - 1, the same in every process; files store it readily."""
    return zlib.crc32(name.encode())
