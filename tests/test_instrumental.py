"""Instrumental variables: noise in the positions does not bias what is found."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from support.logs import random_arm, recorded

import armlet
from armlet.errors import DataError, DataWarning
from armlet.identification import closed_loop, preprocess
from armlet.identification.estimation import instrumental


def with_noise(log, size, seed=0):
    noise = np.random.default_rng(seed).normal(size=log.q.shape)
    return replace(log, q=log.q + size * noise)


def off(found, robot):
    """How far a parameter is from the true one at most, in deviations."""
    true = armlet.minimal_parameters(robot, friction=True).values
    return np.abs((found.values - true) / found.deviations).max()


robot = random_arm(4, n=2)


@pytest.fixture(scope="module")
def log():
    return recorded(robot, 4, duration=15.0)


def test_noise_in_positions_biases_least_squares_and_not_instrumental_variables(log):
    true = armlet.minimal_parameters(robot, friction=True).values
    errors = []
    for seed in range(8):
        noisy = with_noise(log, 0.03, seed)
        plain = armlet.identify(robot, noisy, physical=False)
        found = armlet.identify(robot, noisy, physical=False, estimator="instrumental")
        errors.append((found.values - true, plain.values - true))
        assert off(found, robot) < 5
        assert found.instrument_test.p < 1e-6
    own, bias = np.linalg.norm(np.mean(errors, axis=0), axis=1)
    assert own < 0.7 * bias
    rounds = found.instrument_test.rounds
    assert rounds <= 8
    assert f"instrumental variables, found in {rounds} rounds, differ from" in found.notes[-1]
    assert found.figures()["instrumental"]["rounds"] == rounds
    assert set(found.fits) == {"instrumental variables"}


def test_without_noise_in_positions_both_agree(log):
    plain = armlet.identify(robot, log, physical=False)
    found = armlet.identify(robot, log, physical=False, estimator="instrumental")
    assert (np.abs(found.values - plain.values) < 0.3 * plain.deviations).all()
    assert found.instrument_test.p > 1e-6
    assert found.instrument_test.correlation > 0.99
    differ = "differ from" if found.instrument_test.p < 0.05 else "do not differ from"
    assert f" {differ} least squares" in found.notes[-1]


def test_physical_bodies_are_those_of_the_instrumental_variables(log):
    pytest.importorskip("cvxpy", reason="cvxpy is not installed: it is in the dev extra")
    known = armlet.minimal_parameters(robot)
    errors = []
    for seed in range(3):
        noisy = with_noise(log, 0.03, seed)
        pair = [
            armlet.identify(robot, noisy, physical=True, estimator=name)
            for name in ("instrumental", "weighted")
        ]
        assert pair[0].is_consistent
        errors.append([known.Lam @ found.bodies.ravel() - known.values for found in pair])
    own, bias = np.linalg.norm(np.mean(errors, axis=0), axis=1)
    assert own < 0.9 * bias


def test_the_command_of_a_closed_loop_is_put_in_the_order_of_the_robot():
    t = np.arange(0, 1, 1e-2)
    q = np.stack([np.sin(t), 0.5 * np.cos(t)], axis=1)
    names, zero = ("joint1", "joint2"), 0 * t
    held = armlet.controllers.pd_with_gravity(robot, 60, 6)
    commands = [
        armlet.Trajectory(t, x, 0 * q, 0 * q, 0 * q, zero, zero, joints)
        for x, joints in ((q, names), (q[:, ::-1], names[::-1]))
    ]
    samples = preprocess(armlet.Log(t, q, 0 * q), armlet.Preprocessing(trim=0, rest=True))
    motions = [closed_loop(robot, held, x)(robot, samples) for x in commands]
    assert np.array_equal(*motions)
    with pytest.raises(DataError, match="the reference has joints 'a', 'b': expected those of"):
        closed_loop(robot, held, replace(commands[0], joints=("a", "b")))
    with pytest.raises(DataError, match="expected closed_loop of the robot that is identified"):
        closed_loop(robot, held, commands[0])(random_arm(5, n=2), samples)


def test_the_closed_loop_has_all_friction_of_the_law():
    t = np.arange(0, 1, 1e-3)
    q = np.stack([np.sin(3 * t), 0.5 * np.cos(3 * t)], axis=1)
    command = armlet.Trajectory(t, q, 0 * q, 0 * q, 0 * q, 0 * t, 0 * t, ("joint1", "joint2"))
    held = armlet.controllers.pd_with_gravity(robot, 60, 6)
    law = armlet.Friction(velocity=0.5, stribeck=(5.0, 2.0), stribeck_velocity=1.0)
    run = armlet.simulate(
        armlet.Plant(robot, law),
        q[0],
        0 * q[0],
        held,
        arguments={"target": (q[:-1] + q[1:]) / 2},
        duration=t[-1],
        dt=1e-3,
        method="rk4",
    )
    samples = preprocess(armlet.Log(t, q, 0 * q), armlet.Preprocessing(trim=0, rest=True))
    motion = closed_loop(robot, held, command, friction=law)(robot, samples)
    np.testing.assert_allclose(motion, run.at(samples.t).q, atol=1e-9)


def test_the_closed_loop_is_simulated_with_the_parameters_found_so_far():
    """A soft PD controller: only a simulation knows how far from the command the arm is."""
    arm = replace(robot, drives=tuple(drive._replace(coulomb=0.0) for drive in robot.drives))
    t, w = np.arange(0, 20, 2e-3), 0.2 * np.pi * np.arange(1, 6)
    a = np.random.Generator(np.random.PCG64(7)).normal(size=(2, 5)) / np.sqrt(np.arange(1, 6))
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = s @ a.T, (c * w) @ a.T, -(s * w**2) @ a.T
    command = armlet.Trajectory(t, q, qd, qdd, 0 * q, 0 * t, 0 * t, ("joint1", "joint2"))
    held = armlet.controllers.pd_with_gravity(arm, 60, 6)
    between = {"target": (q[:-1] + q[1:]) / 2}
    run = armlet.simulate(
        arm, q[0], qd[0], torque=held, arguments=between, duration=t[-1], dt=2e-3, method="rk4"
    )
    assert np.abs(run.q - q).max() > 0.2
    tau = held(run.q, run.qd, q)
    model = armlet.TorqueModel(friction=("viscous", "offset"))
    options = {"model": model, "physical": False}
    drives = [getattr(x, name) for name in ("viscous", "offset") for x in arm.drives]
    true = np.append(armlet.minimal_parameters(arm).values, drives)
    loop, errors = closed_loop(arm, held, command, dt=2e-3), []
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(size=(2, *q.shape))
        log = armlet.Log(run.t, run.q + 0.02 * noise[0], tau + 0.1 * noise[1])
        seen = []

        def instrument(arm, run, seen=seen):
            seen.append(loop(arm, run))
            return seen[-1]

        plain = armlet.identify(arm, log, **options)
        found = armlet.identify(
            arm, log, estimator="instrumental", instrument=instrument, **options
        )
        errors.append((found.values - true, plain.values - true))
        assert (np.abs(found.values - true) < 5 * found.deviations).all()
        assert len(seen) == found.instrument_test.rounds
        np.testing.assert_allclose(seen[-1], run.at(found.samples[0].t).q, atol=0.1)
    own, bias = np.linalg.norm(np.mean(errors, axis=0), axis=1)
    assert own < 0.7 * bias


@pytest.mark.parametrize(
    ("instrument", "message"),
    [
        (lambda arm, run: run.q[:-1], r"the instrument of log has shape \(\d+, 2\): expected"),
        (lambda arm, run: run.q * np.nan, "the instrument of log is not finite at 0 s"),
        (lambda arm, run: 0 * run.q, "the instrument determines .* combinations"),
    ],
)
def test_a_bad_instrument_is_named(log, instrument, message):
    with pytest.raises(DataError, match=message):
        armlet.identify(robot, log, physical=False, estimator="instrumental", instrument=instrument)


def test_instrumental_variables_that_do_not_converge_are_reported(log, monkeypatch):
    monkeypatch.setattr(instrumental, "ROUNDS", 4)
    sizes = itertools.cycle([0.5, 1.5])
    with pytest.raises(DataError, match=r"do not converge in 4 rounds: \S+ still changes from"):
        armlet.identify(
            robot,
            log,
            physical=False,
            estimator="instrumental",
            instrument=lambda arm, run: next(sizes) * run.q,
        )


def test_a_weak_instrument_is_warned_of(log):
    def weak(arm, run):  # the same in every round
        return 0.1 * run.q + np.random.default_rng(0).normal(size=run.q.shape)

    with pytest.warns(DataWarning, match=r"the instrument is hardly correlated with the motion"):
        armlet.identify(robot, log, physical=False, estimator="instrumental", instrument=weak)


def test_what_is_not_simulated_is_refused():
    at_rest = armlet.Trajectory(*np.zeros((2, 2)), *np.zeros((5, 2)), ())

    @armlet.function(robot, goal=2)
    def odd(q, goal):
        return goal - q

    with pytest.raises(DataError, match="the controller has an argument 'goal': expected q, qd"):
        closed_loop(robot, odd, at_rest)


def test_an_instrument_needs_all_runs():
    logs = [recorded(robot, seed, duration=4.0) for seed in range(9)]
    with pytest.raises(DataError, match="there are 9 runs: expected at most 8 for instrumental"):
        armlet.identify(robot, logs, physical=False, estimator="instrumental")
