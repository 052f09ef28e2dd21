"""Helpers that do not depend on robots: files, tables, argument checks, progress."""
