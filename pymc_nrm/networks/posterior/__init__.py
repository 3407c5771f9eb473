"""What follows from draws of partitions of networks and tables."""
