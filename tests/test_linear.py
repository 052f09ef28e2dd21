"""Linearised models: the laws they keep, and the models in the coordinates of the tool."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.robots import deviation, random_arm, random_robot, states, value

import armlet
from armlet.algebra import Z_AXIS
from armlet.dynamics import FORMULATIONS
from armlet.dynamics.kinematics import jacobian_rates
from armlet.graph import trace_function

TABLE = FORMULATIONS["linearization"]
PLAIN = [name for name, formulation in TABLE.items() if not formulation.traced]
SEEDS = range(8)
GENERAL = (0, 9, 12, 21, 24, 33)
"""Seeds of arms whose axes are skew, so that their tools move in all ways."""


def derivatives(robot, name, state):
    return armlet.trace(robot, "linearization", name).function(np)(*state)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TABLE)
def test_the_inertia_is_symmetric_and_positive_and_the_last_joint_feels_no_own_speed(name, seed):
    robot = random_arm(seed, 1 + seed)
    H, V, _ = derivatives(robot, name, states(robot, seed=seed))
    assert np.abs(H - H.swapaxes(-1, -2)).max() < 1e-12 * np.abs(H).max()
    assert np.linalg.eigvalsh(H).min() > 0
    assert np.abs(V[:, -1, -1]).max() < 1e-12


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TABLE)
def test_turning_about_the_plumb_line_changes_nothing(name, seed):
    robot = random_arm(seed, 5, "R")
    robot = replace(robot, g=-9.81 * robot._mounts[0].vector(Z_AXIS))
    _, _, P = derivatives(robot, name, states(robot, seed=seed))
    assert np.abs(P[..., 0]).max() < 1e-12 * np.abs(P).max()


def counted(arm, function, arguments):
    """The count of a function that no quantity has."""

    def run(graph, *state):
        symbols = {str(name): graph.symbol(str(name)) for name in arm.symbols}
        return function(arm._with_constants(symbols), *state)

    return trace_function("", run, dict.fromkeys(arguments, (arm.nv,))).count()


@pytest.mark.parametrize("n", range(2, 9))
def test_the_slopes_take_no_more_than_is_published(n):
    """Balafoutis and Patel 1991, Tables 7.1 and 7.2 and text, beyond Algorithm 5.7."""
    general = armlet.general_arm("R" * n)
    quarters = replace(general, dh=tuple(r._replace(alpha=math.pi / 2) for r in general.dh))
    published = {
        general: 44 * n**2 + 96 * n - 104 + 31 * n**2 + 131 * n - 140,
        quarters: 30 * n**2 + 86 * n - 80 + 24 * n**2 + 122 * n - 124,
    }
    for arm, limit in published.items():
        torques = armlet.trace(arm, "inverse_dynamics", minimal=False).count().total
        for name in PLAIN:
            given = TABLE[name].starting_from["inverse dynamics"]
            found = counted(arm, given, ("q", "qd", "qdd")).total - torques
            if name == "balafoutis_patel_71":
                assert found <= limit
            elif n == 6 and arm is general:
                assert found <= 2186 + 2040


@pytest.mark.parametrize("n", range(2, 9))
def test_lins_bias_takes_no_more_than_is_published(n):
    """Lin 1991, Table II: beyond the inertia matrix, and together with it."""
    arm = armlet.general_arm("R" * n)
    given = FORMULATIONS["bias"]["lin"].starting_from["inertia matrix"]
    both = counted(arm, given, ("q", "qd"))
    H = armlet.trace(arm, "inertia_matrix", "lin", minimal=False).count()
    assert both.total - H.total <= 12.5 * n**2 + 5.5 * n + 3 + 9 * n**2 + n
    assert both.total <= 23 * n**2 + 44 * n - 82 + 15 * n**2 + 40 * n - 70


@pytest.mark.parametrize("name", PLAIN)
def test_what_comes_with_the_torques_is_the_torques_and_the_slopes(tmp_path, name):
    robot, _ = random_robot(tmp_path, 7, 5)
    q, qd, qdd = (x[0] for x in states(robot))
    tau, *triple = TABLE[name].starting_from["inverse dynamics"](robot, q, qd, qdd)
    assert deviation(tau, value(robot, "inverse_dynamics", q, qd, qdd)) < 1e-12
    for found, expected in zip(triple, TABLE[name].function(robot, q, qd, qdd), strict=True):
        assert np.array_equal(found, expected)


# ---------------------------------------------------------------------- forward


def differences(function, x, h=1e-6):
    """Central differences of a function of one vector, by its entries in the last axis."""
    steps = h * np.eye(x.shape[-1])
    return np.stack([(function(x + dx) - function(x - dx)) / (2 * h) for dx in steps], -1)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_state_space_is_the_slope_of_the_motion(tmp_path, seed):
    robot, _ = random_robot(tmp_path, seed, 1 + seed % 5, drives=True)
    q, qd, tau = (x[0] for x in states(robot, seed=seed))
    n = robot.nv

    def motion(x):
        return np.concatenate([x[n:], value(robot, "forward_dynamics", x[:n], x[n:], tau)])

    A, B = value(robot, "state_space", q, qd, tau)
    by_tau = differences(lambda tau: value(robot, "forward_dynamics", q, qd, tau), tau)
    assert deviation(A, differences(motion, np.concatenate([q, qd]))) < 1e-6
    assert deviation(B, np.concatenate([0 * by_tau, by_tau])) < 1e-6


@pytest.mark.parametrize("name", PLAIN)
def test_forward_slopes_come_out_by_any_recursion(tmp_path, name):
    robot, _ = random_robot(tmp_path, 3, 4, drives=True)
    state = states(robot)
    program = armlet.trace(robot, "forward_linearization", linearization=name)
    for found, expected in zip(
        program.function(np)(*state), value(robot, "forward_linearization", *state), strict=True
    ):
        assert deviation(found, expected) < 1e-9
    with pytest.raises(armlet.ArmletError, match="'reverse_mode' differentiates"):
        armlet.trace(robot, "forward_linearization", linearization="reverse_mode")


# ---------------------------------------------------------------------- the tool's coordinates


def along(derivatives, speed):
    return np.einsum("s...k,sk->s...", derivatives, speed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rates_of_the_jacobian_are_those_along_the_motion(tmp_path, seed):
    robot, _ = random_robot(tmp_path, seed, 1 + seed)
    q, qd, qdd = states(robot, seed=seed)
    program = armlet.trace(robot, "jacobian")
    first, second = program.derivative("q"), program.derivative("q").derivative("q")
    rate = along(first.function(np)(q), qd)
    second_rate = along(along(second.function(np)(q), qd), qd) + along(first.function(np)(q), qdd)
    for k in range(len(q)):
        J, Jd, Jdd = jacobian_rates(robot, q[k], qd[k], qdd[k])
        assert deviation(J, robot.jacobian(q[k])) < 1e-12
        assert deviation(Jd, rate[k]) < 1e-11
        assert deviation(Jdd, second_rate[k]) < 1e-11


def tool_motion(robot, q, qd, qdd):
    """J, J', J'' and the acceleration of the tool, at each state."""
    J, Jd, Jdd = (
        np.array(x, dtype=float)
        for x in zip(
            *(jacobian_rates(robot, *s) for s in zip(q, qd, qdd, strict=True)), strict=True
        )
    )
    return J, Jd, Jdd, along(J, qdd) + along(Jd, qd)


@pytest.mark.parametrize("seed", GENERAL)
@pytest.mark.parametrize("n", [3, 6])
def test_the_cartesian_model_gives_the_torques(n, seed):
    robot = random_arm(seed, n)
    state = states(robot, seed=seed)
    J, _, _, acceleration = tool_motion(robot, *state)
    D, C, G = value(robot, "cartesian_model", *state[:2])
    f = along(D, acceleration) + C + G
    limit = 1e-13 * np.linalg.cond(J).max() ** 2
    assert (
        deviation(np.einsum("ski,sk->si", J, f), value(robot, "inverse_dynamics", *state)) < limit
    )
    assert (
        deviation(np.einsum("ski,skl,slj->sij", J, D, J), value(robot, "inertia_matrix", state[0]))
        < limit
    )
    assert (
        deviation(np.einsum("ski,sk->si", J, G), value(robot, "gravity_torque", state[0])) < limit
    )


@pytest.mark.parametrize("seed", GENERAL)
@pytest.mark.parametrize("n", [3, 6])
def test_the_cartesian_slopes_are_those_of_the_joints(n, seed):
    robot = random_arm(seed, n)
    state = states(robot, seed=seed)
    dq, dqd, dqdd = np.random.default_rng(seed).normal(size=(3, 3, n))
    J, Jd, Jdd, _ = tool_motion(robot, *state)
    H, V, P = value(robot, "linearization", *state)
    Dx, Vx, Px = value(robot, "cartesian_linearization", *state)
    moved = along(J, dq), along(Jd, dq) + along(J, dqd)
    moved = *moved, along(Jdd, dq) + 2 * along(Jd, dqd) + along(J, dqdd)
    found = along(Px, moved[0]) + along(Vx, moved[1]) + along(Dx, moved[2])
    expected = along(P, dq) + along(V, dqd) + along(H, dqdd)
    assert deviation(found, expected) < 1e-13 * np.linalg.cond(J).max() ** 3


def test_in_the_plane_they_are_the_slopes_by_the_coordinates_of_the_tool(arms):
    """All axes parallel, so the turn is a coordinate: x, y and the angle of the planar 3R."""
    robot = arms["planar3r"]
    q, qd, qdd = np.array([[0.3, 0.8, -0.5], [0.4, -0.7, 0.9], [1.1, 0.2, -0.6]])
    rows = [i for i in range(6) if np.abs(robot.jacobian(q)[i]).max() > 1e-9]
    assert len(rows) == 3

    def jacobians(q, qd):
        return [np.array(J, dtype=float)[rows] for J in jacobian_rates(robot, q, qd, 0 * qd)[:2]]

    def position(q):
        T = robot.forward_kinematics(q)
        x = np.concatenate([[math.atan2(T[1, 0], T[0, 0])] * 3, T[:3, 3]])
        return x[rows]

    def torques(x):
        """The torques of a motion of the tool: position, velocity, acceleration."""
        at = q
        for _ in range(20):
            at = at - np.linalg.solve(jacobians(at, qd)[0], position(at) - x[:3])
        speed = np.linalg.solve(jacobians(at, qd)[0], x[3:6])
        J, Jd = jacobians(at, speed)
        return value(robot, "inverse_dynamics", at, speed, np.linalg.solve(J, x[6:] - Jd @ speed))

    J, Jd = jacobians(q, qd)
    x = np.concatenate([position(q), J @ qd, J @ qdd + Jd @ qd])
    Dx, Vx, Px = (
        derivative[:, rows] for derivative in value(robot, "cartesian_linearization", q, qd, qdd)
    )
    assert deviation(np.hstack([Px, Vx, Dx]), differences(torques, x, 1e-5)) < 1e-6


def test_the_variation_of_the_tools_turning_is_more_than_the_rate_of_the_small_turn():
    robot = random_arm(1, 6)
    q, qd, qdd = states(robot)
    dq, dqd = np.random.default_rng(0).normal(size=(2, 3, 6))
    J, Jd, _, _ = tool_motion(robot, q, qd, qdd)
    derivative = armlet.trace(robot, "jacobian").derivative("q").function(np)(q)
    variation = along(along(derivative, dq), qd) + along(J, dqd)
    more = variation - along(Jd, dq) - along(J, dqd)
    turn, w = along(J, dq)[:, :3], along(J, qd)[:, :3]
    assert deviation(more[:, :3], np.cross(turn, w)) < 1e-12
    assert np.abs(more[:, 3:]).max() < 1e-12


def test_cartesian_models_need_a_tool_that_all_joints_move(arms):
    with pytest.raises(armlet.ModelError, match=r"7 of the 7 joints .* six at most"):
        arms["panda"].cartesian_model(np.zeros(7), np.zeros(7))
    robot = arms["puma560"]
    with pytest.raises(armlet.ModelError, match="of the 6 joints of robot 'puma560' move frame"):
        value(robot, "cartesian_model", np.zeros(6), np.zeros(6), frame=robot.links[2])
