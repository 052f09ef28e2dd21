"""Simulation, roll-outs, trajectories and controllers of robots with ball joints."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from support.spherical import (
    TOP,
    as_quaternion,
    ball_pendulum,
    gimbal_pendulum,
    tumbling,
    with_friction,
    with_limits,
    with_springs,
)

import armlet
from armlet import INTEGRATORS, Adaptive, Plant, Robot, Trajectory
from armlet._support import tables
from armlet.errors import DataError, DataWarning, ModelError
from armlet.robot import Coupling
from armlet.testing import random_robot

ON_ROTATIONS = [name for name, x in INTEGRATORS.items() if not x.needs_vector_space]
EXACT = Adaptive("dop853", rtol=1e-13, atol=1e-13)


# ------------------------------------------------------------------ integrators


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("method", ON_ROTATIONS)
def test_errors_fall_with_the_order_of_the_integrator(method, friction):
    robot, q, qd = tumbling(1, "BRB")
    plant = Plant(with_friction(robot, viscous=0.3), friction=friction)
    exact = armlet.simulate(plant, q, qd, duration=0.2, method=EXACT)
    counts, errors = (25, 50, 100, 200), []
    for count in counts:
        run = armlet.simulate(plant, q, qd, duration=0.2, dt=0.2 / count, method=method)
        errors.append(np.abs(robot.difference(exact.q[-1], run.q[-1])).max())
    order = -np.polyfit(np.log(counts[1:]), np.log(errors[1:]), 1)[0]
    assert order == pytest.approx(INTEGRATORS[method].order, abs=0.2)


@pytest.mark.parametrize("method", ["dop853", "rk45", "radau", "lsoda"])
def test_adaptive_integrators_agree(method):
    robot, q, qd = tumbling(2)
    exact = armlet.simulate(robot, q, qd, duration=1.0, method=EXACT)
    run = armlet.simulate(robot, q, qd, duration=1.0, method=Adaptive(method, 1e-9, 1e-11))
    assert np.abs(robot.difference(exact.q, run.q)).max() < 1e-5
    assert np.abs(exact.qd - run.qd).max() < 1e-4


def test_the_length_of_quaternions_stays_one():
    robot, q, qd = tumbling(3)
    run = armlet.simulate(robot, q, qd, duration=10.0, dt=1e-3, method="rk4")
    for at in (slice(0, 4), slice(5, 9)):
        assert np.abs(np.linalg.norm(run.q[:, at], axis=1) - 1).max() < 1e-12
        assert np.ptp(run.q[:, at], axis=0).min() > 0.5  # it tumbles


def test_a_spherical_pendulum_keeps_its_energy():
    robot = ball_pendulum()
    q = robot.random_configuration(0)
    run = armlet.simulate(robot, q, [2, -1, 3], duration=10.0, method=EXACT)
    size = np.abs(run.energy).max()
    assert np.ptp(run.kinetic) > 0.1 * size
    assert np.ptp(run.energy) < 1e-9 * size


def test_a_ball_joint_moves_as_three_revolute_joints_whose_axes_meet():
    ball, gimbal = ball_pendulum(), gimbal_pendulum()
    q, qd = np.array([0.3, 1.7, -0.4]), np.array([1.0, 0.4, 3.0])
    R = gimbal.forward_kinematics(q, "tool")[:3, :3]
    w = R.T @ gimbal.jacobian(q, "tool")[:3] @ qd
    three = armlet.simulate(gimbal, q, qd, duration=2.0, method=EXACT)
    one = armlet.simulate(ball, as_quaternion(R), w, duration=2.0, method=EXACT)
    assert np.abs(np.sin(three.q[:, 1])).min() > 0.1  # no gimbal lock
    for x, y in zip(one.q, three.q, strict=True):
        X, Y = ball.forward_kinematics(x, "tool"), gimbal.forward_kinematics(y, "tool")
        np.testing.assert_allclose(X, Y, atol=1e-8)
    np.testing.assert_allclose(one.energy, three.energy, atol=1e-8)


def test_a_symmetric_top_precesses_at_the_rate_of_the_formula():
    """m g l = I₃ ω₃ Ω - I₁ Ω² cos θ, with the spin ω₃ about the axis and the precession Ω."""
    robot, tilt, rate = ball_pendulum(TOP), 0.6, 1.5
    _, moment, J = TOP
    spin = (moment[2] * 9.81 + J[0, 0] * rate**2 * np.cos(tilt)) / (J[2, 2] * rate)
    q = np.array([np.sin(tilt / 2), 0, 0, np.cos(tilt / 2)])
    up = robot.forward_kinematics(q, "tool")[2, :3]  # the vertical in body axes
    w = rate * up + (spin - rate * up[2]) * np.array([0, 0, 1])
    run = armlet.simulate(robot, q, w, duration=3.0, method=EXACT)
    axes = np.array([robot.forward_kinematics(x, "tool")[:3, 2] for x in run.q])
    (x, y, z), angle = axes[0], rate * run.t
    expected = (
        x * np.cos(angle) - y * np.sin(angle),
        x * np.sin(angle) + y * np.cos(angle),
        z + 0 * angle,
    )
    np.testing.assert_allclose(axes, np.transpose(expected), atol=1e-9)


@pytest.mark.parametrize("name", [name for name, x in INTEGRATORS.items() if x.needs_vector_space])
def test_integrators_that_add_positions_are_refused(name):
    robot, q, qd = tumbling()
    message = f"has ball joints .joint0, joint2.: the integrator {name} is for robots whose"
    with pytest.raises(ModelError, match=message):
        armlet.simulate(robot, q, qd, duration=0.1, method=name)
    with pytest.raises(ModelError, match=message):
        armlet.rollout(robot, q[None], qd[None], dt=1e-3, steps=9, method=name)


def test_integrators_that_add_positions_are_those_with_past_or_momenta():
    assert {*INTEGRATORS} - {*ON_ROTATIONS} == {"adams_bashforth4", "variational_midpoint"}


# ------------------------------------------------------------------ starts, limits, messages


@pytest.mark.parametrize("wrong", [[0, 0, 0, 2], [0, 0, 0, 0], [0, 0, 0, 1.00001]])
def test_a_start_whose_quaternion_has_another_length_is_refused(wrong):
    robot, q, qd = tumbling(letters="RB")
    q[1:] = wrong
    message = r"q0 of joint 'joint1' is \[.*\]: expected a quaternion x, y, z, w of length 1"
    with pytest.raises(DataError, match=message):
        armlet.simulate(robot, q, qd, duration=0.1)
    with pytest.raises(DataError, match=message):
        armlet.rollout(robot, [q, q], dt=0.1, steps=1)
    with pytest.raises(DataError, match=message.replace("q0", "q")):
        armlet.controllers.regulator(robot, q, state_cost=1, torque_cost=1)


def test_a_start_is_rounded_to_a_rotation():
    robot, q, qd = tumbling(letters="RB")
    rough = q.copy()
    rough[1:] *= 1 + 5e-7
    for run in (armlet.simulate(robot, x, qd, duration=0.1) for x in (q, rough)):
        np.testing.assert_allclose(run.q[0], q, atol=1e-15)
    with pytest.warns(DataWarning, match="1 of 2 roll-outs diverge"):
        runs = armlet.rollout(robot, [rough, np.nan * q], dt=1e-3, steps=1)
    assert runs.finite.tolist() == [True, False]


def test_limits_are_those_of_the_other_joints():
    robot, q, qd = tumbling(letters="BR")
    q[4], qd[:] = 0.0, (0, 0, 0, 3)
    limited = with_limits(robot, -0.5, 0.5)
    with pytest.raises(armlet.MotionError, match=r"joint .joint1. is at 0\.5"):
        armlet.simulate(limited, q, qd, duration=2.0, limits="error")
    held = armlet.simulate(Plant(limited, stops=True), q, qd, duration=2.0)
    free = armlet.simulate(limited, q, qd, duration=2.0)
    assert np.abs(held.q[:, 4]).max() < 0.55 < np.abs(free.q[:, 4]).max()
    q[4] = 0.7
    with pytest.warns(DataWarning, match=r"joint 'joint1' starts at 0\.7, beyond its limits"):
        armlet.simulate(Plant(limited, stops=True), q, qd, duration=0.1)


def test_friction_that_is_too_fast_for_the_steps_is_named():
    robot, q, qd = tumbling(letters="RB")
    rough = with_friction(robot, coulomb=5.0)
    with pytest.warns(DataWarning, match=r"of friction at joint 'joint1\.[xyz]' is"):
        armlet.simulate(rough, q, qd, duration=0.01, dt=1e-3, method="rk4")


def test_friction_brings_a_ball_joint_to_rest():
    robot = with_friction(ball_pendulum(), coulomb=0.5, viscous=0.5)
    q = robot.integrate(robot.neutral, [1.0, 0.5, 0.0])
    for method in ("lsoda", "rosenbrock2"):
        run = armlet.simulate(robot, q, [5, -3, 2], duration=10.0, dt=5e-3, method=method)
        assert np.abs(run.qd[-1]).max() < 1e-2
        assert np.diff(run.energy).max() < 1e-4


def test_gains_that_are_too_high_for_the_steps_are_named():
    robot, q, qd = tumbling(letters="RB")

    @armlet.function(robot, target=robot.nq)
    def pull(q, qd, target):
        return 1e4 * robot.difference(q, target) * [0, 1, 0, 0]

    arguments = {"target": robot.random_configuration(0)}
    with pytest.warns(DataWarning, match=r"time constant of torques at joint 'joint1\.[xyz]'"):
        armlet.simulate(
            robot, q, qd, pull, arguments=arguments, duration=0.02, dt=0.02, method="rk4"
        )


def test_springs_are_part_of_the_energy_that_is_kept():
    robot = with_springs(ball_pendulum(), 20.0)
    run = armlet.simulate(robot, robot.neutral, [2, 4, 3], duration=5.0, method=EXACT)
    displacement = robot.difference(robot.neutral, run.q)
    energy = run.energy + 10 * (displacement**2).sum(1)
    assert np.ptp(run.energy) > 1
    assert np.ptp(energy) < 1e-9


def test_what_is_not_finite_is_named_by_its_velocity():
    robot, q, qd = tumbling(letters="RB")

    def torque(t, q, qd):
        return [0, 0, 0, np.inf if t > 0.05 else 0]

    with pytest.warns(DataWarning, match=r"torque of joint 'joint1\.z' is not finite"):
        armlet.simulate(robot, q, qd, torque, duration=0.1, method="rk4")


# ------------------------------------------------------------------ trajectories and events


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_a_trajectory_comes_back_from_a_file(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    robot, q, qd = tumbling()
    run = armlet.simulate(robot, q, qd, duration=0.1, record=["bias"])
    getattr(run, f"to_{ending}")(tmp_path / f"run.{ending}")
    found = Trajectory.read(tmp_path / f"run.{ending}")
    assert found.joints == run.joints == robot.joint_names
    assert found.kinds == run.kinds == {"joint0": "ball", "joint2": "ball"}
    assert tuple(found.position_names) == robot.position_names
    assert tuple(found.velocity_names) == robot.velocity_names
    for name, array in run._arrays().items():
        np.testing.assert_array_equal(found._arrays()[name], array)
    np.testing.assert_array_equal(found.at([0.0123]).q, run.at([0.0123]).q)


def test_names_with_points_are_no_ball_joints(tmp_path):
    t, x = np.arange(3.0), np.random.default_rng(0).normal(size=(3, 5))
    joints = ("a.x", "a.y", "a.z", "a.w", "b")
    run = Trajectory(t, x, x, x, x, t, t, joints)
    run.to_csv(tmp_path / "run.csv")
    found = Trajectory.read(tmp_path / "run.csv")
    assert found.joints == joints
    assert not found.kinds


def test_kinds_of_joints_may_be_missing_in_a_file_but_not_be_unknown(tmp_path):
    robot = armlet.load("planar2r")
    run = armlet.simulate(robot, [0.1, 0.2], duration=0.1)
    assert not run.kinds
    metadata = run._metadata()
    for kinds in ({}, {"kinds": {"joint1": "rubber"}}):
        own = {name: value for name, value in metadata.items() if name != "kinds"}
        tables.write_npz(tmp_path / "run.npz", run._arrays(), own | kinds)
        if kinds:
            with pytest.raises(DataError, match=r"run\.npz cannot be read: KeyError: 'rubber'"):
                Trajectory.read(tmp_path / "run.npz")
        else:
            assert Trajectory.read(tmp_path / "run.npz").joints == run.joints


def test_between_rows_a_trajectory_is_close_to_the_motion():
    robot, q, qd = tumbling(2)
    coarse, fine = (
        armlet.simulate(robot, q, qd, duration=0.4, dt=dt, method=EXACT) for dt in (1e-2, 1e-3)
    )
    between = coarse.at(fine.t)
    assert np.abs(robot.difference(between.q, fine.q)).max() < 1e-4
    finer = armlet.simulate(robot, q, qd, duration=0.4, dt=5e-3, method=EXACT).at(fine.t)
    errors = [np.abs(robot.difference(x.q, fine.q)).max() for x in (between, finer)]
    assert errors[0] > 10 * errors[1]  # of fourth order
    np.testing.assert_allclose(coarse.at(coarse.t).q, coarse.q, atol=1e-14)
    for at in (slice(0, 4), slice(5, 9)):
        np.testing.assert_allclose(np.linalg.norm(between.q[:, at], axis=1), 1, atol=1e-14)
    assert coarse[5:10].q.shape == (5, robot.nq)


def test_the_sign_of_a_quaternion_does_not_matter_between_rows():
    robot, q, qd = tumbling(2, "B")
    run = armlet.simulate(robot, q, qd, duration=0.1, dt=1e-2)
    turned = Trajectory(**{**vars(run), "q": run.q * (-1) ** np.arange(len(run))[:, None]})
    times = np.linspace(0, 0.1, 51)
    np.testing.assert_allclose(robot.difference(run.at(times).q, turned.at(times).q), 0, atol=1e-14)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_an_event_ends_the_simulation_where_its_function_is_zero(method):
    robot = ball_pendulum()
    q = robot.integrate(robot.neutral, [1.2, 0.4, 0.0])

    @armlet.function(robot)
    def height(q):
        return robot.forward_kinematics(q, "tool")[2, 2]

    run = armlet.simulate(
        robot, q, [0.5, 1, 2], duration=5.0, dt=5e-3, method=method, events=[height], every=7
    )
    assert run.ended.startswith("'height' at ")
    assert abs(height(run.q[-1])) < 1e-10
    exact = armlet.simulate(robot, q, [0.5, 1, 2], duration=run.t[-1], method=EXACT)
    assert np.abs(robot.difference(exact.q[-1], run.q[-1])).max() < 1e-6
    assert np.linalg.norm(run.events[0].q) == pytest.approx(1, abs=1e-14)


def test_a_figure_has_a_line_for_every_position_and_velocity():
    pytest.importorskip("plotly", reason="plotly is not installed")
    robot, q, qd = tumbling()
    figure = armlet.simulate(robot, q, qd, np.ones(robot.nv), duration=0.1).plot()
    assert len(figure.data) == robot.nq + 2 * robot.nv + 3
    colours = {}
    for line in figure.data[:-3]:
        assert colours.setdefault(line.name, line.line.color) == line.line.color
    assert tuple(colours) == robot.position_names
    shown = [line.name for line in figure.data[:-3] if line.showlegend]
    assert tuple(shown) == robot.position_names


# ------------------------------------------------------------------ roll-outs


@pytest.mark.parametrize("method", ON_ROTATIONS)
def test_a_roll_out_is_the_simulation_of_each(method):
    robot, *_ = tumbling()
    q, qd = robot.random_configuration(0, 5), np.random.default_rng(0).normal(size=(5, robot.nv))
    runs = armlet.rollout(robot, q, qd, dt=1e-3, steps=50, every=10, method=method)
    for k in range(5):
        run = armlet.simulate(robot, q[k], qd[k], duration=0.05, dt=1e-3, method=method, every=10)
        np.testing.assert_allclose(runs.q[:, k], run.q[1:], atol=1e-13)
        np.testing.assert_allclose(runs.qd[:, k], run.qd[1:], atol=1e-12)


@pytest.mark.parametrize("method", ON_ROTATIONS)
def test_forward_reverse_and_central_differences_agree(method):
    """Tangents of q0 are rates of change of unit quaternions."""
    robot, runs, steps = tumbling()[0], 3, 20
    rng = np.random.default_rng(0)
    x = {
        "q0": robot.random_configuration(rng, runs),
        "qd0": rng.normal(size=(runs, robot.nv)),
        "torque": rng.normal(size=(steps, runs, robot.nv)),
        "goal": robot.random_configuration(rng),
    }
    along = {name: rng.normal(size=value.shape) for name, value in x.items()}
    turn = rng.normal(size=(runs, robot.nv))
    along["q0"] = np.array([robot._tangent(q) @ w for q, w in zip(x["q0"], turn, strict=True)])

    @armlet.function(robot, goal=robot.nq)
    def cost(q, qd, t, goal):
        return (robot.difference(goal, q) ** 2).sum() + (0.1 + t) * (qd**2).sum()

    def rolled_out(goal, **x):
        options = {"reduce": cost, "arguments": {"goal": goal}, "method": method}
        return armlet.rollout(robot, **x, dt=0.01, steps=steps, **options)

    forward = rolled_out(**x, wrt=along)
    gradient = rolled_out(**x, wrt=[*x]).gradient
    back = sum((gradient[name] * along[name]).sum() for name in x)
    assert back == pytest.approx(forward.tangents.cost.sum(), rel=1e-10)
    h, ends = 1e-5, []
    for step in (-h, h):
        moved = {name: value + step * along[name] for name, value in x.items()}
        ends.append(rolled_out(**{**moved, "q0": robot.integrate(x["q0"], step * turn)}))
    for name in ("q", "qd", "cost"):
        difference = (getattr(ends[1], name) - getattr(ends[0], name)) / (2 * h)
        expected = getattr(forward.tangents, name)
        np.testing.assert_allclose(difference, expected, rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------ controllers


def test_pd_control_and_computed_torques_turn_ball_joints_to_their_targets():
    robot, q, qd = tumbling(2, "BR")
    target = robot.random_configuration(5)
    pd = armlet.controllers.pd_with_gravity(robot, stiffness=200, damping=60)
    fixed = {"dt": 1e-3, "method": "semi_implicit_euler"}
    run = armlet.simulate(robot, q, qd, pd, arguments={"target": target}, duration=10.0, **fixed)
    assert np.abs(robot.difference(run.q[-1], target)).max() < 1e-3
    follow = armlet.controllers.computed_torque(robot, stiffness=100, damping=20)
    still = {"target_velocity": np.zeros(robot.nv), "target_acceleration": np.zeros(robot.nv)}
    goal = still | {"target": target}
    run = armlet.simulate(robot, q, qd, follow, arguments=goal, duration=3.0, **fixed)
    assert np.abs(robot.difference(run.q[-1], target)).max() < 1e-6


def test_a_regulator_holds_a_ball_pendulum_upright():
    robot = ball_pendulum(TOP)
    up = armlet.controllers.regulator(robot, robot.neutral, state_cost=1, torque_cost=0.1)
    assert up.gain.shape == (3, 6)
    start = robot.integrate(robot.neutral, [0.3, -0.2, 0.5])
    run = armlet.simulate(robot, start, torque=up.torque, duration=15.0)
    assert np.abs(robot.difference(robot.neutral, run.q[-1])).max() < 1e-3
    falls = armlet.simulate(robot, start, duration=1.0)
    assert np.abs(robot.difference(robot.neutral, falls.q)).max() > 1
    # the cost-to-go of a small deviation is the cost of the motion
    small = robot.integrate(robot.neutral, [0.01, -0.02, 0.03])
    run = armlet.simulate(robot, small, torque=up.torque, duration=20.0)
    deviations = np.hstack([robot.difference(robot.neutral, run.q), run.qd])
    running = (deviations**2).sum(1) + 0.1 * (run.tau**2).sum(1)
    total = np.trapezoid(running, run.t)
    assert total == pytest.approx(deviations[0] @ up.cost @ deviations[0], rel=1e-2)


def test_joints_that_a_regulator_drives_are_named_by_themselves_or_by_their_velocities():
    robot, q, _ = tumbling(letters="BR")

    def gain(**driven):
        options = {"state_cost": 1, "torque_cost": 1, **driven}
        return armlet.controllers.regulator(robot, q, **options).gain

    every = gain(driven=[*robot.velocity_names])
    np.testing.assert_array_equal(gain(), every)
    np.testing.assert_array_equal(gain(driven=["joint0", "joint1"]), every)
    with pytest.raises(ModelError, match=r"no joint is called .hip.: expected some of joint0\.x"):
        gain(driven=["hip"])
    with pytest.raises(DataError, match=r"not in balance: joint .* has no drive"):
        gain(driven=["joint0.z"])


def test_a_tracker_follows_a_motion_of_ball_joints():
    robot, q, qd = tumbling(2, "BR")
    dt = 2e-3
    plan = armlet.simulate(robot, q, qd, duration=0.6, dt=dt, method=EXACT)
    weights = np.repeat([100, 1], robot.nv)
    follow = armlet.controllers.tracker(
        robot, plan.q, plan.qd, plan.qdd, dt=dt, state_cost=weights, torque_cost=1e-3
    )
    start = robot.integrate(q, 0.1 * np.ones(robot.nv))
    run = armlet.simulate(
        robot,
        start,
        qd,
        follow.torque,
        arguments=follow.arguments,
        duration=0.6,
        dt=dt,
        method="rk4",
    )
    assert np.abs(robot.difference(plan.q[-1], run.q[-1])).max() < 0.01


def test_a_ball_joint_is_brought_to_its_goal_by_sampling():
    robot = ball_pendulum()
    goal = robot.integrate(robot.neutral, [0.8, -0.5, 0.3])

    @armlet.function(robot, goal=robot.nq)
    def cost(q, qd, goal):
        return (robot.difference(q, goal) ** 2).sum() + 0.02 * (qd**2).sum()

    sampler = armlet.controllers.Sampler(
        robot, cost, dt=0.02, steps=25, noise=3, temperature=0.2, correlation=0.8, seed=0
    )
    run = armlet.simulate(
        robot,
        robot.neutral,
        torque=lambda t, q, qd: sampler(q, qd, goal=goal),
        duration=2.0,
        dt=0.02,
        method="rk4",
    )
    assert np.abs(robot.difference(run.q[-1], goal)).max() < 0.15


def test_the_energy_of_springs_is_checked_beside_coupled_joints():
    """Springs belong to joints, of which a coupling moves two by one coordinate."""
    robot = random_robot(0, 4, "BRRR", drives=True)
    couplings = tuple(Coupling(1 if i == 2 else i, 0.5 if i == 2 else 1) for i in range(4))
    robot = Robot.of(replace(robot, couplings=couplings)).without_drives()
    assert (robot.nq, robot.nv) == (6, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = armlet.simulate(robot, robot.neutral, duration=0.2, method="dop853")
    assert np.ptp(run.q, axis=0).max() > 1e-3


def test_a_posture_to_look_at_has_quaternions_of_length_1():
    robot, posture, _ = tumbling()
    with pytest.raises(DataError, match=r"q of joint 'joint0' is .* length 1"):
        armlet.view(robot, q=1.1 * posture, html="robot.html")
