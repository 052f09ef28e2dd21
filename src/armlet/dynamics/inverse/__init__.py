"""Inverse dynamics: a function a formulation."""
