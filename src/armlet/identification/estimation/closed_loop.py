"""The motion of an arm under its controller, simulated, as an instrument of identification."""

import numpy as np
from numpy.typing import NDArray

from armlet.api import Robot, function
from armlet.api.functions import Function
from armlet.errors import DataError, quoted
from armlet.identification.estimation.instrumental import Instrument
from armlet.identification.logs.log import joint_order
from armlet.identification.preprocessing.filters import resampled
from armlet.identification.preprocessing.samples import Samples
from armlet.simulation import Trajectory, rollout
from armlet.simulation.system import Friction, friction_torque

Array = NDArray[np.float64]
TARGETS = {"target": "q", "target_velocity": "qd", "target_acceleration": "qdd"}
"""What a controller may follow, and where a trajectory has it."""


def closed_loop(
    robot: Robot,
    controller: Function,
    reference: Trajectory,
    *,
    dt: float = 1e-3,
    friction: Friction | None = None,
) -> Instrument:
    """An instrument that simulates the arm as estimated so far under its own controller (IDIM-IV).

    The simulation is compiled once: parameters are given at run time.

    Parameters
    ----------
    robot : Robot
        The arm to be identified.
    controller : Function
        The controller that the arm had, as in `armlet.controllers`: of q, qd and of "target",
        "target_velocity" and "target_acceleration", as many as it needs.
    reference : Trajectory
        The motion that was commanded, from time 0 at the first row of the log; its joints are put
        in the order of the robot's by their names.
    dt : float
        The length of a step of the simulation, in s.
    friction : Friction, optional
        How Coulomb friction changes its sign smoothly, and Stribeck's friction, which is not
        identified here; none of the latter by default.

    Returns
    -------
    function
        For `identify(estimator="instrumental", instrument=...)`.
    """
    unknown = [name for name in controller.inputs if name not in ("q", "qd", *TARGETS)]
    if unknown:
        raise DataError(
            f"the controller has an argument {quoted(unknown[0])}: expected q, qd, "
            f"{', '.join(TARGETS)}"
        )
    order = joint_order(reference.joints, robot, "the reference")
    columns = [*range(robot.n)] if order is None else order
    law, n, joints = friction or Friction(), robot.n, len(robot.drives)
    bare = robot.without_drives()
    shapes = dict.fromkeys(TARGETS, n) | dict.fromkeys(("viscous", "coulomb", "offset"), joints)

    @function(bare, **shapes)
    def driven(
        q: Array, qd: Array, target: Array, target_velocity: Array, target_acceleration: Array,
        viscous: Array, coulomb: Array, offset: Array,
    ) -> Array:  # fmt: skip
        given = {
            "q": q, "qd": qd, "target": target, "target_velocity": target_velocity,
            "target_acceleration": target_acceleration,
        }  # fmt: skip
        drives = bare.with_drives(viscous=viscous, coulomb=coulomb, offset=offset)
        resisting: Array = friction_torque(law, drives, qd)
        return controller(*(given[name] for name in controller.inputs)) - resisting

    def simulated(arm: Robot, run: Samples) -> Array:
        if (arm.joint_names, arm.dh) != (bare.joint_names, bare.dh):
            raise DataError(
                f"the instrument simulates {quoted(bare.name)} with other joints or frames than "
                f"{quoted(arm.name)} has: expected closed_loop of the robot that is identified"
            )
        if any(drive.rotor_inertia for drive in arm.drives):
            raise DataError(
                "rotor inertias are not among what this simulation is given: expected "
                "rotors=False, or an instrument of your own that calls armlet.simulate"
            )
        t = run.t - run.t[0]
        steps = int(np.ceil(t[-1] / dt - 1e-9))
        start = reference.at(reference.t[0])
        first, speed = start.q[:, columns], start.qd[:, columns]
        ends: Array = dt * np.arange(steps + 1.0)
        wanted = reference.at(np.minimum(ends[:-1] + dt / 2, reference.t[-1]))  # within each step
        arguments = {name: getattr(wanted, key)[:, columns] for name, key in TARGETS.items()}
        arguments |= {
            name: np.array([getattr(drive, name) for drive in arm.drives])
            for name in ("viscous", "coulomb", "offset")
        }
        motion = rollout(
            bare, first, speed, driven, dt=dt, steps=steps, method="rk4",
            inertia=arm.phi.astype(float), arguments=arguments,
        )  # fmt: skip
        return resampled(t, ends, np.concatenate([first, motion.q[:, 0]]))

    return simulated
