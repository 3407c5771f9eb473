"""Moves of partitions whose labels index parameters."""
