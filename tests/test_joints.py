"""Joint types: a new one is an entry of a table, and what walks twists holds for it."""

from dataclasses import replace

import numpy as np
import pytest
from support.robots import deviation

import armlet
from armlet.dynamics import FORMULATIONS
from armlet.minimal import closed_form
from armlet.robot import BASE, JOINT_TYPES, Drive, Frame, Joint, JointType, Screw, cos_sin_of_sum
from armlet.robot.joints import ROTATION, TRANSLATION
from armlet.testing import random_robot

CYLINDRICAL = JointType(
    "C",
    2,
    lambda row, q: (Screw(2, *cos_sin_of_sum(q[0], row.theta), q[1] + row.d),),
    (ROTATION, TRANSLATION),
)
"""Rotates about and translates along one axis."""
QUANTITIES = (
    "inverse_dynamics",
    "inertia_matrix",
    "bias",
    "gravity_torque",
    "forward_dynamics",
    "energy",
    "forward_kinematics",
    "jacobian",
)
WALKING = [
    (quantity, name)
    for quantity in QUANTITIES
    for name, entry in FORMULATIONS[quantity].items()
    if entry.walks_twists
]
OTHERS = [
    (quantity, name)
    for quantity, entries in FORMULATIONS.items()
    for name, entry in entries.items()
    if not entry.walks_twists and quantity not in ("cartesian_model", "cartesian_linearization")
]
MASSLESS = (0.0, np.zeros(3, dtype=object), np.zeros((3, 3), dtype=object))


@pytest.fixture(autouse=True)
def cylindrical(monkeypatch):
    monkeypatch.setitem(JOINT_TYPES, "cylindrical", CYLINDRICAL)


def in_two(robot):
    """The same robot with every cylindrical joint in two: a revolute and a prismatic one."""
    joints, parent, rows, bodies, new = [], [], [], [], {BASE: BASE}
    for i, p in robot.base_to_tips():
        joint, at = robot.joints[i], new[p]
        row, body = robot.dh[i], robot.bodies[i]
        if joint.kind == "cylindrical":
            joints.append(Joint(f"{joint.name}_turn", "revolute"))
            parent.append(at)
            rows.append(row)
            bodies.append(MASSLESS)
            at, row = len(joints) - 1, type(row)(0, 0, 0, 0, 0, 0)
            joint = Joint(f"{joint.name}_slide", "prismatic")
        joints.append(joint)
        parent.append(at)
        rows.append(row)
        bodies.append(body)
        new[i] = len(joints) - 1
    m, c, J = zip(*bodies, strict=True)
    frames = {name: Frame(new[body], pose) for name, (body, pose) in robot.frames.items()}
    return replace(
        robot,
        joints=tuple(joints),
        parent=tuple(parent),
        dh=tuple(rows),
        m=m,
        c=c,
        J=J,
        frames=frames,
        links=tuple(f"link{i}" for i in range(len(joints))),
    )


def arguments(robot, quantity, seed):
    rng = np.random.default_rng(seed)
    sizes = {"q": robot.nq, "qd": robot.nv, "qdd": robot.nv, "tau": robot.nv}
    return [rng.uniform(-2, 2, sizes[name]) for name in armlet.QUANTITIES[quantity].arguments]


def flat(result):
    outputs = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(y, dtype=float)) for y in outputs])


def test_the_main_formulations_walk_twists():
    assert {quantity for quantity, _ in WALKING} == set(QUANTITIES)
    first = {quantity: next(iter(FORMULATIONS[quantity])) for quantity in QUANTITIES}
    assert set(first.items()) <= set(WALKING)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("quantity", "name"), WALKING)
def test_a_cylindrical_joint_is_a_revolute_and_a_prismatic_one(quantity, name, seed):
    robot = random_robot(seed, 4, "CRPC"[seed % 2 :], tree=seed > 1, drives=True)
    split = in_two(robot)
    assert (robot.nb, robot.nq, robot.nv) == (4, split.nq, split.nv)
    state = arguments(robot, quantity, seed)
    first = next(iter(FORMULATIONS[quantity]))
    expected = flat(FORMULATIONS[quantity][first].function(split, *state))
    function = FORMULATIONS[quantity][name].function
    assert deviation(flat(function(robot, *state)), expected) < 1e-8
    for minimal in (False, True):
        program = armlet.trace(robot, quantity, name, minimal=minimal)
        assert deviation(flat(program.function(np)(*state)), expected) < 1e-8


@pytest.mark.parametrize(("quantity", "name"), OTHERS)
def test_what_holds_for_one_degree_of_freedom_says_so(quantity, name):
    with pytest.raises(armlet.ModelError, match=f"formulation '{name}' holds for"):
        armlet.trace(random_robot(0, 3, "RC"), quantity, name)


def test_minimal_parameters_are_known_for_revolute_and_prismatic_joints_only():
    with pytest.raises(armlet.ModelError, match="has joints C"):
        closed_form(random_robot(0, 3, "RC"))


def test_positions_and_velocities_of_a_joint_are_slices():
    robot = random_robot(0, 3, "RCP")
    assert (robot.nb, robot.nq, robot.nv) == (3, 4, 4)
    assert robot.q_of == robot.v_of == (slice(0, 1), slice(1, 3), slice(3, 4))
    assert [len(twists) for twists in robot.twists] == [1, 2, 1]
    assert [body for body, _ in robot._velocities] == [0, 1, 1, 2]
    assert [joint.type.rotates for joint in robot.joints] == [1, 1, 0]
    assert [joint.type.translates for joint in robot.joints] == [0, 1, 1]


def test_a_drive_belongs_to_a_velocity():
    robot = random_robot(0, 2, "RC", drives=True)
    assert len(robot.drives) == robot.nv == 3
    assert robot.without_drives().drives == (Drive(),) * 3
    driven = robot.without_drives().with_drives(viscous=2, coulomb=[1, 2, 3])
    assert driven.drives == tuple(Drive(viscous=2, coulomb=i) for i in (1, 2, 3))
    with pytest.raises(armlet.DataError, match="parameter is 'gear': expected one of rotor_"):
        robot.with_drives(gear=1)
    with pytest.raises(
        armlet.DataError, match=r"viscous has shape \(2,\): expected a number, or 3"
    ):
        robot.with_drives(viscous=[1, 2])
