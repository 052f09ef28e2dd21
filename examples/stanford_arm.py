"""The Stanford arm of Saha (1999), section 6.2: its torques along a motion, and its free fall.

python examples/stanford_arm.py [--out FOLDER]
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from cycloid import Array, Motion, cycloid
from numpy.typing import ArrayLike
from pictures import Figure, Panel, figure, joints, numbers_text, run

import armlet
from armlet import Robot, Trajectory

DURATION = 10.0
"""T of (39), in s."""
FALL = 1.5
"""How long the arm falls, in s."""
START = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0])
END = np.array([np.pi / 3, np.pi / 3, 0.1, np.pi / 3, np.pi / 3, np.pi / 3])
SLIDE = 2
"""The prismatic joint, counted from 0."""


@cache
def arm() -> Robot:
    """The arm of Table 3, gravity along -z of the base."""
    return armlet.load("stanford")


def motion(t: ArrayLike) -> Motion:
    """From the posture of Table 3 to 60 degrees in each revolute joint and 0.1 m in the third."""
    return cycloid(START, END, DURATION, t)


def inverse(t: ArrayLike) -> Array:
    """The torques, and the force of joint 3, that move the arm along its motion, in Nm and N."""
    return arm().inverse_dynamics(*motion(t))


def free_fall(robot: Robot | None = None, duration: float = FALL) -> Trajectory:
    """The arm without torques, from rest in the posture of Table 3."""
    exact = armlet.Adaptive(rtol=1e-11, atol=1e-12)
    return armlet.simulate(robot or arm(), START, duration=duration, method=exact)


def in_degrees(q: Array) -> Array:
    """Positions in degrees, and in m for joint 3."""
    scale = np.full(q.shape[-1], 180 / np.pi)
    scale[SLIDE] = 1
    return q * scale


def numbers() -> Iterator[str]:
    """What the documentation states."""
    for t in (0.0, DURATION / 2, DURATION):
        yield f"torques at {t:g} s (Nm; joint 3: N): {numbers_text(inverse(t))}"
    fall = free_fall()
    yield f"free fall, accelerations at 0 s (rad/s², m/s²): {numbers_text(fall.qdd[0])}"
    for t in (0.5, 1.0):
        yield f"free fall, positions at {t} s (deg, m): {numbers_text(in_degrees(fall.at(t).q[0]))}"


def figures() -> dict[str, Figure]:
    """The figures of the documentation by name."""
    t = np.linspace(0, DURATION, 101)
    fall = free_fall().at(np.linspace(0, FALL, 101))
    torques = ["torque (Nm)", "torque (Nm)", "force (N)", *["torque (mNm)"] * 3]
    positions = [*["angle (deg)"] * 2, "position (m)", *["angle (deg)"] * 3]
    return {
        "stanford_torques": _by_joint(t, inverse(t) * [1, 1, 1, 1e3, 1e3, 1e3], torques),
        "stanford_free_fall": _by_joint(fall.t, in_degrees(fall.q), positions),
    }


def _by_joint(t: Array, values: Array, y_titles: list[str]) -> Figure:
    """A panel for each joint, since their sizes differ by powers of ten."""
    curves = joints(t, values, [f"joint {i + 1}" for i in range(len(y_titles))])
    panels = [
        Panel(y_title, [curve], curve.name) for y_title, curve in zip(y_titles, curves, strict=True)
    ]
    return figure(panels, columns=2)


if __name__ == "__main__":
    run(__doc__, numbers, figures)
