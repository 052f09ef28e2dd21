"""Simulated logs of random arms, whose true parameters are known."""

from dataclasses import replace

import numpy as np

import armlet
from armlet import Log


def random_arm(seed, n=3):
    """A random arm with physical bodies and friction; pytest's option --draw does not change it."""
    rng = np.random.Generator(np.random.PCG64(seed))
    twists = rng.choice([np.pi / 2, -np.pi / 2, 0.7], n)
    lengths, offsets, angles = (rng.uniform(-x, x, n) for x in (0.3, 0.3, 1))
    table = np.stack([twists, lengths, offsets, angles], axis=1)
    bodies = []
    for _ in range(n):
        m, A = rng.uniform(0.5, 3), rng.normal(size=(3, 3))
        S = 0.01 * m * A @ A.T + 1e-3 * np.eye(3)
        bodies.append((m, rng.uniform(-0.1, 0.1, 3), np.trace(S) * np.eye(3) - S))
    robot = armlet.Robot.from_dh(table, convention="modified", inertia=bodies, name=f"arm{seed}")
    drives = (
        drive._replace(
            viscous=rng.uniform(0.1, 1), coulomb=rng.uniform(0.1, 1), offset=rng.uniform(-0.2, 0.2)
        )
        for drive in robot.drives
    )
    return replace(robot, drives=tuple(drives))


def recorded(robot, seed, duration=20.0, size=1.0, noise=0.02):
    """A log of a motion of five harmonics, with 17-bit encoders and noisy torques.

    The noise depends on pytest's option --draw; the motion does not.
    """
    rng = np.random.Generator(np.random.PCG64(1000 + seed))
    t, w = np.arange(0, duration, 1e-3), 0.2 * np.pi * np.arange(1, 6)
    a, b = rng.normal(size=(2, robot.nv, 5)) * size / np.sqrt(np.arange(1, 6))
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd = s @ a.T + c @ b.T, (c * w) @ a.T - (s * w) @ b.T
    tau = robot.inverse_dynamics(q, qd, -(s * w**2) @ a.T - (c * w**2) @ b.T)
    tau = tau + robot.friction_torque(qd)
    rng = np.random.default_rng([1000, seed])
    tau = tau + noise * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
    step = 2 * np.pi / 2**17
    return Log(t, step * np.round(q / step), tau, joints=tuple(x.name for x in robot.coordinates))
