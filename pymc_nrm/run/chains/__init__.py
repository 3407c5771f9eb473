"""Chains of a run, in this process, in others or on a client, and how their draws are kept."""
