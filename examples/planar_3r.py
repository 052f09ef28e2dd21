"""The planar 3R arm of Saha (1999), section 6.1: its torques along a motion, and its free fall.

python examples/planar_3r.py [--out FOLDER]
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from cycloid import Array, Motion, cycloid
from numpy.typing import ArrayLike
from pictures import Curve, Figure, Panel, figure, joints, numbers_text, run

import armlet
from armlet import Robot, Trajectory
from armlet.plotting import INK

DURATION = 10.0
"""T of (38), in s."""
FALL = 5.0
"""How long the arm falls, in s."""
NAMES = ("joint 1", "joint 2", "joint 3")


@cache
def arm() -> Robot:
    """Three uniform rods of 1 m and 1 kg in the x-y plane, gravity along -y."""
    return armlet.load("planar3r")


def motion(t: ArrayLike) -> Motion:
    """All joints from 0 to π, (38)."""
    return cycloid(np.zeros(3), np.full(3, np.pi), DURATION, t)


def inverse(t: ArrayLike) -> Array:
    """The torques that move the arm along (38), in Nm."""
    return arm().inverse_dynamics(*motion(t))


def free_fall(q0: ArrayLike = (0.0, 0.0, 0.0), duration: float = FALL) -> Trajectory:
    """The arm without torques, from rest."""
    exact = armlet.Adaptive(rtol=1e-11, atol=1e-12)
    return armlet.simulate(arm(), q0, duration=duration, method=exact)


def numbers() -> Iterator[str]:
    """What the documentation states."""
    for t in (0.0, DURATION / 2, DURATION):
        yield f"torques at {t:g} s (Nm): {numbers_text(inverse(t))}"
    fall = free_fall()
    yield f"free fall, accelerations at 0 s (rad/s²): {numbers_text(fall.qdd[0])}"
    for t in (0.5, 1.0):
        yield f"free fall, angles at {t} s (rad): {numbers_text(fall.at(t).q[0])}"
    apart = np.abs(fall.q - free_fall((1e-3, 1e-3, 1e-3)).q).max(1)
    yield f"started 0.001 rad higher in each joint, it is {apart[-1]:.1f} rad apart at {FALL:g} s"


def figures() -> dict[str, Figure]:
    """The figures of the documentation by name."""
    t = np.linspace(0, DURATION, 101)
    fall = free_fall().at(np.linspace(0, FALL, 251))
    energies = [
        Curve("kinetic", fall.t, fall.kinetic, INK, "dot"),
        Curve("potential", fall.t, fall.potential, INK, "dash"),
        Curve("total", fall.t, fall.energy, INK),
    ]
    return {
        "planar_3r_torques": figure([Panel("torque (Nm)", joints(t, inverse(t), NAMES))]),
        "planar_3r_free_fall": figure(
            [
                Panel("angle (deg)", joints(fall.t, np.degrees(fall.q), NAMES)),
                Panel("energy (J)", energies),
            ]
        ),
    }


if __name__ == "__main__":
    run(__doc__, numbers, figures)
