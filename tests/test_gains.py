"""Known payloads: taken off the torques, or used to find what currents are worth."""

from dataclasses import replace

import numpy as np
import pytest
from support.logs import random_arm, recorded

import armlet
from armlet.errors import DataError

robot = random_arm(2, n=2)
PAYLOAD = 1.5, (0.1, 0.05, -0.2), np.diag([0.01, 0.02, 0.015])
GAINS = np.array([12.0, -0.7])
UNKNOWN = armlet.TorqueModel(gains=True)


@pytest.fixture(scope="module")
def logs():
    """A run without and one with the payload, in Nm."""
    return recorded(robot, 2, duration=12.0), recorded(
        robot.with_payload(*PAYLOAD), 3, duration=12.0
    ).with_payload(*PAYLOAD)


def in_currents(log, gains=GAINS):
    return replace(log, tau=log.tau / gains)


def test_a_known_payload_is_not_part_of_the_arm(logs):
    true = armlet.minimal_parameters(robot, friction=True).values
    for estimator in ("weighted", "robust", "instrumental"):
        found = armlet.identify(robot, logs[1], physical=False, estimator=estimator)
        assert (np.abs(found.values - true) < 4 * found.deviations).all()
    carried = armlet.identify(robot, replace(logs[1], payloads=()), physical=False)
    assert (np.abs(carried.values - true) > 10 * carried.deviations).any()
    _, measured, predicted = found.compare(found.samples[0])
    assert np.linalg.norm(measured - predicted) < 0.03 * np.linalg.norm(measured)


def test_known_payloads_add_up_as_those_of_a_robot_do():
    second = 0.7, (0.3, -0.1, 0.05), None, "link1"
    true = armlet.minimal_parameters(robot, friction=True).values
    loaded = recorded(robot.with_payload(*PAYLOAD).with_payload(*second), 4, duration=12.0)
    both = loaded.with_payload(*PAYLOAD).with_payload(*second)
    found = armlet.identify(robot, both, physical=False)
    assert (np.abs(found.values - true) < 4 * found.deviations).all()
    turned = loaded.with_payload(*second).with_payload(*PAYLOAD)
    other = armlet.identify(robot, turned, physical=False)
    np.testing.assert_allclose(other.values, found.values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mass", [-1, np.nan, "heavy", [1, 2]])
def test_the_mass_of_a_known_payload_is_checked(logs, mass):
    with pytest.raises(
        DataError, match=r"the payload's mass is .*: expected one number, 0 or more"
    ):
        logs[0].with_payload(mass, (0, 0, 0))


def test_gains_are_found_by_a_known_payload(logs):
    found = armlet.identify(
        robot, [in_currents(log) for log in logs], model=UNKNOWN, physical=False, validation=0.2
    )
    assert (np.abs(found.gains.values - GAINS) < 3 * found.gains.deviations).all()
    assert (found.gains.deviations < 0.03 * np.abs(GAINS)).all()
    true = armlet.minimal_parameters(robot, friction=True).values
    assert (np.abs(found.values - true) < 3.5 * found.deviations).all()
    known = armlet.identify(robot, logs, physical=False, validation=0.2)
    assert (found.deviations > 0.98 * known.deviations).all()
    for name, fit in known.fits.items():
        assert found.fits[name].whole == pytest.approx(fit.whole, rel=0.05)
    for run in (*found.samples, *found.held_out):
        _, measured, predicted = found.compare(run)
        assert np.linalg.norm(measured - predicted) < 0.03 * np.linalg.norm(measured)
    assert found.figures()["gains"]["values"] == found.gains.values.tolist()


def test_deviations_of_gains_are_true():
    z = []
    for seed in range(5):
        loads = (robot, robot.with_payload(*PAYLOAD))
        own = [recorded(arm, 20 + 2 * seed + k, duration=6.0) for k, arm in enumerate(loads)]
        own[1] = own[1].with_payload(*PAYLOAD)
        found = armlet.identify(
            robot, [in_currents(log) for log in own], model=UNKNOWN, physical=False
        )
        z.append((found.gains.values - GAINS) / found.gains.deviations)
    assert 0.4 < np.sqrt(np.mean(np.square(z))) < 1.8


def test_gains_need_a_payload(logs):
    with pytest.raises(
        DataError, match=r"no run has a known payload that loads a joint.*log\.with_payload"
    ):
        armlet.identify(robot, in_currents(logs[0]), model=UNKNOWN, physical=False)
    with pytest.raises(DataError, match="gains are estimated by weighted least squares: not with"):
        armlet.identify(robot, logs, model=UNKNOWN, estimator="robust")


def test_a_joint_that_does_not_feel_the_payload_is_named():
    """The first axis is vertical: its slow motion with the payload says nothing of its gain."""
    upright = armlet.Robot.from_dh(
        [(0, 0, 0.2, 0), (np.pi / 2, 0, 0, 0)],
        convention="modified",
        name="upright",
        inertia=[(1.0, (0.1, 0, 0), np.eye(3) * 0.02), (1.0, (0.2, 0, 0), np.eye(3) * 0.02)],
    )
    t, rng, logs = np.arange(0, 10, 2e-3), np.random.default_rng(0), []
    w = np.array([[0.7, 1.1], [1.3, 2.1]])
    load = 1.0, (0.2, 0, 0)
    for k, arm in enumerate((upright, upright.with_payload(*load))):
        s, c, size = np.sin(np.outer(t, w[k])), np.cos(np.outer(t, w[k])), np.array([0.05, 1.5])
        q, qd, qdd = size * s, size * w[k] * c, -size * w[k] ** 2 * s
        tau = arm.inverse_dynamics(q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
        logs.append(armlet.Log(t, q, tau / GAINS))
    logs[1] = logs[1].with_payload(*load)
    with pytest.raises(DataError, match=r"the gain of joint 'joint1' is not determined to 20 %"):
        armlet.identify(upright, logs, model=UNKNOWN, physical=False)
    unfelt = [logs[0], logs[0].with_payload(1.0, (0, 0, 0.1), frame="link1")]
    with pytest.raises(DataError, match="no run has a known payload that loads a joint"):
        armlet.identify(upright, unfelt, model=UNKNOWN, physical=False)
