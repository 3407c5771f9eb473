"""Nested partitions: paths of items from the root of a tree to its leaves, and the mixing weights of its nodes."""
