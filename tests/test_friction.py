"""The shapes of friction that torques are not linear in."""

from dataclasses import replace

import numpy as np
import pytest
from support.datasets import panda_log
from support.datasets import recorded as with_data
from support.logs import random_arm, recorded

import armlet
from armlet import TorqueModel
from armlet.errors import DataError
from armlet.identification import Sigmoid, sigmoid_friction


def published(p1, p2, p3, qd):
    return p1 / (1 + np.exp(-p2 * (qd + p3))) - p1 / (1 + np.exp(-p2 * p3))


def test_sigmoids_are_those_of_the_paper_and_have_derivatives():
    p2, p3 = (5.0, 20.0), (0.03, -0.05)
    qd = np.random.default_rng(0).normal(size=(50, 2))
    torque, by_log, by_shift = Sigmoid(p2, p3).torques(qd)
    np.testing.assert_allclose(torque, published(1.0, np.array(p2), np.array(p3), qd), atol=1e-14)
    h = 1e-6
    steeper = Sigmoid(tuple(np.exp(np.log(p2) + h)), p3).torques(qd)[0]
    np.testing.assert_allclose(by_log, (steeper - torque) / h, atol=1e-4)
    shifted = Sigmoid(p2, tuple(np.array(p3) + h)).torques(qd)[0]
    np.testing.assert_allclose(by_shift, (shifted - torque) / h, atol=1e-3)
    assert np.isfinite(Sigmoid((1e6, 1e6), p3).torques(1e3 * qd)).all()


def test_the_sigmoid_of_every_joint_is_found():
    robot = random_arm(5, n=2)
    log = recorded(robot.without_drives(), 5, noise=0.002, size=0.5)
    qd = np.gradient(log.q, log.t, axis=0)
    p1, p2, p3 = np.array([0.9, 0.5]), np.array([8.0, 14.0]), np.array([0.04, -0.03])
    log = replace(log, tau=log.tau + published(p1, p2, p3, qd))
    shape = sigmoid_friction(robot, log)
    np.testing.assert_allclose(shape.steepness, p2, rtol=0.15)
    np.testing.assert_allclose(shape.shift, p3, atol=0.02)
    found = armlet.identify(robot, log, model=TorqueModel(friction=shape), physical=False)
    assert found.names[-2:] == ("sigmoid1", "sigmoid2")
    np.testing.assert_allclose(found.values[-2:], p1, rtol=0.05)
    plain = armlet.identify(robot, log, physical=False)
    assert found.fits["least squares"].whole < 0.5 * plain.fits["least squares"].whole


def test_a_sigmoid_needs_every_joint():
    robot = random_arm(5, n=2)
    log = recorded(robot, 5, duration=3.0)
    with pytest.raises(DataError, match="friction has 1 steepnesses and 2 shifts: expected one"):
        armlet.identify(robot, log, model=TorqueModel(friction=Sigmoid((5.0,), (0.0, 0.0))))
    with pytest.raises(DataError, match="there are no logs"):
        sigmoid_friction(robot, [])


@with_data
def test_the_panda_has_about_the_friction_that_was_published(arms):
    """Gaz et al. (2019), Table IX: of the same size, but smoother than this log says."""
    robot = arms["panda"].without_drives()
    log = panda_log()[::4]  # a quarter of the rows, for speed
    p1 = np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])
    p2 = np.array([5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336])
    p3 = np.array([0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526])
    shape = sigmoid_friction(robot, log)
    found = armlet.identify(robot, log, model=TorqueModel(friction=shape), physical=False)
    assert found.fits["least squares"].whole < 0.95
    assert (np.abs(np.log2(found.values[-7:] / p1)) < 1).all()
    qd = np.linspace(-1, 1, 201)[:, None] * np.ones(7)
    own, known = found.values[-7:] * shape.torques(qd)[0], published(p1, p2, p3, qd)
    assert all(np.corrcoef(x, y)[0, 1] > 0.9 for x, y in zip(own.T, known.T, strict=True))
