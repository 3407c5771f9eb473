"""Nested partitions."""
