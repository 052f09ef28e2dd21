"""Logs: files, columns, units, and checks of what was measured."""
