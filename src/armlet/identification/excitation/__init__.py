"""Exciting motions within all limits."""
