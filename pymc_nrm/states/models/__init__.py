"""Hidden states as a random variable, and priors of their concentrations."""
