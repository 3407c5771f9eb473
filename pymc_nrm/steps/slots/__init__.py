"""Steps of partitions whose labels index parameters."""
