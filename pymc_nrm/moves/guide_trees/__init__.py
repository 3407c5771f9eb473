"""Binary trees over items, built by kernels, and the guide trees of samplers."""
