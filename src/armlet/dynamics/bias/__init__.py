"""Bias and gravity torques: a function a formulation."""
