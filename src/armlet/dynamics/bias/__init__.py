"""Bias and gravity torques: a function a formulation."""

from armlet.dynamics.bias.newton_euler import bias, gravity_torque
from armlet.dynamics.formulation import Formulation, table

SOURCE = "Balafoutis and Patel 1991, Algorithm 5.7, on trees, without acceleration"

BIAS = table(Formulation("newton_euler", bias, SOURCE, "n"))
GRAVITY = table(Formulation("newton_euler", gravity_torque, SOURCE, "n"))
