"""Moves of partitions with block models."""
