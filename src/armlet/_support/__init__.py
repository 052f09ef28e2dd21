"""Helpers that any module may use: none knows of robots."""
