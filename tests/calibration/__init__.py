"""Simulation-based calibration of whole models: hyperpriors, NUTS and a step for the partition together."""
