"""Simulation and roll-outs: the physics, the orders of the methods, and what may go wrong."""

import errno
import os
import re
import signal
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate
from support.cases import cases
from support.kernels import same_bits

import armlet
from armlet import INTEGRATORS, Friction, MotionError, Stops, Trajectory
from armlet.errors import DataError, DataWarning
from armlet.simulation.integrators import runge_kutta
from armlet.simulation.simulate import ADAPTIVE


@pytest.fixture(scope="module")
def panda():
    return armlet.load("panda").without_drives()


@pytest.fixture(scope="module")
def arm():
    return armlet.load("ur5e").without_drives()


def one_slide():
    """A body of 1 kg on a prismatic joint, without gravity."""
    body = (1.0, (0, 0, 0), (0.01, 0, 0, 0.01, 0, 0.01))
    options = {"convention": "modified", "joints": "P", "gravity": (0, 0, 0)}
    return armlet.Robot.from_dh([(0, 0, 0, 0)], inertia=[body], **options)


def starts(robot, count, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, robot.nv))


def own_torque(robot):
    """A controller that pulls weakly towards a target, and stirs."""

    @armlet.function(robot, target=robot.nq)
    def pull(q, qd, t, target):
        return 0.05 * (target - q) - 0.001 * qd + 0.05 * np.sin(t)

    return pull


def reference(robot, q, target, duration):
    """The end of the same trajectory, by SciPy at the accuracy of doubles."""
    n = robot.nv

    def slope(t, x):
        q, qd = x[:n], x[n:]
        tau = 0.05 * (target - q) - 0.001 * qd + 0.05 * np.sin(t)
        return np.concatenate([qd, robot.forward_dynamics(q, qd, tau)])

    start = np.concatenate([q, 0 * q])
    found = integrate.solve_ivp(slope, (0, duration), start, "DOP853", rtol=1e-13, atol=1e-13)
    return found.y[:n, -1]


# ------------------------------------------------------------------ methods


@pytest.mark.parametrize("method", INTEGRATORS)
def test_errors_fall_with_the_order_of_the_method(arm, method):
    duration, target, q = 0.2, np.full(arm.nq, 0.3), starts(arm, 3)
    expected = [reference(arm, x, target, duration) for x in q]
    errors, counts = [], (200, 400, 800)
    for steps in counts:
        found = armlet.rollout(
            arm,
            q,
            torque=own_torque(arm),
            arguments={"target": target},
            dt=duration / steps,
            steps=steps,
            every=steps,
            method=method,
        )
        errors.append(np.abs(found.q[-1] - expected).max())
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert -slope == pytest.approx(INTEGRATORS[method].order, abs=0.1)


def test_the_page_lists_all_integrators():
    page = Path(__file__).parents[1] / "docs" / "simulation.md"
    rows = re.findall(
        r"^\| (`.+?) \| (?:fixed|chosen|the same)", page.read_text("utf-8"), re.MULTILINE
    )
    listed = re.findall(r"`(\w+)`", " ".join(rows))
    assert set(listed) == {*INTEGRATORS, *ADAPTIVE}


def test_an_integrator_is_one_entry(arm, monkeypatch):
    ralston = runge_kutta("", order=2, stability=0.16, decay=2, nodes=(0, 2 / 3), weights=(1, 3))
    monkeypatch.setitem(INTEGRATORS, "ralston", ralston)
    test_errors_fall_with_the_order_of_the_method(arm, "ralston")
    test_steps_within_the_stability_limit_follow_springs_of_any_damping("ralston")
    test_steps_within_the_limit_of_decay_follow_viscous_friction("ralston")


def test_stages_are_the_whole_step(arm):
    """A cost is that of whole steps, which are then compiled as such."""

    @armlet.function(arm)
    def work(q, qd):
        return (qd**2).sum()

    torque = np.random.default_rng(4).normal(size=(30, 5, arm.nv))
    options = {"torque": torque, "dt": 1e-3, "steps": 30, "every": 30, "method": "rk4"}
    by_stages = armlet.rollout(arm, starts(arm, 5), **options)
    whole = armlet.rollout(arm, starts(arm, 5), reduce=work, **options)
    np.testing.assert_allclose(by_stages.q, whole.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(by_stages.qd, whole.qd, rtol=0, atol=1e-12)


@pytest.mark.parametrize("duration", cases([2.0], long=[10.0]))
def test_energy_is_kept_by_an_adaptive_method(panda, duration):
    run = armlet.simulate(
        panda,
        starts(panda, 1)[0],
        duration=duration,
        method=armlet.Adaptive(rtol=1e-10, atol=1e-12),
    )
    assert np.ptp(run.energy) < 1e-9 * np.ptp(run.kinetic)


@pytest.mark.parametrize("duration", cases([60.0], long=[1000.0]))
def test_energy_has_no_trend_with_the_symplectic_method(panda, duration):
    """Its error stays where it was in the first part of a long run."""
    run = armlet.simulate(
        panda, starts(panda, 1)[0], duration=duration, dt=1e-3, method="variational_midpoint"
    )
    error = (run.energy - run.energy[0]) / np.ptp(run.kinetic)
    first, last = np.abs(np.array_split(error, 4)[0]), np.abs(np.array_split(error, 4)[-1])
    assert first.max() < 1e-2
    assert last.max() < 2 * first.max()


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4"])
def test_the_torques_come_back_by_inverse_dynamics(panda, method):
    rng = np.random.default_rng(1)
    torque = panda.gravity_torque(starts(panda, 1)[0]) + rng.normal(size=(100, panda.nv))
    run = armlet.simulate(
        panda, starts(panda, 1)[0], torque=torque, duration=0.1, dt=1e-3, method=method
    )
    found = panda.inverse_dynamics(run.q, run.qd, run.qdd)
    assert np.abs(found - run.tau).max() < 1e-9
    assert np.array_equal(run.tau[:100], torque)


def test_small_deviations_are_those_of_the_linear_model():
    """The error of the linear model falls with the square of the deviation."""
    arm = armlet.load("planar3r").without_drives()
    q, h = starts(arm, 1)[0], 1e-5
    tau = arm.gravity_torque(q)
    A, _ = arm.state_space(q, np.zeros(arm.nv), tau)
    errors = []
    for size in (1e-2, 1e-3):
        x = size * np.random.default_rng(2).normal(size=2 * arm.nv)
        torque = np.tile(tau, (10, 1))
        run = armlet.simulate(
            arm, q + x[: arm.nv], x[arm.nv :], torque, duration=10 * h, dt=h, method="rk4"
        )
        moved = (np.concatenate([run.q[1] - q, run.qd[1]]) - x) / h
        errors.append(np.abs(moved - A @ x).max())
    assert np.log10(errors[0] / errors[1]) == pytest.approx(2, abs=0.3)


def test_friction_takes_the_energy_that_is_lost(arm):
    drive = arm.drives[0]._replace(viscous=0.5, coulomb=1.0)
    robot = replace(arm, drives=(drive,) * arm.nv)
    model = Friction(velocity=0.05)
    run = armlet.simulate(armlet.Plant(robot, model), starts(arm, 1)[0], duration=0.2)
    torque = 0.5 * run.qd + np.tanh(run.qd / 0.05)
    power = (torque * run.qd).sum(1)
    lost = np.sum((power[1:] + power[:-1]) / 2 * np.diff(run.t))
    assert run.energy[0] - run.energy[-1] == pytest.approx(lost, rel=1e-3)


def rubbing(arm):
    """An arm with the friction of an ordinary URDF: 4 to 0.6 Nm, and some that is viscous."""
    coulomb, viscous = np.linspace(4, 0.6, arm.nv), np.linspace(1, 0.1, arm.nv)
    pairs = zip(arm.drives, viscous.tolist(), coulomb.tolist(), strict=True)
    return replace(arm, drives=tuple(x._replace(viscous=v, coulomb=c) for x, v, c in pairs))


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("name", ["ur5e", "planar3r"])
def test_friction_is_followed_by_steps_that_are_longer_than_it_takes_to_act(name, driven):
    """At 1 ms, where an explicit step is off by 0.1 rad; SciPy solves the same equations."""
    robot = rubbing(armlet.load(name).without_drives())
    coulomb, viscous = (np.array([x[k] for x in robot.drives]) for k in (2, 1))

    @armlet.function(robot)
    def stir(q, t):
        return robot.gravity_torque(q) + 2 * coulomb * np.sin(9 * t)

    def derivative(t, x):
        q, qd = np.split(x, 2)
        tau = np.asarray(stir(q, np.array(t))) if driven else 0
        tau = tau - viscous * qd - coulomb * np.tanh(qd / 0.01)
        return np.concatenate([qd, robot.forward_dynamics(q, qd, tau)])

    torque, q = stir if driven else None, starts(robot, 3)
    found = armlet.rollout(armlet.Plant(robot), q, torque=torque, dt=1e-3, steps=400, every=400)
    for x, end in zip(q, found.q[-1], strict=True):
        start = np.concatenate([x, 0 * x])
        exact = integrate.solve_ivp(derivative, (0, 0.4), start, "LSODA", rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(end, exact.y[: robot.nv, -1], atol=1e-3)


@pytest.mark.parametrize("stribeck", [0.0, 0.5])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_an_arm_that_friction_holds_rests_but_for_the_creep_of_the_smooth_law(panda, dt, stribeck):
    robot, rng = rubbing(panda), np.random.default_rng(3)
    coulomb = np.array([drive.coulomb for drive in robot.drives])
    share = rng.uniform(-0.9, 0.9, (10, robot.nv))

    @armlet.function(robot, load=robot.nv)
    def hold(q, load):
        return robot.gravity_torque(q) + load

    law = Friction(stribeck=stribeck)
    found = armlet.rollout(
        armlet.Plant(robot, law),
        starts(robot, 10),
        torque=hold,
        arguments={"load": share * coulomb},
        dt=dt,
        steps=round(0.5 / dt),
    )
    creep = law.velocity * np.arctanh(np.abs(share))
    last = found.qd[-20:]
    assert np.all(np.abs(last) < 1.001 * creep)
    assert np.ptp(last, axis=0).max() < 1e-6  # nothing jitters


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "adams_bashforth4"])
def test_friction_that_is_too_stiff_for_the_method_is_reported(arm, method):
    robot = rubbing(arm)
    message = rf"of friction at joint '\w+' is \S+ s: steps of 0.001 s by {method} are too long"
    with pytest.warns(DataWarning, match=message):
        armlet.simulate(robot, np.zeros(6), duration=0.002, dt=1e-3, method=method)
    with pytest.warns(DataWarning, match=message):
        armlet.rollout(armlet.Plant(robot), np.zeros((2, 6)), dt=1e-3, steps=2, method=method)


def test_gains_that_are_too_high_for_the_steps_are_reported(arm):
    @armlet.function(arm, gain=())
    def hold(q, qd, gain):
        return arm.gravity_torque(q) - gain * qd

    options = {"torque": hold, "duration": 0.002, "dt": 1e-3}
    for method in ("rk4", "rosenbrock2"):
        with pytest.warns(DataWarning, match=r"of torques at joint 'wrist_3_joint' is"):
            armlet.simulate(arm, np.zeros(6), arguments={"gain": 10}, method=method, **options)
        armlet.simulate(arm, np.zeros(6), arguments={"gain": 0.01}, method=method, **options)


def test_torques_that_are_steep_at_rest_are_reported_of_an_arm_that_moves(arm):
    """Whatever was simulated before."""

    @armlet.function(arm)
    def rub(q, qd):
        return arm.gravity_torque(q) - 2 * np.tanh(qd / 0.01)

    options = {"torque": rub, "dt": 1e-3, "steps": 2}
    for speed in (0.5, 0.0):
        with pytest.warns(DataWarning, match=r"of torques at joint '\w+' is"):
            armlet.rollout(arm, np.zeros((1, 6)), np.full((1, 6), speed), **options)


# Torques as functions of t and q, with the initial velocity of the first joint.
PULSE = lambda q, t: np.where((t > 0.5) & (t < 0.51), 50.0, 0.0) * np.array([1, 0])  # noqa: E731
WALL = lambda q, t: np.where((q[0] > 1) & (q[0] < 1.02), -2000.0, 0.0) * np.array([1, 0])  # noqa: E731


@pytest.mark.parametrize("method", [None, "rk45", "lsoda", "radau"])
@pytest.mark.parametrize(("law", "speed"), [(PULSE, 0.0), (WALL, 1.0)])
def test_adaptive_integrators_do_not_step_over_pulses_and_walls(method, law, speed):
    robot = armlet.load("planar2r").with_gravity([0, 0, 0])
    torque = armlet.function(robot)(law)
    run = armlet.simulate(
        robot, [0, 0], [speed, 0], torque=torque, duration=1.5, dt=1e-3, method=method
    )
    if law is PULSE:
        fine = armlet.simulate(robot, [0, 0], torque=torque, duration=1.5, dt=1e-4, method="rk4")
        np.testing.assert_allclose(run.q[-1], fine.q[-1], atol=0.01)
    else:
        assert run.q[:, 0].max() < 1.02


def test_an_adaptive_integrator_that_does_not_come_on_ends_with_a_reason():
    robot = armlet.load("planar2r").with_gravity([0, 0, 0])
    torque = armlet.function(robot)(lambda q, qd: -5 * np.sign(qd))
    with pytest.warns(DataWarning, match="torques that jump with the state: expected smooth ones"):
        run = armlet.simulate(robot, [0, 0], [0.01, 0], torque=torque, duration=0.1, dt=1e-3)
    assert "20000 steps took it" in run.ended


def test_rows_far_apart_take_as_many_steps_as_they_need():
    robot = armlet.load("planar2r")
    run = armlet.simulate(robot, [0.3, 0], duration=600.0, dt=600.0, method="rk45")
    assert (len(run), run.ended) == (2, "")


def test_the_limit_of_the_steps_follows_the_inertia_of_the_plant(arm):
    robot = rubbing(arm)
    heavy, light = (armlet.Plant(robot, inertia=x * robot.phi.astype(float)) for x in (1e6, 1))
    options = {"q0": np.zeros((2, 6)), "dt": 1e-3, "steps": 2, "method": "rk4"}
    armlet.rollout(heavy, **options)
    with pytest.warns(DataWarning, match="steps of 0.001 s by rk4 are too long"):
        armlet.rollout(light, **options)
    armlet.rollout(heavy, **options)


@pytest.mark.parametrize("gain", [150.0, 200.0])
@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "rosenbrock2"])
def test_gains_of_a_python_function_that_are_too_high_for_the_steps_are_reported(method, gain):
    robot = armlet.load("planar2r").without_drives()

    def end(gain, method):
        def damp(t, q, qd):
            return -gain * qd

        run = armlet.simulate(robot, [0.3, 0.2], torque=damp, duration=0.5, dt=1e-3, method=method)
        return run.q[-1]

    with pytest.warns(DataWarning, match=r"of joint 'joint\d' alternates .* a smaller dt"):
        wrong = end(gain, method)
    assert np.abs(wrong - end(gain, "radau")).max() > 0.1
    for few in (20.0, 100.0):  # without a warning
        assert np.abs(end(few, method) - end(few, "radau")).max() < 2e-3


@pytest.mark.parametrize("law", ["waves", "random", "sampled"])
@pytest.mark.parametrize("steps", [4, 40, 400])
def test_torques_of_a_python_function_may_have_edges_waves_and_noise(steps, law):
    rng = np.random.default_rng(0)
    laws = {
        "waves": lambda t: (t > 0.1) + np.sin(2 * np.pi * t / 0.05),
        "random": lambda t: rng.standard_normal(),
        "sampled": lambda t: np.floor(t / 0.01) % 2,
    }

    def torque(t, q, qd):
        return 0.1 * laws[law](t) - 5 * qd

    dt = 0.4 / steps
    robot = armlet.load("planar2r")
    run = armlet.simulate(
        robot, [0.3, 0.2], torque=torque, duration=0.4, dt=dt, method="rosenbrock2"
    )
    assert len(run) == steps + 1


@pytest.mark.parametrize("method", INTEGRATORS)
def test_steps_within_the_stability_limit_follow_springs_of_any_damping(method):
    slide = one_slide()
    ratio = np.array([0, 0.1, 0.3, 0.55, 0.7, 0.85, 1, 1.2, 2, 5, 100])
    frequency = 1 / np.where(ratio > 1, ratio + np.sqrt(np.maximum(ratio**2 - 1, 0)), 1)
    limit, start = INTEGRATORS[method].stability, np.ones((len(ratio), 1))

    @armlet.function(slide, stiffness=(), damping=())
    def spring(q, qd, stiffness, damping):
        return -stiffness * q - damping * qd

    def ends(dt, k):
        gains = {"stiffness": frequency[k] ** 2, "damping": 2 * (ratio * frequency)[k]}
        options = {"dt": dt, "steps": 2000, "every": 2000, "method": method}
        return armlet.rollout(slide, start[k], torque=spring, arguments=gains, **options)

    every = slice(None)
    assert np.abs(ends(limit, every).q).max() < 2  # the largest eigenvalue is 1 for all of them
    too_long = pytest.warns(DataWarning, match=f"by {method} are too long")
    with too_long, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*roll-outs diverge")
        longer = ends(1.35 * limit, every)
    assert not np.hypot(longer.q[-1], longer.qd[-1]).max() < 1.2  # nan where they diverge


@pytest.mark.parametrize("method", [name for name, x in INTEGRATORS.items() if not x.implicit])
def test_steps_within_the_limit_of_decay_follow_viscous_friction(method):
    plant = armlet.Plant(one_slide().with_drives(viscous=1))
    limit, options = INTEGRATORS[method].decay, {"steps": 2000, "every": 2000, "method": method}

    def end(dt):
        return armlet.rollout(plant, [[0.0]], [[1.0]], dt=dt, **options).qd[-1, 0, 0]

    assert abs(end(limit)) < 1.2
    too_long = pytest.warns(DataWarning, match=f"of friction at joint .* by {method} are too long")
    with too_long, pytest.warns(DataWarning, match="1 of 1 roll-outs diverge"):
        end(1.1 * limit)


def test_gains_of_roll_outs_are_looked_at_again_where_they_change(arm):
    @armlet.function(arm, gain=())
    def hold(q, qd, gain):
        return arm.gravity_torque(q) - gain * qd

    for gains in (0.01, [0.01, 0.01]):  # for all roll-outs, and for each
        for gain, stiff in ((gains, False), (1000 * np.array(gains), True), (gains, False)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                armlet.rollout(
                    arm, np.zeros((2, 6)), torque=hold, dt=1e-3, steps=3, arguments={"gain": gain}
                )
            assert bool(caught) == stiff


def test_the_adaptive_method_is_implicit_where_friction_is_stiff(arm, monkeypatch):
    robot, used = rubbing(arm), []
    for name in ("LSODA", "DOP853"):
        solver = getattr(integrate, name)
        monkeypatch.setattr(
            integrate,
            name,
            lambda *args, solver=solver, **x: used.append(solver) or solver(*args, **x),
        )
    for friction in (True, False):
        armlet.simulate(armlet.Plant(robot, friction), np.zeros(6), duration=0.01)
    assert [solver.__name__ for solver in used] == ["LSODA", "DOP853"]


# ------------------------------------------------------------------ roll-outs


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "adams_bashforth4"])
def test_a_roll_out_is_the_simulation_of_each(arm, method):
    q = starts(arm, 11)
    torque = np.random.default_rng(3).normal(size=(50, 11, arm.nv))
    found = armlet.rollout(arm, q, torque=torque, dt=1e-3, steps=50, method=method)
    for k in (0, 10):
        run = armlet.simulate(arm, q[k], torque=torque[:, k], duration=0.05, dt=1e-3, method=method)
        same_bits(found.q[:, k], run.q[1:])
        same_bits(found.qd[:, k], run.qd[1:])
    np.testing.assert_allclose(found.t, run.t[1:], rtol=1e-15)


def test_bits_depend_neither_on_threads_nor_on_the_others(arm):
    q = starts(arm, 37)
    options = {"torque": own_torque(arm), "arguments": {"target": np.zeros(arm.nv)}}
    whole = armlet.rollout(arm, q, dt=1e-3, steps=30, **options)
    threads = armlet.rollout(arm, q, dt=1e-3, steps=30, threads=2, **options)
    part = armlet.rollout(arm, q[5:9], dt=1e-3, steps=30, **options)
    same_bits(whole.q, threads.q)
    same_bits(whole.qd[:, 5:9], part.qd)


@pytest.mark.parametrize("every", [1, 3, 10, 100])
@pytest.mark.parametrize("method", ["semi_implicit_euler", "adams_bashforth4"])
def test_rows_are_kept_every_few_steps(arm, every, method):
    q = starts(arm, 2)
    whole = armlet.rollout(arm, q, dt=1e-3, steps=25, method=method)
    some = armlet.rollout(arm, q, dt=1e-3, steps=25, method=method, every=every)
    rows = [*range(every - 1, 24, every), 24]
    same_bits(some.q, whole.q[rows])
    np.testing.assert_allclose(some.t, whole.t[rows], rtol=1e-15)


def test_every_roll_out_may_have_inertias_of_its_own(arm):
    heavy = arm.with_payload(3.0, com=(0, 0, 0.1))
    q = starts(arm, 1).repeat(9, axis=0)
    inertia = np.tile(arm.phi, (9, 1, 1))
    inertia[4] = heavy.phi
    found = armlet.rollout(armlet.Plant(arm, inertia=inertia), q, dt=1e-3, steps=100, every=100)
    light = armlet.rollout(arm, q, dt=1e-3, steps=100, every=100)
    alone = armlet.rollout(heavy, q, dt=1e-3, steps=100, every=100)
    np.testing.assert_allclose(found.q[0, 3], light.q[0, 3], atol=1e-12)
    np.testing.assert_allclose(found.q[0, 4], alone.q[0, 4], atol=1e-12)
    assert np.abs(found.q[0, 4] - light.q[0, 4]).max() > 1e-6


def test_a_cost_is_the_sum_over_all_steps(arm):
    @armlet.function(arm, goal=arm.nq)
    def cost(q, qd, t, goal):
        return ((q - goal) ** 2).sum() + 0.1 * (qd**2).sum() + t

    q, goal = starts(arm, 10), starts(arm, 10, seed=5)
    found = armlet.rollout(arm, q, dt=1e-3, steps=40, reduce=cost, arguments={"goal": goal})
    rows = armlet.rollout(arm, q, dt=1e-3, steps=40)
    q = np.concatenate([q[None], rows.q[:-1]])
    qd = np.concatenate([0 * q[:1], rows.qd[:-1]])
    expected = ((q - goal) ** 2).sum((0, 2)) + 0.1 * (qd**2).sum((0, 2)) + 1e-3 * sum(range(40))
    np.testing.assert_allclose(found.cost, expected, rtol=1e-12)
    assert found.q.shape == (1, 10, arm.nv)


@pytest.mark.parametrize(
    ("name", "steps"), cases([("planar2r", 10_000)], long=[("panda", 1_000_000)])
)
def test_memory_does_not_grow_with_the_number_of_steps(name, steps):
    arm = armlet.load(name).without_drives()

    @armlet.function(arm)
    def work(q, qd):
        return (qd**2).sum()

    def taken(steps):
        tracemalloc.start()
        found = armlet.rollout(arm, starts(arm, 1000), dt=1e-5, steps=steps, reduce=work, threads=2)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert np.isfinite(found.cost).all()
        return peak

    taken(10)
    assert taken(steps) < taken(100) + 100_000


WRONG = {
    "starts": ({"q0": np.zeros(6)}, r"q0 has shape \(6,\): expected shape \(N, 6\)"),
    "velocities": ({"qd0": np.zeros((3, 6))}, "q0 has 2 rows and qd0 3: expected the same"),
    "time": ({"dt": 0.0}, "dt is 0.0: expected a length of time"),
    "steps": ({"steps": 0}, "steps is 0: expected a whole number, 1 or more"),
    "rows": ({"every": 1.5}, "every is 1.5: expected a whole number, 1 or more"),
    "torque": ({"torque": np.zeros((4, 6))}, r"torque has shape \(4, 6\): expected one of"),
    "arguments": ({"arguments": {"x": 1.0}}, "no function has an argument 'x'"),
    "no thread": ({"threads": 0}, "threads is 0: expected a whole number, 1 or more"),
    "less than none": ({"threads": -1}, "threads is -1: expected a whole number, 1 or more"),
    "half a thread": ({"threads": 1.5}, r"threads is 1\.5: expected a whole number, 1 or more"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_a_roll_out_that_makes_no_sense_is_refused(arm, options, message):
    options = {"q0": np.zeros((2, 6)), "dt": 1e-3, "steps": 10, **options}
    with pytest.raises(DataError, match=message):
        armlet.rollout(arm, **options)


def test_a_plant_that_makes_no_sense_is_refused(arm):
    for options, message in (
        ({"friction": 3}, "friction is 3: expected a bool or Friction"),
        ({"stops": None}, "stops is None: expected a bool or Stops"),
    ):
        with pytest.raises(DataError, match=message):
            armlet.Plant(arm, **options)
    plant = armlet.Plant(arm, inertia=np.zeros((6, 9)))
    with pytest.raises(DataError, match=r"inertia has shape \(6, 9\): expected one of"):
        armlet.rollout(plant, np.zeros((2, 6)), dt=1e-3, steps=10)


def test_a_simulation_has_the_inertia_of_its_plant(arm):
    q, phi = starts(arm, 1)[0], 1.5 * arm.phi
    options = {"duration": 0.05, "dt": 1e-3, "method": "rk4"}
    run = armlet.simulate(armlet.Plant(arm, inertia=phi), q, **options)
    alone = armlet.simulate(arm.with_inertia(phi), q, **options)
    same_bits(run.q, alone.q)
    same_bits(run.energy, alone.energy)


def test_functions_that_make_no_sense_are_refused(arm):
    @armlet.function(arm)
    def number(q):
        return q @ q

    @armlet.function(arm)
    def wide(q):
        return np.concatenate([q, q])

    for options, message in (
        ({"torque": lambda t, q, qd: q}, "torque is <function .*: expected a function under"),
        ({"torque": wide}, r"returns shapes \[\(12,\)\]: expected one array of shape \(6,\)"),
        ({"torque": number}, r"returns shapes \[\(\)\]: expected one array of shape \(6,\)"),
        ({"reduce": wide}, r"returns shapes \[\(12,\)\]: expected one number"),
        ({"reduce": lambda q: q}, "reduce is <function .*: expected a function under"),
        ({"arguments": "gain"}, "arguments is 'gain': expected a dictionary"),
    ):
        with pytest.raises(DataError, match=message):
            armlet.rollout(arm, np.zeros((2, 6)), dt=1e-3, steps=3, **options)


def test_derivatives_of_no_threads_are_refused(arm):
    @armlet.function(arm)
    def cost(q):
        return q @ q

    options = {"dt": 1e-3, "steps": 3, "threads": -1}
    with pytest.raises(DataError, match="threads is -1"):
        armlet.rollout(arm, np.zeros((2, 6)), reduce=cost, wrt=["q0"], **options)
    with pytest.raises(DataError, match="threads is -1"):
        armlet.rollout(arm, np.zeros((2, 6)), wrt={"q0": np.ones((2, 6))}, **options)


def test_stribeck_friction_acts_where_the_drives_have_none():
    robot = armlet.load("planar2r").without_drives()
    tiny = robot.with_drives(viscous=(1e-12, 1e-12))
    for stribeck in (2.0, (2.0, 0.0), [0.0, 1.0]):
        model = Friction(stribeck=stribeck, stribeck_velocity=10.0)
        alone, beside, free = (
            armlet.simulate(armlet.Plant(arm, law), [0, 0], duration=0.3, dt=1e-4, method="rk4")
            for arm, law in ((robot, model), (tiny, model), (robot, False))
        )
        assert np.abs(alone.q - beside.q).max() < 1e-9
        assert np.abs(alone.q - free.q).max() > 1e-3


@pytest.mark.parametrize(
    "options",
    [
        {"velocity": 0.0},
        {"velocity": np.nan},
        {"velocity": "fast"},
        {"stribeck": -1.0},
        {"stribeck": [[1.0]]},
        {"stribeck": np.inf},
        {"stribeck_velocity": 0},
    ],
)
def test_friction_that_makes_no_sense_is_refused(options):
    with pytest.raises(
        DataError, match=f"the friction's {next(iter(options))} (is|has) .*: expected"
    ):
        Friction(**options)


@pytest.mark.parametrize(
    "options", [{"depth": 0.0}, {"stiffness": np.nan}, {"damping": -1.0}, {"damping": "much"}]
)
def test_stops_that_make_no_sense_are_refused(options):
    with pytest.raises(DataError, match=f"the stops' {next(iter(options))} is .*: expected"):
        Stops(**options)


def test_stribeck_friction_of_another_number_of_joints_is_refused(arm):
    with pytest.raises(DataError, match="expected one number or 6, one for each joint"):
        armlet.simulate(armlet.Plant(arm, Friction(stribeck=(1.0, 2.0))), np.zeros(6), duration=0.1)


def test_arguments_that_are_missing_or_unclear_are_named(arm):
    with pytest.raises(DataError, match="argument 'target' without a value"):
        armlet.rollout(arm, np.zeros((2, 6)), torque=own_torque(arm), dt=1e-3, steps=3)
    for count, steps in ((3, 3), (6, 6)):
        given = {"target": np.zeros((count, 6))}
        with pytest.raises(DataError, match="there are as many roll-outs as steps"):
            armlet.rollout(
                arm,
                np.zeros((count, 6)),
                torque=own_torque(arm),
                dt=1e-3,
                steps=steps,
                arguments=given,
            )
    with pytest.raises(armlet.ArmletError, match="method is 'rk5': expected one of"):
        armlet.rollout(arm, np.zeros((2, 6)), dt=1e-3, steps=3, method="rk5")
    with pytest.raises(armlet.ArmletError, match=r"method is \['rk4'\]: expected one of"):
        armlet.rollout(arm, np.zeros((2, 6)), dt=1e-3, steps=3, method=["rk4"])


def test_roll_outs_that_diverge_are_marked_and_counted():
    robot = armlet.load("planar2r")

    @armlet.function(robot, gain=())
    def push(q, qd, gain):
        return gain * qd**3

    @armlet.function(robot)
    def cost(q):
        return q @ q

    gains = np.array([0.0, 1e9, 0.0, -1e9, 0.0])
    options = {"torque": push, "arguments": {"gain": gains}, "dt": 0.01, "steps": 100}
    start = np.full((5, 2), 0.1)
    for more in ({}, {"reduce": cost}, {"reduce": cost, "wrt": ["gain"]}, {"every": 7}):
        with pytest.warns(DataWarning, match="2 of 5 roll-outs diverge, .* number 1: `finite"):
            runs = armlet.rollout(robot, start, np.ones((5, 2)), **options, **more)
        assert runs.finite.tolist() == [True, False, True, False, True]
        assert np.isfinite(runs.q[:, runs.finite]).all()
    start[1] = np.nan
    options["arguments"] = {"gain": 0 * gains}
    model = Friction(stribeck=1.0)
    for order in (slice(None), slice(None, None, -1), [1, 0, 2, 3, 4]):
        with pytest.warns(DataWarning, match="1 of 5 roll-outs diverge"):
            runs = armlet.rollout(armlet.Plant(robot, model), start[order], **options)
        assert runs.finite.tolist() == np.isfinite(start[order]).all(1).tolist()
    start[1] = 0.1
    assert armlet.rollout(robot, start, np.ones((5, 2)), **options).finite.all()


def test_roll_outs_that_are_absurdly_fast_diverge():
    with pytest.warns(DataWarning, match="1 of 2 roll-outs diverge, the first of them number 1"):
        runs = armlet.rollout(one_slide(), np.zeros((2, 1)), [[1.0], [1e9]], dt=0.01, steps=10)
    assert runs.finite.tolist() == [True, False]


def test_a_gradient_that_is_not_finite_is_reported():
    robot = armlet.load("planar2r")

    @armlet.function(robot)
    def distance(q):
        return np.sqrt(q @ q)

    with pytest.warns(DataWarning, match="the gradient by 'q0' is not finite"):
        armlet.rollout(robot, [[0, 0]], dt=0.1, steps=1, reduce=distance, wrt=["q0"])


HOSTILE = (
    *("inertia", "tau", "dt", "memory", "row", "u", "cost", "torque", "qdd", "given", "graph"),
    *("direction_q", "weight_q", "tangent_q", "cotangent_q", "sum_dt", "steps", "h", "x", "self"),
    *("arguments", "kept"),
)


def weak_pull(robot, names):
    """A torque function, and a cost, of arguments of these names."""
    listed, total = ", ".join(names), " + ".join(f"{k + 1} * {x}" for k, x in enumerate(names))
    text = f"def law(q, qd, {listed}): return -0.1 * q - 0.01 * qd + 1e-4 * ({total})\n"
    text += f"def price(q, t, {listed}): return (q**2).sum() + (1e-2 + t) * ({total}) ** 2"
    functions = {}
    exec(text, functions)
    shapes = dict.fromkeys(names, ())
    return (armlet.function(robot, **shapes)(functions[x]) for x in ("law", "price"))


@pytest.fixture(scope="module")
def named():
    """A robot, functions of hostile names and the same of other names, and their values."""
    robot, plain = armlet.load("planar2r"), [f"a{k}" for k in range(len(HOSTILE))]
    values = np.random.default_rng(0).uniform(-1, 1, len(HOSTILE))
    return robot, [
        (*weak_pull(robot, names), dict(zip(names, values, strict=True)))
        for names in (HOSTILE, plain)
    ]


@pytest.mark.parametrize(
    "method", ["dop853", "radau", "semi_implicit_euler", "rk4", "adams_bashforth4"]
)
def test_arguments_may_have_any_name_in_a_simulation(named, method):
    robot, both = named
    found = [
        armlet.simulate(
            robot,
            [0.1, 0.2],
            torque=law,
            arguments=values,
            duration=0.1,
            dt=0.01,
            method=method,
            events=[armlet.Event(price, ends=False)],
        )
        for law, price, values in both
    ]
    same_bits(found[0].q, found[1].q)
    same_bits(found[0].tau, found[1].tau)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "adams_bashforth4"])
def test_arguments_may_have_any_name_in_a_roll_out(named, method):
    robot, both = named
    options = {"dt": 0.01, "steps": 10, "method": method}
    plant = armlet.Plant(robot, inertia=2 * robot.phi)
    found = [
        armlet.rollout(plant, [[0.1, 0.2]], torque=law, reduce=price, arguments=values, **options)
        for law, price, values in both
    ]
    same_bits(found[0].q, found[1].q)
    same_bits(found[0].cost, found[1].cost)


def test_derivatives_may_be_by_arguments_of_any_name(named):
    robot, both = named
    options = {"dt": 0.01, "steps": 10, "method": "rk4"}
    gradients, derivatives = [], []
    for law, price, values in both:
        options |= {"torque": law, "reduce": price, "arguments": values}
        names = [*values]
        found = armlet.rollout(robot, [[0.1, 0.2]], wrt=names, **options)
        gradients.append([found.gradient[name] for name in names])
        tangents = {name: 1.0 + k for k, name in enumerate(names)}
        derivatives.append(
            armlet.rollout(robot, [[0.1, 0.2]], wrt=tangents, **options).tangents.cost
        )
    same_bits(np.array(gradients[0]), np.array(gradients[1]))
    same_bits(derivatives[0], derivatives[1])
    forward = np.array(gradients[0]).ravel() @ np.arange(1, len(names) + 1)
    np.testing.assert_allclose(derivatives[0], forward, rtol=1e-9)


def test_a_name_that_may_mean_two_things_in_a_derivative_is_refused():
    robot = armlet.load("planar2r")

    @armlet.function(robot, q0=2, inertia=())
    def law(q, q0, inertia):
        return inertia * (q0 - q)

    @armlet.function(robot)
    def cost(q):
        return q @ q

    options = {
        "torque": law,
        "reduce": cost,
        "dt": 0.01,
        "steps": 3,
        "arguments": {"q0": [0.1, 0.1], "inertia": 1.0},
    }
    armlet.rollout(robot, [[0, 0]], wrt=["qd0", "inertia"], **options)
    for name, plant in (("q0", robot), ("inertia", armlet.Plant(robot, inertia=robot.phi))):
        with pytest.raises(DataError, match=f"has '{name}', which is also an argument"):
            armlet.rollout(plant, [[0, 0]], wrt=[name], **options)


def test_a_cost_may_be_of_the_torques_that_are_held(arm):
    @armlet.function(arm)
    def effort(tau):
        return tau @ tau

    torque = np.random.default_rng(0).normal(size=(4, 2, 6))
    found = armlet.rollout(arm, np.zeros((2, 6)), torque=torque, reduce=effort, dt=1e-4, steps=4)
    np.testing.assert_allclose(found.cost, (torque**2).sum((0, 2)), rtol=1e-12)


@pytest.mark.parametrize("method", INTEGRATORS)
def test_torques_that_do_not_change_are_given_once(arm, method):
    tau, q = np.arange(6.0) * 1e-2, starts(arm, 3)
    options = {"dt": 1e-3, "method": method}
    once, held = (
        armlet.rollout(arm, q, torque=x, steps=7, **options) for x in (tau, np.tile(tau, (7, 3, 1)))
    )
    np.testing.assert_allclose(once.q, held.q, rtol=0, atol=1e-12)
    each = armlet.rollout(arm, q, torque=np.outer([0, 1, 2], tau), steps=7, **options)
    np.testing.assert_allclose(each.q[:, 1], once.q[:, 1], rtol=0, atol=1e-12)
    run = armlet.simulate(arm, q[0], torque=tau, duration=7e-3, **options)
    np.testing.assert_allclose(run.q[1:], once.q[:, 0], rtol=0, atol=1e-12)
    assert (run.tau == tau).all()


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_a_method_of_several_steps_may_do_few(arm, steps):
    def cost(q, qd):
        return q @ q + qd @ qd

    price = armlet.function(arm)(cost)
    q, options = starts(arm, 2), {"dt": 1e-3, "steps": steps}
    few, rk4 = (
        armlet.rollout(arm, q, method=method, **options) for method in ("adams_bashforth4", "rk4")
    )
    np.testing.assert_allclose(few.q, rk4.q, rtol=0, atol=1e-7)
    few, rk4 = (
        armlet.rollout(arm, q, method=method, reduce=price, **options)
        for method in ("adams_bashforth4", "rk4")
    )
    np.testing.assert_allclose(few.cost, rk4.cost, rtol=0, atol=1e-7)
    run = armlet.simulate(arm, q[0], duration=steps * 1e-3, dt=1e-3, method="adams_bashforth4")
    assert len(run) == steps + 1


# ------------------------------------------------------------------ one trajectory


def test_a_program_and_a_python_function_give_the_same_trajectory(arm):
    q, target = starts(arm, 1)[0], np.zeros(arm.nv)
    pull = own_torque(arm)
    options = {"duration": 0.2, "dt": 1e-2, "method": armlet.Adaptive(rtol=1e-10, atol=1e-12)}
    compiled = armlet.simulate(arm, q, torque=pull, arguments={"target": target}, **options)

    def called(t, q, qd):
        return pull(q, qd, np.array(t), target)

    slow = armlet.simulate(arm, q, torque=called, **options)
    assert np.abs(slow.q - compiled.q).max() < 1e-9
    assert np.abs(slow.tau - compiled.tau).max() < 1e-9
    assert "Python function" in slow.notes[0]
    assert compiled.notes == ()
    steps = armlet.simulate(arm, q, torque=called, duration=0.02, dt=1e-3, method="rk4")
    assert np.abs(steps.q[-1] - compiled.at([0.02]).q[0]).max() < 1e-3


def test_stops_hold_the_joints(panda):
    q = starts(panda, 1)[0]
    free = armlet.simulate(panda, q, duration=1.0)
    held = armlet.simulate(armlet.Plant(panda, stops=True), q, duration=1.0)
    upper = np.array([joint.limits.upper for joint in panda.joints])
    lower = np.array([joint.limits.lower for joint in panda.joints])
    assert np.any((free.q > upper) | (free.q < lower))
    assert np.all((held.q < upper + 0.2) & (held.q > lower - 0.2))
    with pytest.raises(MotionError, match=r"joint 'joint\d' is at .* beyond its limits") as caught:
        armlet.simulate(panda, q, duration=1.0, limits="error")
    kept = caught.value.trajectory
    assert 0 < len(kept) < len(free)
    assert np.all((kept.q <= upper) & (kept.q >= lower))
    assert Stops(stiffness=1.0) != Stops()


WITHIN = np.array([0, 0, 0, -0.5, 0, 0.5, 0])
"""A posture of the Panda within its limits."""


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "adams_bashforth4"])
def test_a_stop_that_is_too_stiff_for_the_steps_is_named_with_a_step_that_works(panda, method):
    options, plant = {"method": method, "duration": 1.0}, armlet.Plant(panda, stops=True)
    with warnings.catch_warnings(record=True) as caught:  # the motion diverges, too
        warnings.simplefilter("always")
        armlet.simulate(plant, WITHIN, dt=0.01, **options)
    message = re.search(
        rf"of stops at joint '\w+' is \S+ s: steps of 0.01 s by {method} are too long, the "
        r"motion is wrong; choose dt=(\S+), or method='rosenbrock2'",
        str(caught[0].message),
    )
    assert message
    whole = armlet.simulate(plant, WITHIN, dt=float(message[1]), **options)
    close = armlet.simulate(plant, WITHIN, duration=1.0)
    assert whole.ended == ""
    np.testing.assert_allclose(whole.q[-1], close.q[-1], atol=0.05)


def test_a_start_beyond_a_stop_is_named(panda):
    plant = armlet.Plant(panda, friction=False, stops=True)
    with pytest.warns(DataWarning, match="'joint4' starts at 0.5, beyond its limits") as warned:
        armlet.simulate(plant, [0, 0, 0, 0.5, 0, 1, 0], duration=0.1, dt=1e-3)
    assert len(warned) == 1


def test_a_stop_is_not_blamed_where_the_steps_are_short_enough(panda):
    @armlet.function(panda)
    def unstable(q, qd):
        return panda.gravity_torque(q) + 300 * qd + 1

    options = {"method": "rk4", "dt": 2e-6, "duration": 0.1}
    with pytest.warns(DataWarning, match="the motion diverges"):
        run = armlet.simulate(armlet.Plant(panda, stops=True), WITHIN, torque=unstable, **options)
    assert "diverges" in run.ended
    assert "stop" not in run.ended


def test_a_trajectory_keeps_its_start_however_fast_that_is(arm):
    qd = np.full(6, 1e6)
    with pytest.warns(DataWarning, match="1 of 11 rows"):
        run = armlet.simulate(arm, np.zeros(6), qd, method="rk4", dt=1e-3, duration=0.01)
    assert (run.qd == qd).all()
    assert len(run) == 1


def test_what_is_not_finite_ends_the_run_and_is_named(arm):
    def breaks(t, q, qd):
        tau = np.zeros(6)
        tau[2] = np.nan if t > 0.05 else 0.0
        return tau

    rows = np.zeros((100, 6))
    rows[51:, 2] = np.nan
    for method in ("dop853", "rk4"):
        for torque in (breaks, rows) if method == "rk4" else (breaks,):
            options = {"torque": torque, "duration": 0.1, "dt": 1e-3, "method": method}
            with pytest.warns(DataWarning, match="torque of joint 'elbow_joint' is not finite at"):
                run = armlet.simulate(arm, np.zeros(6), **options)
            assert "the torque of joint 'elbow_joint' is not finite at 0.05" in run.ended
            assert 40 < len(run) <= 52
            assert all(np.isfinite(x).all() for x in (run.q, run.qd, run.qdd, run.tau, run.energy))


def test_a_simulation_that_diverges_ends():
    arm = armlet.load("planar2r")

    @armlet.function(arm)
    def wrong(q, qd):
        return 100 * q + 20 * qd

    with pytest.warns(DataWarning, match=r"the motion diverges: joint 'joint.* of 1,501 rows"):
        run = armlet.simulate(arm, [0.1, 0.0], torque=wrong, duration=15.0, dt=0.01)
    assert run.ended.startswith("the motion diverges: joint 'joint")
    assert 0 < run.t[-1] < 5
    assert np.isfinite(run.q).all()


def test_steps_that_are_too_long_are_reported(arm):
    with pytest.warns(DataWarning, match=r"diverges.*; a smaller dt or another method may help"):
        armlet.simulate(arm, starts(arm, 1)[0], duration=20.0, dt=0.2, method="rk4")
    robot, hanging = armlet.load("planar2r").without_drives(), np.array([-np.pi / 2, 0.0])
    A, _ = robot.state_space(hanging, np.zeros(2), np.zeros(2))
    dt = 3.2 / np.abs(np.linalg.eigvals(A)).max()  # rk4 is stable for 2.8
    with pytest.warns(DataWarning, match="a motion without torques gains"):
        armlet.simulate(robot, hanging + 1e-3, duration=5 * dt, dt=dt, method="rk4")


@pytest.mark.parametrize("method", ["dop853", "rk4", "semi_implicit_euler"])
def test_functions_may_write_to_their_arrays_and_return_one_array_again_and_again(arm, method):
    buffer, options = np.zeros(6), {"duration": 0.02, "dt": 1e-3, "method": method}

    def clean(t, q, qd):
        return -0.1 * q - 0.01 * qd + 0.01 * np.sin(100 * t)

    def dirty(t, q, qd):
        buffer[:] = clean(t, q, qd)
        q *= np.nan
        qd[:] = 7
        return buffer

    def event(t, q, qd):
        q[:], qd[:] = 9, 9
        return t - 0.0105

    first, second = (
        armlet.simulate(arm, starts(arm, 1)[0], torque=torque, events=events, **options)
        for torque, events in ((clean, ()), (dirty, [armlet.Event(event, ends=False)]))
    )
    for name in ("q", "qd", "qdd", "tau"):
        same_bits(getattr(first, name), getattr(second, name))
    assert len(second.events) == 1


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4", "semi_implicit_euler"])
def test_torques_that_are_not_finite_at_the_start_are_refused(arm, method):
    @armlet.function(arm)
    def root(q):
        return np.sqrt(q - 10)

    rows = np.full((10, 6), np.nan)
    for torque in (root, rows, rows[0], lambda t, q, qd: rows[0]):
        with pytest.raises(DataError, match="'shoulder_pan_joint' is not finite at 0 s: expected"):
            armlet.simulate(arm, np.zeros(6), torque=torque, duration=0.1, dt=0.01, method=method)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_the_duration_is_a_whole_number_of_steps(method):
    robot = armlet.load("planar2r")

    def ends(duration, dt, method=method):
        return armlet.simulate(robot, [-1.5, 0], duration=duration, dt=dt, method=method).t[-1]

    for duration, dt in ((1.0, 0.6), (1.0, 0.3), (0.1, 0.2), (1.0, 1e-320)):
        with pytest.raises(DataError, match=f"{duration:g} s.*: expected a") as caught:
            ends(duration, dt)
        if message := re.search(r"duration=(\S+) or dt=(\S+)", str(caught.value)):
            assert ends(float(message[1]), dt, "dop853") == pytest.approx(float(message[1]))
            assert ends(duration, float(message[2]), "dop853") == pytest.approx(duration)
    for duration, dt in ((0.1 + 0.2, 0.1), (0.1, 1 / 30), (0.7, 0.1), (0.35, 0.007)):
        assert ends(duration, dt) == pytest.approx(duration, rel=1e-12)


def test_arguments_with_a_value_for_every_step_reach_events_and_records(arm):
    @armlet.function(arm, level=())
    def above(t, level):
        return t - level

    @armlet.function(arm, level=())
    def twice(t, level):
        return 2 * level

    level = np.where(np.arange(20) < 10, 1.0, 0.0)
    for every in (1, 3):
        run = armlet.simulate(
            arm,
            np.zeros(6),
            duration=0.02,
            dt=1e-3,
            arguments={"level": level},
            record=[twice],
            events=[armlet.Event(above, ends=False)],
            every=every,
        )
        assert len(run.events) == 1
        expected = 2 * level[np.minimum(np.rint(run.t / 1e-3).astype(int), 19)]
        assert run.recorded["twice"].tolist() == expected.tolist()
    with pytest.raises(DataError, match=r"level has shape \(7,\): expected one of \(\), \(20,\)"):
        armlet.simulate(
            arm, np.zeros(6), duration=0.02, dt=1e-3, arguments={"level": level[:7]}, record=[twice]
        )


def test_a_name_is_recorded_once(arm):
    def function(name):
        def f(q):
            return q

        f.__name__ = name
        return armlet.function(arm)(f)

    for record in (["bias", "bias"], [function("tau")], [function("x"), function("x")]):
        with pytest.raises(DataError, match="is recorded twice: expected functions with other"):
            armlet.simulate(arm, np.zeros(6), duration=0.1, record=record)
    with pytest.raises(armlet.ArmletError, match=r"quantity is \['bias'\]"):
        armlet.simulate(arm, np.zeros(6), duration=0.1, record=[["bias"]])


def test_a_simulation_needs_a_start(arm):
    with pytest.raises(DataError, match="q0 is None: expected"):
        armlet.simulate(arm, None, duration=0.1)


def test_ctrl_c_returns_what_came_so_far(arm):
    def interrupted(t, q, qd):
        if t > 0.03:
            raise KeyboardInterrupt
        return np.zeros(6)

    run = armlet.simulate(arm, np.zeros(6), torque=interrupted, duration=1.0, dt=1e-3, method="rk4")
    assert run.ended.startswith("interrupted at 0.03")
    assert 30 <= len(run) <= 32


def test_ctrl_c_within_a_loop_of_machine_code_returns_what_came_so_far(arm):
    """A long run is interrupted by a timer, and begins as an uninterrupted one does."""
    options = {"dt": 1e-3, "method": "rk4", "every": 100}
    short = armlet.simulate(arm, starts(arm, 1)[0], duration=2.0, **options)

    def press(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        run = armlet.simulate(arm, starts(arm, 1)[0], duration=1e5, **options)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert run.ended.startswith("interrupted at ")
    assert 20 < len(run) < 1e6
    same_bits(run.q[:21], short.q)


def test_rows_of_one_trajectory_are_kept_every_few_steps(arm):
    for method in ("dop853", "rk4"):
        options = {"duration": 0.1, "dt": 1e-3, "method": method}
        whole = armlet.simulate(arm, starts(arm, 1)[0], **options)
        some = armlet.simulate(arm, starts(arm, 1)[0], every=30, **options)
        assert some.t == pytest.approx([0, 0.03, 0.06, 0.09, 0.1])
        same_bits(some.q, whole.q[[0, 30, 60, 90, 100]])


def test_other_quantities_are_recorded(arm, tmp_path):
    @armlet.function(arm, goal=3)
    def distance(q, qdd, goal):
        return ((arm.forward_kinematics(q)[:3, 3] - goal) ** 2).sum() + 0 * qdd[0]

    goal = np.array([0.1, 0.2, 0.3])
    run = armlet.simulate(
        arm,
        starts(arm, 1)[0],
        duration=0.1,
        dt=1e-2,
        record=["forward_kinematics", distance],
        arguments={"goal": goal},
    )
    same_bits(run.recorded["forward_kinematics"], arm.forward_kinematics(run.q))
    expected = ((arm.forward_kinematics(run.q)[:, :3, 3] - goal) ** 2).sum(1)
    np.testing.assert_allclose(run.recorded["distance"], expected, rtol=1e-12)
    assert run[2:5].recorded["forward_kinematics"].shape == (3, 4, 4)
    for ending in ("npz", "csv"):
        getattr(run, f"to_{ending}")(tmp_path / f"run.{ending}")
        again = Trajectory.read(tmp_path / f"run.{ending}")
        for name, rows in run.recorded.items():
            same_bits(again.recorded[name], rows)
    with pytest.raises(armlet.ArmletError, match="quantity is 'pose'"):
        armlet.simulate(arm, np.zeros(6), duration=0.1, record=["pose"])
    with pytest.raises(DataError, match="argument 'goal' without a value"):
        armlet.simulate(arm, np.zeros(6), duration=0.1, record=[distance])


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_every_result_is_recorded_with_a_row_per_time(arm, tmp_path, ending):
    @armlet.function(arm)
    def pair(q, t):
        return q * t, t

    @armlet.function(arm)
    def mapping(q):
        return {"first": q[0], "all": q}

    @armlet.function()
    def constant():
        return np.array([1.0, 2.0])

    several = ["energy", "linearization", "forward_linearization", "state_space", "cartesian_model"]
    record = [*several, pair, mapping, constant]
    options = {"duration": 0.03, "dt": 1e-3, "every": 10}
    run = armlet.simulate(arm, starts(arm, 1)[0], record=record, **options)
    expected = {}
    for name in several:
        quantity = armlet.QUANTITIES[name]
        results = getattr(arm, name)(*(getattr(run, x) for x in quantity.arguments))
        expected |= {f"{name}.{x}": y for x, y in zip(quantity.results, results, strict=True)}
    expected |= {"pair.0": run.q * run.t[:, None], "pair.1": run.t}
    expected |= {"mapping.first": run.q[:, 0], "mapping.all": run.q}
    expected["constant"] = np.tile([1.0, 2.0], (4, 1))
    for found in (run, Trajectory.read(written(run, tmp_path, ending))):
        assert found.recorded.keys() == expected.keys()
        for name, rows in expected.items():
            same_bits(found.recorded[name], rows)
    assert run[:3].recorded["constant"].shape == (3, 2)


def test_a_simulation_that_makes_no_sense_is_refused(arm):
    for options, message in (
        ({"duration": 1.0, "dt": 2.0}, r"1 s, 0.5 times dt of 2 s: .* dt=1"),
        ({"duration": 1.0, "dt": -1.0}, "dt is -1.0: expected a length of time"),
        ({"duration": 1.0, "arguments": {"x": 1.0}}, "no function has an argument 'x'"),
        ({"duration": -1.0}, "duration is -1.0: expected a time in s"),
        ({"duration": 1.0, "method": "euler"}, "method is 'euler': expected one of dop853"),
        ({"duration": 1.0, "limits": "bounce"}, "limits is 'bounce': expected one of ignore"),
        ({"duration": 1.0, "qd0": np.zeros(5)}, r"qd0 has shape \(5,\): expected 6 numbers"),
        ({"duration": 1.0, "torque": np.zeros((5, 6))}, r"torque has shape \(5, 6\): expected"),
        ({"duration": 1.0, "torque": lambda t, q, qd: [0.0]}, r"returns shape \(1,\): expected"),
    ):
        with pytest.raises(DataError, match=message):
            armlet.simulate(arm, np.zeros(6), **options)


def test_a_robot_or_a_shape_of_another_type_is_refused(arm):
    for call in (
        lambda: armlet.simulate("panda", np.zeros(7), duration=0.1),
        lambda: armlet.Plant("panda"),
    ):
        with pytest.raises(DataError, match=r"robot is 'panda': expected a robot, as of armlet"):
            call()

    def user(q, x):
        return q * x

    for value in (3, user):
        with pytest.raises(DataError, match=r"robot is .*: expected @armlet\.function\(robot\)"):
            armlet.function(value)
    for shape in (2.0, None, -1, "ab", (2, "a"), (3, -1)):
        with pytest.raises(DataError, match=r"the shape of argument 'x' is .*: expected a length"):
            armlet.function(arm, x=shape)(user)
    assert armlet.function(arm, x=np.int64(6))(user).inputs["x"].shape == (6,)


# ------------------------------------------------------------------ trajectories


@pytest.fixture(scope="module")
def run(arm):
    return armlet.simulate(
        arm, starts(arm, 1)[0], duration=0.5, dt=1e-2, method=armlet.Adaptive(rtol=1e-10)
    )


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_a_trajectory_comes_back_from_a_file(run, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / f"run.{ending}"
    getattr(run, f"to_{ending}")(path)
    found = Trajectory.read(path)
    assert found.joints == run.joints
    for name in ("t", "q", "qd", "qdd", "tau", "kinetic", "potential"):
        same_bits(getattr(found, name), getattr(run, name))


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_brackets_in_joint_names_are_no_indices(tmp_path, ending):
    one = np.arange(3.0)
    for joints in (("arm[left]", "arm[right]"), ("j[0]", "j[1]")):
        two = np.stack([one, -one], 1)
        run = Trajectory(one, two, two, two, two, one, one, joints, recorded={"x": two})
        found = Trajectory.read(written(run, tmp_path, ending))
        assert found.joints == joints
        assert list(found.recorded) == ["x"]
        same_bits(found.q, run.q)


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_accelerations_before_jumps_of_held_torques_come_back_from_a_file(tmp_path, ending):
    robot = armlet.load("planar2r")
    torque = np.array([[0, 0], [30, 0], [-60, 0], [0, 0]]).repeat(5, 0)
    run = armlet.simulate(robot, [0.1, 0.2], torque=torque, duration=0.4, dt=0.02, method="rk4")
    jumps = np.flatnonzero((run.qdd_before != run.qdd).any(1))
    assert jumps.tolist() == [5, 10, 15]
    before = robot.forward_dynamics(run.q[jumps], run.qd[jumps], run.tau[jumps - 1])
    np.testing.assert_allclose(run.qdd_before[jumps], before, rtol=1e-9)
    found = Trajectory.read(written(run, tmp_path, ending))
    same_bits(found.qdd_before, run.qdd_before)
    same_bits(found.at([0.09, 0.11]).qd, run.at([0.09, 0.11]).qd)
    assert not found.recorded
    assert armlet.simulate(robot, [0, 0], torque=[1, 2], duration=0.1).qdd_before is None


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_a_trajectory_without_rows_comes_back_from_a_file(run, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / f"none.{ending}"
    getattr(run[:0], f"to_{ending}")(path)
    found = Trajectory.read(path)
    assert (len(found), found.joints, found.q.shape) == (0, run.joints, (0, len(run.joints)))


def test_a_file_that_is_no_trajectory_is_refused(tmp_path):
    for name, text, message in (
        ("run.txt", "", "run.txt ends in '.txt': expected .npz, .csv, .parquet"),
        ("run.csv", "t,q.a\n0,1\n", "run.csv is no trajectory"),
        ("run.csv", "", "run.csv has no numbers"),
        ("run.csv", "t;a\n", "run.csv is no trajectory"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=message):
            Trajectory.read(tmp_path / name)


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_times_of_a_file_increase_and_arrays_are_real(run, tmp_path, ending):
    for rows, message in (
        ([0, 2, 1, 3], r"time goes back from 0\.02 s at row 1 to 0\.01 s .* 1 times in all"),
        ([2, 1, 0], r"time goes back from 0\.02 s at row 0 to 0\.01 s .* 2 times in all"),
        ([0, 1, 1], r"time goes back from 0\.01 s at row 1 to 0\.01 s"),
    ):
        arrays = {name: array[rows] for name, array in run._arrays().items()}
        path = written(run._with_arrays(arrays), tmp_path, ending)
        with pytest.raises(DataError, match=rf"run\.{ending}: {message}"):
            Trajectory.read(path)
    t = run.t[:5].copy()
    t[3] = np.nan
    path = written(replace(run[:5], t=t), tmp_path, ending)
    if ending == "csv":
        path.write_text(path.read_text().replace("nan,", ",", 1))
    with pytest.raises(DataError, match=rf"run\.{ending}: t is nan at row 3"):
        Trajectory.read(path)
    if ending == "npz":
        for array in (run.q + 1j, run.q.astype(str)):
            with pytest.raises(
                DataError, match=r"run\.npz: 'q' has entries of type .*: expected r"
            ):
                Trajectory.read(written(replace(run, q=array), tmp_path, ending))


def written(run, folder, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = folder / f"run.{ending}"
    getattr(run, f"to_{ending}")(path)
    return path


ENDINGS = ("npz", "csv", "parquet")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_missing_or_damaged_trajectory_is_named(run, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(DataError, match=f"there is no file .*none.{ending}"):
        Trajectory.read(tmp_path / f"none.{ending}")
    (tmp_path / f"folder.{ending}").mkdir()
    with pytest.raises(DataError, match=f"folder.{ending} cannot be read: Is a directory"):
        Trajectory.read(tmp_path / f"folder.{ending}")
    path = written(run, tmp_path, ending)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2) if ending != "csv" else (0, 10):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=f"run.{ending} "):
            Trajectory.read(path)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_a_flipped_bit_of_a_trajectory_never_changes_a_number(run, tmp_path, ending):
    path = written(run[:5], tmp_path, ending)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for at in rng.integers(len(whole), size=60):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with suppress(DataError):
            found = Trajectory.read(path)
            same_bits(found.q, run.q[:5])
            same_bits(found.tau, run.tau[:5])


def test_a_table_that_ends_within_a_line_loses_that_line_with_a_warning(run, tmp_path):
    path = written(run, tmp_path, "csv")
    lines = path.read_bytes().splitlines(keepends=True)
    for last in (lines[-1][:-30], lines[-1][:-3], lines[-1][:9] + b"\n"):
        path.write_bytes(b"".join(lines[:-1]) + last)
        with pytest.warns(DataWarning, match="run.csv ends in the middle of a line"):
            found = Trajectory.read(path)
        same_bits(found.q, run.q[:-1])
    path.write_bytes(b"".join([*lines[:3], lines[3][:20] + b"\n", *lines[4:]]))
    with pytest.raises(DataError, match=r"run\.csv, line 4 has 2 cells: expected 27"):
        Trajectory.read(path)
    first, second = (f"q.{joint}".encode() for joint in run.joints[:2])
    path.write_bytes(lines[0].replace(second, first) + b"".join(lines[1:]))
    with pytest.raises(
        DataError, match=rf"run\.csv has the column '{first.decode()}' more than once"
    ):
        Trajectory.read(path)


def no_space(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_trajectory_stays_whole_when_the_disk_is_full(run, tmp_path, monkeypatch, ending):
    path = written(run, tmp_path, ending)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(armlet.ArmletError, match=rf"run\.{ending}: cannot be written: No space"):
        getattr(run[:5], f"to_{ending}")(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_trajectory_is_written_to_a_pipe(run, tmp_path, ending):
    whole = written(run, tmp_path, ending).read_bytes()
    pipe = tmp_path / f"pipe.{ending}"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        found = pool.submit(pipe.read_bytes)
        getattr(run, f"to_{ending}")(pipe)
    again = tmp_path / f"again.{ending}"
    again.write_bytes(found.result())
    same_bits(Trajectory.read(again).q, run.q)
    assert ending == "npz" or again.read_bytes() == whole  # archives tell the time


def test_between_rows_a_trajectory_is_close_to_the_motion(arm, run):
    fine = armlet.simulate(arm, run.q[0], duration=0.5, dt=1e-3, method=armlet.Adaptive(rtol=1e-10))
    found = run.at(fine.t)
    assert np.abs(found.q - fine.q).max() < 1e-4
    assert np.abs(found.q[::10] - fine.q[::10]).max() < 1e-8
    assert len(run[5:10]) == 5
    assert "51 rows, 0 to 0.5 s" in repr(run)
    with pytest.raises(DataError, match=r"beyond the trajectory, which has 0\.0 to 0\.5 s"):
        run.at([0.6])
    with pytest.raises(DataError, match=r"times has shape \(1, 2\): expected one number or N"):
        run.at([[0.1, 0.2]])
    with pytest.raises(TypeError, match="cut by a slice"):
        run[3]


def test_a_trajectory_can_be_looked_at(run):
    pytest.importorskip("plotly", reason="plotly is not installed")
    assert len(run.plot().data) == 2 * len(run.joints) + 3
    assert len(replace(run, tau=run.tau + 1).plot().data) == 3 * len(run.joints) + 3
    assert "plotly" in run._repr_html_()
