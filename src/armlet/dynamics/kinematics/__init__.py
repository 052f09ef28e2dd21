"""Poses and Jacobians of frames."""

from armlet.dynamics.kinematics import frames

__all__ = ["frames"]
