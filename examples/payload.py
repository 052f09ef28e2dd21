"""What does the arm carry? The mass, centre and inertia of a payload from a few seconds of motion.

python examples/payload.py

The arm is known, the payload is not: torques that the arm alone does not explain are those of ten
parameters at its flange. Friction is known from the arm's file; torques are noisy.
"""

import numpy as np
from numpy.typing import NDArray

import armlet
from armlet.identification import Payload, identify_payload

Array = NDArray[np.float64]
MASS, CENTRE = 1.2, np.array([0.01, -0.02, 0.08])
"""What is to be found: kg, and m in the frame of the flange."""
INERTIA = (3e-3, 0, 0, 3e-3, 0, 2e-3)
"""About its centre: xx, xy, xz, yy, yz and zz in kg m²."""


def motion(t: Array) -> list[Array]:
    """Positions, velocities and accelerations: each joint swings at a frequency of its own."""
    middle = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
    w = np.array([1.0, 1.3, 1.7, 2.0, 2.6, 2.9, 3.4])
    s, c = np.sin(w * t[:, None]), np.cos(w * t[:, None])
    return [middle + 0.4 * s, 0.4 * w * c, -0.4 * w**2 * s]


def weigh(seconds: float = 8.0, noise: float = 0.1, seed: int = 0) -> Payload:
    """The payload as it is found from a log of so many seconds, at 1 kHz."""
    robot = armlet.load("panda")
    t = np.arange(0, seconds, 1e-3)
    q, qd, qdd = motion(t)
    loaded = robot.with_payload(MASS, CENTRE, INERTIA)
    tau = loaded.inverse_dynamics(q, qd, qdd) + robot.friction_torque(qd)
    tau += noise * np.random.default_rng(seed).normal(size=tau.shape)
    return identify_payload(robot, armlet.Log(t, q, tau, joints=robot.joint_names))


def main() -> None:
    found = weigh()
    print(
        f"{1e3 * found.mass:.1f} g, deviation {1e3 * found.deviation:.1f} g; true: {1e3 * MASS:g}"
    )
    centre, true = (", ".join(f"{1e3 * x:.1f}" for x in place) for place in (found.com, CENTRE))
    print(f"centre at {centre} mm from the flange; true: {true}")
    print(f"the torques that the arm alone does not explain are met to {found.fit.whole:.1f} %")


if __name__ == "__main__":
    main()
