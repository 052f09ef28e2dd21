"""Kernels on the arrays of other libraries: one module per library."""
