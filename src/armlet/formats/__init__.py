"""Robots from files and tables, and back."""
