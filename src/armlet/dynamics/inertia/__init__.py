"""The inertia matrix: a function a formulation, the cheapest first."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.inertia.composite_bodies import composite_bodies

FORMULATIONS = table(
    Formulation("composite_bodies", composite_bodies, "Walker and Orin 1982, third method", "n^2"),
)
