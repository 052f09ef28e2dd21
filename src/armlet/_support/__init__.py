"""Helpers for all modules, independent of robots."""
