"""Every quantity of an arm's dynamics, by every formulation known for it.

`FORMULATIONS` is the table that tests, counts and the command line go through: adding an entry is
all it takes to have a formulation tested, counted and listed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from armlet.dynamics.bias import newton_euler as resting
from armlet.dynamics.energy import energy
from armlet.dynamics.friction import friction_torque
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.dynamics.kinematics.frames import forward_kinematics, jacobian


@dataclass(frozen=True)
class Quantity:
    """Something to compute of an arm."""

    about: str
    arguments: tuple[str, ...]
    """The parts of the state it depends on, in order."""
    reads: tuple[str, ...] = ("geometry", "inertia", "gravity", "drive")
    """The groups of constants it depends on."""
    minimal: bool = False
    """Whether it is the same for minimal inertial parameters."""
    options: tuple[str, ...] = ()
    """What else may be given: the wrench on the tool, the name of a frame."""


@dataclass(frozen=True)
class Formulation:
    """A way to compute a quantity."""

    name: str
    function: Callable[..., Any]
    source: str
    growth: str
    """The order of its operations in the number of joints."""


QUANTITIES = {
    "inverse_dynamics": Quantity(
        "Torques that make the joints accelerate by qdd: M(q) qdd + b(q, qd).",
        ("q", "qd", "qdd"), minimal=True, options=("wrench",),
    ),
    "inertia_matrix": Quantity(
        "The joint-space inertia matrix M(q), rotor inertias on its diagonal.",
        ("q",), ("geometry", "inertia", "drive"), minimal=True,
    ),
    "bias": Quantity(
        "Coriolis, centrifugal and gravity torques b(q, qd).",
        ("q", "qd"), ("geometry", "inertia", "gravity"), minimal=True,
    ),
    "gravity_torque": Quantity(
        "Torques that hold the arm still against gravity, g(q).",
        ("q",), ("geometry", "inertia", "gravity"), minimal=True,
    ),
    "friction_torque": Quantity(
        "Viscous, Coulomb and constant friction of the drives.", ("qd",), ("drive",)
    ),
    "forward_kinematics": Quantity(
        "The pose of a frame (by default the tool) in the base: a 4x4 homogeneous matrix.",
        ("q",), ("geometry",), options=("frame",),
    ),
    "jacobian": Quantity(
        "The geometric Jacobian of a frame (by default the tool): angular rows first, base axes.",
        ("q",), ("geometry",), options=("frame",),
    ),
    "energy": Quantity("Kinetic and potential energy, a pair.", ("q", "qd")),
}  # fmt: skip


def _table(*formulations: Formulation) -> dict[str, Formulation]:
    return {formulation.name: formulation for formulation in formulations}


BOOK = "Balafoutis and Patel 1991"

FORMULATIONS: dict[str, dict[str, Formulation]] = {
    "inverse_dynamics": _table(
        Formulation("newton_euler", newton_euler, f"{BOOK}, Algorithm 5.7, on trees", "n")
    ),
    "inertia_matrix": _table(
        Formulation(
            "composite_bodies", composite_bodies, "Walker and Orin 1982, third method", "n^2"
        )
    ),
    "bias": _table(Formulation("newton_euler", resting.bias, f"{BOOK}, Algorithm 5.7", "n")),
    "gravity_torque": _table(
        Formulation("newton_euler", resting.gravity_torque, f"{BOOK}, Algorithm 5.7", "n")
    ),
    "friction_torque": _table(Formulation("drives", friction_torque, "by definition", "n")),
    "forward_kinematics": _table(Formulation("two_axes", forward_kinematics, "by definition", "n")),
    "jacobian": _table(Formulation("geometric", jacobian, "by definition", "n")),
    "energy": _table(Formulation("velocities", energy, "by definition", "n")),
}
