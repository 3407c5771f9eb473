"""Of nested/partitions."""
