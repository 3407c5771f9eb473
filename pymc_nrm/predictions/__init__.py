"""What follows from draws of a partition and the model: parameters, predictions, densities."""
