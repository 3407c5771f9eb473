"""Sub-cluster samplers after Chang & Fisher (2013) by the rules of three programs, all of which are biased."""
