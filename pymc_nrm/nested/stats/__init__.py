"""Summaries of nested partitions: levels, trees as estimates, agreement with a truth."""
