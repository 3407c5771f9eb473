"""Partitions of n items: labels, and the clusters that kernels change."""
