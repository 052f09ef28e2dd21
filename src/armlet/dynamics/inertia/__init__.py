"""The inertia matrix: a function a formulation."""
