"""armlet: the dynamics of robot arms, computed with the fewest operations."""

from armlet.api import cheapest, compile, formulations, minimal_parameters, trace
from armlet.dynamics import FORMULATIONS, QUANTITIES, Formulation, Quantity
from armlet.errors import (
    ArmletError,
    CompileError,
    DataError,
    DataWarning,
    ModelError,
    ModelWarning,
)
from armlet.graph import Count, Input, Program
from armlet.minimal import MinimalParameters, equivalence
from armlet.models import catalogue, general_arm, load
from armlet.robot import Arrangement, Robot
from armlet.runtime import Kernel
from armlet.search import Found, Step

__version__ = "0.1.0"

__all__ = [
    "FORMULATIONS",
    "QUANTITIES",
    "ArmletError",
    "Arrangement",
    "CompileError",
    "Count",
    "DataError",
    "DataWarning",
    "Formulation",
    "Found",
    "Input",
    "Kernel",
    "MinimalParameters",
    "ModelError",
    "ModelWarning",
    "Program",
    "Quantity",
    "Robot",
    "Step",
    "catalogue",
    "cheapest",
    "compile",
    "equivalence",
    "formulations",
    "general_arm",
    "load",
    "minimal_parameters",
    "trace",
]
