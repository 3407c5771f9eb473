"""What follows from draws of hidden states and the model."""
