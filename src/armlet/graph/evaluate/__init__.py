"""Evaluation of programs on the arrays of any library, operation by operation."""
