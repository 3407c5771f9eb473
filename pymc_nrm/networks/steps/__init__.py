"""Steps for partitions with block models."""
