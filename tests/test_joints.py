"""Joint types: a new one is an entry of a table, and what walks twists holds for it."""

from dataclasses import replace

import numpy as np
import pytest
from support.robots import deviation

import armlet
from armlet import math
from armlet.api import Robot
from armlet.dynamics import FORMULATIONS
from armlet.minimal import closed_form
from armlet.robot import BASE, JOINT_TYPES, Drive, Frame, Joint, JointType, Screw, cos_sin_of_sum
from armlet.robot.joints import ROTATION, TRANSLATION
from armlet.scalar import cos, sin
from armlet.testing import random_robot

CYLINDRICAL = JointType(
    "C",
    (0, 0),
    lambda row, q: (Screw(2, *cos_sin_of_sum(q[0], row.theta), q[1] + row.d),),
    (ROTATION, TRANSLATION),
)
"""Rotates about and translates along one axis."""


def ahead_on_circle(q, v):
    (x, y), c, s = np.split(q, 2, axis=-1), math.cos(v), math.sin(v)
    return np.concatenate([x * c - y * s, y * c + x * s], axis=-1)


def angle_between(q0, q1):
    (x0, y0), (x1, y1) = np.split(q0, 2, axis=-1), np.split(q1, 2, axis=-1)
    return math.atan2(x0 * y1 - y0 * x1, x0 * x1 + y0 * y1)


CIRCLE = JointType(
    "O",
    (1, 0),
    lambda row, q: (
        Screw(
            2,
            q[0] * cos(row.theta) - q[1] * sin(row.theta),
            q[1] * cos(row.theta) + q[0] * sin(row.theta),
            row.d,
        ),
    ),
    (ROTATION,),
    integrate=ahead_on_circle,
    difference=angle_between,
    tangent=lambda q: np.array([[-q[1]], [q[0]]]),
    nearest=lambda q: q / np.linalg.norm(q, axis=-1, keepdims=True),
    random=lambda u, lower, upper: ahead_on_circle(np.array([1.0, 0.0]), 2 * np.pi * u),
)
"""Rotates about its axis as a revolute joint, by an angle whose cosine and sine are q."""
TYPES = [*{x.letter: x for x in JOINT_TYPES.values()}.values(), CYLINDRICAL, CIRCLE]
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
def further_types(monkeypatch):
    monkeypatch.setitem(JOINT_TYPES, "cylindrical", CYLINDRICAL)
    monkeypatch.setitem(JOINT_TYPES, "circle", CIRCLE)


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


# ------------------------------------------------------------------ positions and displacements


def robot_of(joint, count=2):
    return Robot.of(random_robot(0, count, joint.letter))


def positions(robot, seed, *shape):
    """Random positions, and displacements below half a turn."""
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng, shape), rng.uniform(-1.5, 1.5, (*shape, robot.nv))


def same_place(one, other):
    for x, y in ((one.rotation(), other.rotation()), (one.origin(), other.origin())):
        np.testing.assert_allclose(x.astype(float), y.astype(float), atol=1e-13)


all_types = pytest.mark.parametrize("joint", TYPES, ids=lambda joint: joint.letter)


@all_types
def test_integrate_and_difference_undo_each_other(joint):
    robot = robot_of(joint)
    q, v = positions(robot, 0, 50)
    then = robot.integrate(q, v)
    assert then.shape == q.shape
    np.testing.assert_allclose(robot.difference(q, then), v, atol=1e-14)
    other = robot.random_configuration(1, 50)
    reached = robot.integrate(q, robot.difference(q, other))
    np.testing.assert_allclose(robot.difference(reached, other), 0 * v, atol=1e-13)
    for x, y in zip(reached[:5], other[:5], strict=True):  # two quaternions are one rotation
        same_place(robot.displacements(x)[-1], robot.displacements(y)[-1])
    np.testing.assert_allclose(robot.integrate(q, 0 * v), q, atol=1e-15)


@all_types
def test_the_rate_of_local_coordinates_follows_from_the_velocity(joint):
    robot, h = robot_of(joint), 1e-5
    q0, phi = positions(robot, 2, 50)
    rate = np.random.default_rng(3).uniform(-1, 1, phi.shape)
    q, before, after = (robot.integrate(q0, phi + k * h * rate) for k in (0, -1, 1))
    velocity = (robot.difference(q, after) - robot.difference(q, before)) / (2 * h)
    np.testing.assert_allclose(robot._rate(phi, velocity), rate, atol=1e-8)
    np.testing.assert_allclose(robot._rate(0 * phi, velocity), velocity, atol=1e-15)


@all_types
def test_a_displacement_moves_the_body_along_the_unit_twists(joint):
    robot, h = robot_of(joint, 1), 1e-5
    q, v = positions(robot, 4)
    here, before, after = (
        robot.displacements(robot.integrate(q, k * h * v))[0] for k in (0, -1, 1)
    )
    R, spin = here.rotation().astype(float), after.rotation() - before.rotation()
    W = (R.T @ spin / (2 * h)).astype(float)
    moved = (R.T @ (after.origin() - before.origin()) / (2 * h)).astype(float)
    w = sum(np.array(twist.w, float) * x for twist, x in zip(robot.twists[0], v, strict=True))
    along = sum(np.array(twist.v, float) * x for twist, x in zip(robot.twists[0], v, strict=True))
    np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], w, atol=1e-8)
    np.testing.assert_allclose(moved, along, atol=1e-8)


@all_types
def test_neutral_and_random_positions_are_positions(joint):
    robot = robot_of(joint)
    assert robot.neutral.shape == (robot.nq,) == (2 * joint.nq,)
    drawn = robot.random_configuration(0, (3, 4))
    assert drawn.shape == (3, 4, robot.nq)
    np.testing.assert_array_equal(drawn, robot.random_configuration(0, (3, 4)))
    for q in (robot.neutral, drawn):
        reached = robot.integrate(robot.neutral, robot.difference(robot.neutral, q))
        np.testing.assert_allclose(robot.difference(reached, q), 0, atol=1e-13)


@all_types
def test_the_rate_of_positions_is_the_tangent_times_the_velocity(joint):
    robot, h = robot_of(joint), 1e-5
    q, v = positions(robot, 8)
    after, before = (robot.integrate(q, k * h * v) for k in (1, -1))
    assert robot._tangent(q).shape == (robot.nq, robot.nv)
    np.testing.assert_allclose(robot._tangent(q) @ v, (after - before) / (2 * h), atol=1e-9)
    x, y = robot.random_configuration(9, 2)
    middle = (robot._tangent(x) + robot._tangent(y)) / 2
    np.testing.assert_allclose(robot._tangent((x + y) / 2), middle, atol=1e-15)


@all_types
def test_the_nearest_positions_to_numbers_are_positions(joint):
    robot = robot_of(joint)
    q = robot.random_configuration(0, 50)
    np.testing.assert_allclose(robot._nearest(q), q, atol=1e-15)
    rough = q + np.random.default_rng(1).normal(scale=1e-3, size=q.shape)
    nearest = robot._nearest(rough)
    assert (np.abs(nearest - rough) <= np.abs(q - rough).max()).all()
    reached = robot.integrate(q, robot.difference(q, nearest))
    np.testing.assert_allclose(reached, nearest, atol=1e-13)


@all_types
def test_displacements_are_traced_as_they_are_computed(joint):
    robot = robot_of(joint)

    @armlet.function(robot, v=robot.nv, other=robot.nq)
    def both(q, v, other):
        return robot.integrate(q, v), robot.difference(q, other), robot._rate(v, v)

    q, v = positions(robot, 5)
    other = robot.random_configuration(6)
    expected = robot.integrate(q, v), robot.difference(q, other), robot._rate(v, v)
    for x, y in zip(both(q, v, other), expected, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-14)
    if joint.is_vector_space:
        assert str(both.program.count()) == f"0M {2 * robot.nq}A"


def test_robots_of_several_types_displace_each_joint():
    robot = Robot.of(random_robot(0, 4, "ROCP"))
    assert (robot.nq, robot.nv) == (6, 5)
    assert robot.neutral.tolist() == [0, 1, 0, 0, 0, 0]
    q, v = positions(robot, 7, 20)
    then = robot.integrate(q, v)
    np.testing.assert_array_equal(then[:, [0, 3, 4, 5]], (q[:, [0, 3, 4, 5]] + v[:, [0, 2, 3, 4]]))
    np.testing.assert_allclose(robot.difference(q, then), v, atol=1e-14)
    np.testing.assert_array_equal(robot.integrate(q[3], v), robot.integrate(0 * q + q[3], v))
    with pytest.raises(armlet.DataError, match=r"^v has shape \(20, 6\): expected"):
        robot.integrate(q, q)


# ------------------------------------------------------------------ integrators


class Pendulums:
    """Pendulums of unit inertia, side by side on the joints of a robot, as integrators see an arm.

    `sine` is the function of the positions that returns the sines of the angles.
    """

    def __init__(self, robot, sine):
        self.robot, self.sine = robot, sine

    def acceleration(self, t, q, qd, u):
        return -5 * self.sine(q) - 0.1 * qd + np.cos(t)

    def quantity(self, name, u, q, *_):
        n = self.robot.nv
        values = {"inertia_matrix": np.eye(n), "coriolis_matrix": np.zeros((n, n))}
        return values[name] if name in values else 5 * self.sine(q)

    def forces(self, t, q, qd, u):
        return np.cos(t) - 0.1 * qd

    def free_force(self, t, q, qd, u):
        return self.acceleration(t, q, qd, u)

    def joint_forces(self, q, qd):
        return 0 * qd

    def joint_stiffness(self, q, qd, h, ahead, share):
        return 0 * qd, 0.1 + 0 * qd


@pytest.mark.parametrize("name", armlet.INTEGRATORS)
def test_integrators_move_positions_on_a_circle_as_they_move_angles(name):
    integrator = armlet.INTEGRATORS[name]
    circles, angles = robot_of(CIRCLE), robot_of(JOINT_TYPES["revolute"])
    arms = Pendulums(circles, lambda q: q[1::2]), Pendulums(angles, np.sin)
    a, qd = np.array([0.3, -1.2]), np.array([2.0, 1.0])
    states = [[np.ravel([np.cos(a), np.sin(a)], "F"), qd], [a, qd]]
    memories = [[np.zeros(2)] * integrator.memory for _ in arms]
    for k in range(50):
        for x, (arm, state) in enumerate(zip(arms, states, strict=True)):
            past = [memories[x]] if integrator.memory else []
            state[0], state[1], *rest = integrator.step(arm, 0.02, 0.02 * k, *state, {}, *past)
            memories[x] = rest[0] if rest else []
    (q, qd), (a, ad) = states
    assert np.ptp(a) > 0.1
    np.testing.assert_allclose(q, np.ravel([np.cos(a), np.sin(a)], "F"), atol=1e-12)
    np.testing.assert_allclose(qd, ad, atol=1e-12)
