"""Exciting trajectories within the limits of a robot."""
