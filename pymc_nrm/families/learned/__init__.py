"""Hyperpriors that families make themselves, and kernels that draw from them."""
