"""Inverse dynamics: a function a formulation, the cheapest first."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.inverse.newton_euler import newton_euler

FORMULATIONS = table(
    Formulation(
        "newton_euler", newton_euler, "Balafoutis and Patel 1991, Algorithm 5.7, on trees", "n"
    ),
)
