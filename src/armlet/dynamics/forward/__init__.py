"""Forward dynamics: a function a formulation, the cheapest first."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.forward.composite import composite

FORMULATIONS = table(
    Formulation("composite", composite, "Balafoutis and Patel 1991, section 6.2", "n^3"),
)
