"""Steps that sample hidden states and their concentrations."""
