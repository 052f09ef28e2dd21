"""Every quantity of an arm's dynamics, by every formulation known for it.

`FORMULATIONS` is the table that tests, counts and the command line iterate on. The modules imported
here fill it, each function by the decorator `formulation` above it; so does any other module.
"""

from armlet.dynamics import (
    bias,
    coriolis,
    energy,
    forward,
    inertia,
    inverse,
    kinematics,
    linear,
    passive,
    regressor,
)
from armlet.dynamics.formulation import FORMULATIONS, Formulation, formulation
from armlet.dynamics.quantities import QUANTITIES, Quantity

__all__ = [
    "FORMULATIONS",
    "QUANTITIES",
    "Formulation",
    "Quantity",
    "bias",
    "coriolis",
    "energy",
    "formulation",
    "forward",
    "inertia",
    "inverse",
    "kinematics",
    "linear",
    "passive",
    "regressor",
]
