"""An exciting motion: what `armlet.excite` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.lazy import cached_property
from armlet.api import Robot
from armlet.errors import DataError
from armlet.identification.excitation.limits import Range, units
from armlet.identification.excitation.paths import Path
from armlet.minimal import MinimalParameters
from armlet.plotting import (
    COLOURS,
    Figure,
    Plotted,
    Theme,
    graph_objects,
    panels,
    plain,
    with_theme,
)
from armlet.simulation import Trajectory

Array = NDArray[np.float64]
POINTS = 501
"""How many times a plot shows."""
COLUMNS = {"position": "q", "speed": "qd", "acceleration": "qdd", "torque": "tau"}
"""What is limited for every joint, and where a trajectory has it."""
LINE, EDGE = COLOURS[0], COLOURS[3]
"""The colours of motions and of limits."""


@dataclass(frozen=True, eq=False, repr=False)
class Excitation(Plotted):
    """A motion from which the parameters of a robot can be identified well.

    Attributes
    ----------
    robot : Robot
    motion : Trajectory
        Rows at the rate asked for, with the torques that the robot's parameters and friction
        predict, nan if it has no masses. `t`, `q`, `qd`, `qdd` and `tau` are its arrays.
    path : Path
        The Fourier series or the spline.
    coefficients : array of shape (m, n)
        The coefficients of each joint: constant, sines and cosines, or control points.
    condition, log_det : float
        The condition number of the regressor W over all rows, columns as they are, and the
        logarithm of det(WᵀW / rows).
    criterion : str
        What was made best.
    history : array
        The condition number, or log det, at every step of the search, at fewer times and with
        friction that changes its sign smoothly.
    limits : mapping of str to Range
        What the motion keeps within, margins taken off: lower and upper limits by name.
    parameters : MinimalParameters
        The parameters that are to be identified, one column of W for each.
    ended : str
        Why the search ended before its time; empty if it did not.
    notes : tuple of str
        What was assumed.
    """

    robot: Robot
    motion: Trajectory
    path: Path
    coefficients: Array
    condition: float
    log_det: float
    criterion: str
    history: Array
    limits: Mapping[str, Range]
    parameters: MinimalParameters[Any]
    ended: str = ""
    notes: tuple[str, ...] = ()

    @property
    def t(self) -> Array:
        """Times in s, (k,)."""
        return self.motion.t

    @property
    def q(self) -> Array:
        """Positions, (k, n)."""
        return self.motion.q

    @property
    def qd(self) -> Array:
        """Velocities, (k, n)."""
        return self.motion.qd

    @property
    def qdd(self) -> Array:
        """Accelerations, (k, n)."""
        return self.motion.qdd

    @property
    def tau(self) -> Array:
        """Torques that the robot's parameters and friction predict, (k, n)."""
        return self.motion.tau

    @cached_property
    def margins(self) -> dict[str, Array]:
        """The least distance to each limit: of every joint, or of the tool's x, y and z."""
        values = {name: getattr(self.motion, array) for name, array in COLUMNS.items()}
        values["tool"] = places(self.robot, self.q)
        return {name: limits.margins(values[name]) for name, limits in self.limits.items()}

    def at(self, times: ArrayLike) -> Trajectory:
        """The motion at other times from 0 to its duration, evaluated there."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        if not np.all((t >= 0) & (t <= self.path.duration)):
            raise DataError(
                f"times reach beyond the motion, which has 0 to {self.path.duration:g} s"
            )
        return motion_along(self.robot, self.path, self.coefficients, t, self.notes)

    # ---------------------------------------------------------------- files

    def to_csv(self, path: str | FilePath) -> None:
        """Write the motion as a table; `Trajectory.read` reads it again."""
        self.motion.to_csv(path)

    def to_parquet(self, path: str | FilePath) -> None:
        """Write the motion as a Parquet file; needs pyarrow."""
        self.motion.to_parquet(path)

    def to_npz(self, path: str | FilePath) -> None:
        """Write the motion as a file of NumPy's."""
        self.motion.to_npz(path)

    # ---------------------------------------------------------------- to look at

    def plot(self, theme: Theme = "light") -> Figure:
        """A figure of Plotly's: what every joint does, and the tool in its box, with the limits."""
        graphs = graph_objects()
        run = self.at(np.linspace(0, self.path.duration, POINTS))
        shown = {x: y for x, y in COLUMNS.items() if not np.isnan(getattr(run, y)).any()}
        rows, columns = len(run.joints) + ("tool" in self.limits), len(shown)
        kinds = {joint.letter for joint in self.robot.coordinates}
        heads = [f"{name} ({units(name, kinds)})" for name in shown]
        figure = panels(
            rows, columns, height=150 * rows + 150, title=self._title(),
            shared_xaxes=True, horizontal_spacing=0.07, vertical_spacing=0.25 / rows,
            column_titles=heads,
        )  # fmt: skip
        figure.update_annotations(yshift=24)
        figure.update_layout(margin_t=110)

        def name(text: str, row: int, column: int = 1) -> None:
            """Write a name above the left end of a panel."""
            figure.add_annotation(
                text=f"<b>{plain(text)}</b>", showarrow=False, row=row, col=column,
                xref="x domain", yref="y domain", x=0, y=1, xanchor="left", yanchor="bottom",
            )  # fmt: skip

        def draw(values: Array, what: str, entry: int, row: int, column: int) -> None:
            curve = graphs.Scatter(x=run.t, y=values, line_color=LINE, showlegend=False)
            figure.add_trace(curve, row, column)
            edges = [x[entry] for x in self.limits[what]] if what in self.limits else []
            edges = [y for y in edges if np.isfinite(y)]
            for y in edges:
                dashed = {"color": EDGE, "dash": "dash", "width": 1}
                figure.add_hline(y=y, line=dashed, row=row, col=column)
            low, high = min([*edges, values.min()]), max([*edges, values.max()])
            room = 0.08 * (high - low) or 1.0
            figure.update_yaxes(range=[low - room, high + room], row=row, col=column)

        for i, joint in enumerate(run.joints):
            name(joint, i + 1)
            for k, (what, array) in enumerate(shown.items()):
                draw(getattr(run, array)[:, i], what, i, i + 1, k + 1)
        if "tool" in self.limits:
            for k, values in enumerate(places(self.robot, run.q).T):
                draw(values, "tool", k, rows, k + 1)
                name(f"tool, {'xyz'[k]} (m)", rows, k + 1)
        for column in range(1, columns + 1):
            last = rows if column <= 3 else len(run.joints)  # the tool has three panels
            figure.update_xaxes(title_text="time (s)", showticklabels=True, row=last, col=column)
        figure.update_yaxes(nticks=5)
        return with_theme(figure, theme)

    def _title(self) -> str:
        ended = f", {self.ended}" if self.ended else ""
        return (
            f"{plain(self.robot.name)}: condition number {self.condition:.4g} for "
            f"{len(self.parameters)} parameters{ended}; dashed: limits"
        )

    def __repr__(self) -> str:
        ended = f", {self.ended}" if self.ended else ""
        return (
            f"<Excitation of {self.robot.name!r}: {self.path.duration:g} s, {len(self.t)} rows, "
            f"condition number {self.condition:.4g} for {len(self.parameters)} parameters{ended}>"
        )


def places(robot: Robot, q: Array) -> Array:
    """Where the tool is, (k, 3)."""
    found: Array = robot.forward_kinematics(q)[:, :3, 3]
    return found


def motion_along(
    robot: Robot, path: Path, coefficients: Array, t: Array, notes: tuple[str, ...] = ()
) -> Trajectory:
    """The motion along a path at times, with the torques that the robot needs for it.

    Torques and energies are nan if the robot has no masses.
    """
    q, qd, qdd = path.motion(coefficients, t)
    tau, kinetic, potential = (
        np.full_like(q, np.nan),
        np.full_like(t, np.nan),
        np.full_like(t, np.nan),
    )
    if robot.phi.any():
        tau = robot.inverse_dynamics(q, qd, qdd) + robot.passive_torque(q, qd)
        kinetic, potential = robot.energy(q, qd)
    joints = tuple(joint.name for joint in robot.coordinates)
    return Trajectory(t, q, qd, qdd, tau, kinetic, potential, joints, notes=notes)
