"""The sampler of nested partitions: the state of its kernels, one file per kernel, and the sweep."""
