"""Poses and Jacobians of frames."""
