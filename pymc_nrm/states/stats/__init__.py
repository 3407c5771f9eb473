"""Summaries of draws of hidden states alone."""
