"""Measured logs: files, columns, units and plausibility checks."""
