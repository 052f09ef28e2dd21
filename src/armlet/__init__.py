"""armlet: the dynamics of robot arms, computed with the fewest operations."""

from armlet import controllers, math
from armlet.api import (
    Function,
    Robot,
    cheapest,
    compile,
    formulations,
    from_mujoco,
    from_pinocchio,
    function,
    general_arm,
    load,
    minimal_parameters,
    trace,
)
from armlet.dynamics import FORMULATIONS, QUANTITIES, Formulation, Quantity, formulation
from armlet.errors import (
    ArmletError,
    CompileError,
    DataError,
    DataWarning,
    ModelError,
    ModelWarning,
)
from armlet.fmu import to_fmu
from armlet.formats.loading import catalogue
from armlet.graph import Count, Input, Program
from armlet.identification import (
    Excitation,
    Identified,
    Log,
    MotionLimits,
    Physical,
    Preprocessing,
    TorqueModel,
    excite,
    identify,
)
from armlet.minimal import MinimalParameters, equivalence
from armlet.robot import Arrangement
from armlet.runtime import Kernel
from armlet.search.cheapest import SearchResult, Step
from armlet.simulation import (
    INTEGRATORS,
    Adaptive,
    Event,
    Friction,
    MotionError,
    Plant,
    Rollouts,
    Stops,
    Trajectory,
    rollout,
    simulate,
)
from armlet.version import __version__
from armlet.view import Viewer, view

__all__ = [
    "FORMULATIONS",
    "INTEGRATORS",
    "QUANTITIES",
    "Adaptive",
    "ArmletError",
    "Arrangement",
    "CompileError",
    "Count",
    "DataError",
    "DataWarning",
    "Event",
    "Excitation",
    "Formulation",
    "Friction",
    "Function",
    "Identified",
    "Input",
    "Kernel",
    "Log",
    "MinimalParameters",
    "ModelError",
    "ModelWarning",
    "MotionError",
    "MotionLimits",
    "Physical",
    "Plant",
    "Preprocessing",
    "Program",
    "Quantity",
    "Robot",
    "Rollouts",
    "SearchResult",
    "Step",
    "Stops",
    "TorqueModel",
    "Trajectory",
    "Viewer",
    "__version__",
    "catalogue",
    "cheapest",
    "compile",
    "controllers",
    "equivalence",
    "excite",
    "formulation",
    "formulations",
    "from_mujoco",
    "from_pinocchio",
    "function",
    "general_arm",
    "identify",
    "load",
    "math",
    "minimal_parameters",
    "rollout",
    "simulate",
    "to_fmu",
    "trace",
    "view",
]
