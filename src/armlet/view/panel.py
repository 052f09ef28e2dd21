"""Compute torques and energies of a robot with a payload, and show them in an HTML panel."""

from __future__ import annotations

import html
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.api import Robot, compile
from armlet.plotting import COLOURS
from armlet.robot import RobotModel
from armlet.view.scene import ALARM

FORMULATIONS = {"inverse_dynamics": "newton_euler", "energy": "velocities"}
"""Quantity -> formulation, fixed since a search for the cheapest would delay the viewer's start."""
POSTURES = 256
"""Number of random postures from which the largest static torques are taken."""
Array = NDArray[np.float64]
ROW = """<div style="display:flex;align-items:center;margin:3px 0" title="{title}">
<span style="flex:0 0 {wide}%;overflow:hidden;text-overflow:ellipsis;
white-space:nowrap">{name}</span>
<span style="position:relative;flex:1;height:11px;background:#eceff3;border-radius:2px">
<span class="armlet-bar" style="position:absolute;top:0;bottom:0;border-radius:2px;{bar}"></span>
<span style="position:absolute;left:50%;top:-2px;bottom:-2px;border-left:1px solid #98a2b0"></span>
{mark}</span>
<span class="armlet-text" style="flex:0 0 36%;text-align:right;
white-space:nowrap">{text}</span></div>
"""
MARK = """<span class="armlet-mark" style="position:absolute;top:-3px;bottom:-3px;
border-left:2px solid #222;left:{:.2f}%"></span>"""


class Numbers(NamedTuple):
    """Torques of shape (..., n) and energies of shape (...)."""

    tau: Array
    kinetic: Array
    potential: Array


class LiveDynamics:
    """Compiled inverse dynamics and energy of a robot whose payload may change."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.phi = robot.phi
        self._kernel = compile(
            robot, list(FORMULATIONS), FORMULATIONS, constants={"inertia": "argument"}
        )

    def carry(self, mass: float, offset: ArrayLike) -> None:
        """Set the payload of later calls: its mass, and its centre of mass in the tool's frame."""
        self.phi = self.robot.with_payload(mass, offset).phi if mass else self.robot.phi

    def __call__(
        self, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None
    ) -> Numbers:
        """Return torques and energies; velocities and accelerations are zero by default."""
        still = np.zeros((*np.shape(q)[:-1], self.robot.nv))
        qd, qdd = (still if x is None else x for x in (qd, qdd))
        return Numbers(*self._kernel(np.asarray(q, float), qd, qdd, self.phi))

    def scale(self) -> Array:
        """Return, for each joint, the torque at which the joint's bar is full.

        This is the torque limit or, without a limit, the largest static torque in random postures.
        """
        postures = self.robot.random_configuration(np.random.default_rng(0), POSTURES)
        largest = np.abs(self(postures).tau).max(axis=0)
        efforts = self.robot.effort_limit
        return np.maximum(np.where(np.isfinite(efforts), efforts, largest), 1e-9)


# ---------------------------------------------------------------------------------- HTML


class Bar(NamedTuple):
    """A torque bar: left end and width in percent of the space for bars, colour and text."""

    left: float
    width: float
    colour: str
    text: str
    mark: float | None = None
    """Position of the mark for the ghost's torque, in percent."""


def bars(
    robot: RobotModel, tau: NDArray[Any], scale: NDArray[Any], other: NDArray[Any] | None = None
) -> list[Bar]:
    """Return one bar per torque, which shows `tau` relative to `scale`; a mark shows `other`."""
    units = ("Nm" if x.rotates else "N" for joint in robot.coordinates for x in joint.type.twists)
    drawn = []
    for i, unit in enumerate(units):
        share = float(np.clip(tau[i] / scale[i], -1, 1))
        limited = robot.effort_limit[i] == scale[i]
        colour = ALARM if limited and abs(tau[i]) > scale[i] else COLOURS[i % len(COLOURS)]
        text = f"{round(float(tau[i]), 2) + 0.0:.2f}" + (f" / {scale[i]:.4g}" if limited else "")
        mark = None if other is None else 50 + 50 * float(np.clip(other[i] / scale[i], -1, 1))
        left = 50 + 50 * min(share, 0)
        drawn.append(Bar(left, 50 * abs(share), colour, f"{text} {unit}", mark))
    return drawn


def energies(numbers: Numbers) -> str:
    """Format the kinetic energy, the potential energy and their sum as text."""
    kinetic, potential = float(numbers.kinetic), float(numbers.potential)
    both = {"kinetic": kinetic, "potential": potential, "sum": kinetic + potential}
    return ", ".join(f"{name} {value:.2f} J" for name, value in both.items())


def panel(robot: RobotModel, title: str, drawn: list[Bar], below: str) -> str:
    """Return the HTML of a panel: the title, the bars `drawn`, and the line of text `below`."""
    wide = min(38, max(18, 2.2 * max(map(len, robot.velocity_names))))
    rows = [
        ROW.format(
            wide=wide,
            name=html.escape(name),
            bar=f"left:{bar.left:.2f}%;width:{bar.width:.2f}%;background:{bar.colour}",
            text=bar.text,
            title=html.escape(f"{name}: torque, and the limit of its drive", quote=True),
            mark="" if bar.mark is None else MARK.format(bar.mark),
        )
        for name, bar in zip(robot.velocity_names, drawn, strict=True)
    ]
    return (
        f'<div style="font-size:12px;padding:2px 12px 8px"><div class="armlet-title" '
        f'style="color:#5b6675;margin-bottom:4px">{html.escape(title)}</div>{"".join(rows)}'
        f'<div class="armlet-below" style="color:#5b6675;margin-top:6px">{html.escape(below)}</div>'
        "</div>"
    )
