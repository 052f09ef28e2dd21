"""Bias and gravity torques: one file per source."""

from armlet.dynamics.bias import lin, newton_euler

FUNCTIONS = (newton_euler.bias, lin.lin, newton_euler.gravity_torque)
