"""Steps of nested partitions."""
