"""Random attacks on the public API: every example ends in a right result, or in an error that names the argument."""
