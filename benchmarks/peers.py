"""Pinocchio and MuJoCo, called from Python for the quantities of an arm.

A module of kernels.py and race.py.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from armlet.errors import ArmletError
from armlet.formats.urdf import urdf_text
from armlet.robot import RobotModel

Array = np.ndarray[Any, Any]


class Peer(NamedTuple):
    """A library: by quantity, the function to call for one state and for a batch.

    A call takes the state after its own arguments; a batch takes threads=, inputs and results.
    """

    name: str
    calls: dict[str, partial[Any]]
    batches: dict[str, Callable[..., None]]


def peers(robot: RobotModel) -> tuple[list[Peer], list[str]]:
    """The installed libraries that support the robot, and why the others are left out."""
    found, skipped = [], []
    for name, make in {"Pinocchio": pinocchio, "MuJoCo": mujoco}.items():
        try:
            found.append(make(robot))
        except (ArmletError, ImportError, RuntimeError, ValueError) as error:
            skipped.append(f"{name}: {str(error).splitlines()[0]}")
    return found, skipped


def pinocchio(robot: RobotModel) -> Peer:
    """Pinocchio's Python calls, and its batches in C++."""
    pin = import_module("pinocchio")
    model = pin.buildModelFromXML(urdf_text(robot))
    model.gravity.linear = np.asarray(robot.gravity, float)
    if model.nq != model.nv or list(model.names[1:]) != list(robot.joint_names):
        raise ValueError("its coordinates are not those of the robot")
    functions = {
        "inverse_dynamics": pin.rnea,
        "inertia_matrix": pin.crba,
        "bias": pin.nonLinearEffects,
        "gravity_torque": pin.computeGeneralizedGravity,
        "forward_dynamics": pin.aba,
        "linearization": pin.computeRNEADerivatives,
        "regressor": pin.computeJointTorqueRegressor,
    }
    calls = {key: partial(f, model, model.createData()) for key, f in functions.items()}
    batches: dict[str, Callable[..., None]] = {}
    if hasattr(pin, "rneaInParallel"):
        pool = pin.ModelPool(model, 2)

        def batch(function: Any, *rows: Array, threads: int) -> None:
            function(threads, pool, *(x.T for x in rows))

        batches = {
            "inverse_dynamics": partial(batch, pin.rneaInParallel),
            "forward_dynamics": partial(batch, pin.abaInParallel),
        }
    return Peer("Pinocchio", calls, batches)


def mujoco(robot: RobotModel) -> Peer:
    """MuJoCo's stages, the fewest that compute the quantity; limits and contacts off."""
    mj = import_module("mujoco")
    model = mj.MjModel.from_xml_string(urdf_text(robot))
    model.opt.gravity[:] = np.asarray(robot.gravity, float)
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mj.MjData(model)
    names = [model.joint(i).name for i in range(model.njnt)]
    if model.nq != robot.nv or names != list(robot.joint_names):
        raise ValueError("its coordinates are not those of the robot")
    tau, M = np.zeros(robot.nv), np.zeros((robot.nv, robot.nv))

    def inverse(q: Array, qd: Array, qdd: Array) -> Array:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mj.mj_inverse(model, data)
        return np.asarray(data.qfrc_inverse)

    def bias(q: Array, qd: Array) -> Array:
        data.qpos[:], data.qvel[:] = q, qd
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_comVel(model, data)
        mj.mj_rne(model, data, 0, tau)
        return tau

    def inertia(q: Array) -> Array:
        data.qpos[:] = q
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_crb(model, data)
        mj.mj_fullM(model, data, M)
        return M

    def forward(q: Array, qd: Array, tau: Array) -> Array:
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
        mj.mj_forward(model, data)
        return np.asarray(data.qacc)

    calls: dict[str, Callable[..., Array]] = {
        "inverse_dynamics": inverse,
        "inertia_matrix": inertia,
        "bias": bias,
        "forward_dynamics": forward,
    }
    return Peer("MuJoCo", {key: partial(f) for key, f in calls.items()}, {})
