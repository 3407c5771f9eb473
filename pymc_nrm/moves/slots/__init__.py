"""Samplers of partitions whose labels index parameters, and of these parameters."""
