"""Binary merge trees: Bayesian hierarchical clustering, incremental and greedy, and guide trees for samplers."""
