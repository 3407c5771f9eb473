"""Binary trees over items as kernels build them, and the guide trees of samplers."""
