"""Helpers that any module may use; they do not depend on robots."""
