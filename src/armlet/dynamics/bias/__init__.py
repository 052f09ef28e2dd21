"""Bias and gravity torques: one file per source."""

from armlet.dynamics.bias import lin, newton_euler

__all__ = ["lin", "newton_euler"]
