"""Moves of hidden states: paths of all times at once, blocks of times, and single times.

Each move counts the transitions of the labels, draws the weights of the states given them, exactly and independently of
everything else (``states/partitions/tables.py``), moves the labels given these weights, and forgets the weights.
"""
