"""Checkpoints of a run: the files of its chains, and fingerprints of model and software."""
