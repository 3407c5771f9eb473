"""How tables of a growth mixture are read, kept at its mixture."""
