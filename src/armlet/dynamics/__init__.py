"""Quantities of robot kinematics and dynamics, each computed by one or more formulations.

A formulation is a function decorated with `describe` and listed in `FUNCTIONS`, here or in a
subfolder. The table `FORMULATIONS` holds all formulations for tests, operation counts and the
command line. Users add formulations with the decorator `formulation`.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Unpack

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
from armlet.dynamics.formulation import Declared, Formulation, Function, describe, entry_of
from armlet.dynamics.quantities import QUANTITIES, Quantity
from armlet.errors import ArmletError

__all__ = ["FORMULATIONS", "QUANTITIES", "Formulation", "Quantity", "formulation"]

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *inverse.FUNCTIONS,
    *inertia.FUNCTIONS,
    bias.bias,
    bias.lin,
    bias.gravity_torque,
    coriolis.balafoutis_patel_71,
    coriolis.christoffel,
    coriolis.saha,
    *forward.FUNCTIONS,
    *linear.FUNCTIONS,
    passive.friction_torque,
    passive.passive_torque,
    kinematics.forward_kinematics,
    kinematics.forward_kinematics_by_rows,
    kinematics.jacobian,
    kinematics.poses,
    kinematics.frame_velocity,
    kinematics.frame_acceleration,
    kinematics.frame_acceleration_bias,
    kinematics.jacobian_rate,
    energy.centre_of_mass,
    energy.centre_of_mass_jacobian,
    energy.momentum,
    energy.energy,
    regressor.regressor,
    regressor.gravity_regressor,
    energy.energy_regressor,
)

FORMULATIONS: dict[str, dict[str, Formulation]] = {
    quantity: {x.name: x for x in map(entry_of, FUNCTIONS) if x.quantity == quantity}
    for quantity in QUANTITIES
}
"""Formulations by quantity and name. Of equally cheap formulations, a search selects the first."""


def formulation(
    quantity: str,
    *,
    source: str,
    growth: str = "n",
    name: str | None = None,
    own_rotors: bool = False,
    **declared: Unpack[Declared],
) -> Callable[[Function], Function]:
    """Register the decorated function as a formulation of a quantity.

    armlet then lists, compares and compiles it like a built-in one and counts its operations.
    `armlet.testing.check_formulation` tests it.

    Parameters
    ----------
    quantity : str
        One of `armlet.QUANTITIES`. The function takes the robot and the arguments of the quantity.
    source : str
        The source of the formulation: author, year, and equation or algorithm numbers.
    growth : str
        Growth of the operation count with the number of joints, such as "n^2"; by default "n".
    name : str, optional
        The name of the formulation; by default the name of the function.
    own_rotors : bool
        True if the function itself includes rotor inertia. If False, functions for inverse
        dynamics, inertia matrices and linearizations get a robot without rotor inertia, and armlet
        adds rotor inertia to their results. Functions for other quantities get the robot unchanged.
    **declared
        Further fields of `armlet.Formulation`: `joints`, `walks_twists`, `topology`, `minimal`,
        `traced`, `starting_from`, `contends` and `coupled`. By default, most quantities of a robot
        with coupled joints are computed from those of the same robot with free joints. With
        `coupled=True`, the function itself gets the robot with coupled joints.

    Returns
    -------
    callable
        A decorator; the decorated function returns the quantity with rotor inertia included.

    Examples
    --------
    >>> import armlet
    >>> @armlet.formulation("gravity_torque", source="b(q, 0)", growth="n")
    ... def bias_at_rest(robot, q):
    ...     bias = armlet.formulations("bias")["newton_euler"].function
    ...     return bias(robot, q, [0] * robot.nv)
    >>> armlet.formulations("gravity_torque").pop("bias_at_rest").growth
    'n'
    """
    decorate = describe(
        quantity, source=source, growth=growth, name=name, own_rotors=own_rotors, **declared
    )

    def register(function: Function) -> Function:
        complete = decorate(function)
        entry, others = entry_of(complete), FORMULATIONS[quantity]
        place = attrgetter("__module__", "__qualname__")  # a reloaded module registers again
        if entry.name in others and place(others[entry.name].function) != place(function):
            raise ArmletError(
                f"{quantity} has a formulation called {entry.name!r} already: choose another name"
            )
        others[entry.name] = entry
        return complete

    return register
