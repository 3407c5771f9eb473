"""The prior of hidden states: kinds of partitions, probabilities of tables, weights given labels."""
