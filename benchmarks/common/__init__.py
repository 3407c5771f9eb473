"""What the parts of the benchmarks share: data, clocks, effective sample sizes, machine, storage of results."""
