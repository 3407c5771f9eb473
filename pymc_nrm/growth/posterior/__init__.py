"""What follows from draws of a growth mixture."""
