"""Poses, Jacobians and motion of frames."""

from armlet.dynamics.kinematics import frames, motion

__all__ = ["frames", "motion"]
