"""Show robots in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.files import check_writable, write
from armlet.api import Robot
from armlet.errors import DataError, ModelError, listing, quote
from armlet.simulation import Trajectory
from armlet.simulation.step import positions
from armlet.view.scene import slider_ranges
from armlet.view.stage import page
from armlet.view.viewer import Viewer

__all__ = ["Viewer", "view"]


@overload
def view(
    robot: Robot,
    trajectory: Trajectory | None = None,
    *,
    ghost: Robot | None = None,
    q: ArrayLike | None = None,
    folders: Sequence[str | Path] = (),
    html: None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
) -> Viewer: ...


@overload
def view(
    robot: Robot,
    trajectory: Trajectory | None = None,
    *,
    ghost: Robot | None = None,
    q: ArrayLike | None = None,
    folders: Sequence[str | Path] = (),
    html: str | Path,
) -> None: ...


def view(
    robot: Robot,
    trajectory: Trajectory | None = None,
    *,
    ghost: Robot | None = None,
    q: ArrayLike | None = None,
    folders: Sequence[str | Path] = (),
    html: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
) -> Viewer | None:
    """Show a robot in the browser or in an HTML file, which both need the package viser.

    Parameters
    ----------
    robot : Robot
    trajectory : Trajectory, optional
        The trajectory to play. The torques shown are the inverse dynamics along the trajectory.
    ghost : Robot, optional
        A second robot with the same joint types, such as the robot before an identification. Marks
        on the torque bars show the ghost's torques. The ghost itself is drawn, translucent and in
        the robot's posture, only if the body poses of the two robots differ at q = 0.
    q : array_like of shape (nq,), optional
        The posture shown first if there is no trajectory. By default, each joint is at zero or, if
        its limits exclude zero, midway between them. Ball joints are at their neutral positions.
    folders : sequence of str or Path
        Folders to search for meshes, besides the folder and the ROS package of the robot's file.
    html : str or Path, optional
        Write a page to this file and start no viewer. The page needs no server and no network.
    host, port : str, int
        The address on which the server listens; by default only this machine can reach it. If the
        port is taken, the next free port is used. Connections from other web pages are refused.

    Returns
    -------
    Viewer or None
        The viewer, or None if `html` is set. Its `url` is the address of the page, and its method
        `wait` returns when the viewer is closed.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("panda")
    >>> viewer = armlet.view(robot)  # doctest: +SKIP
    >>> viewer.url  # doctest: +SKIP
    'http://127.0.0.1:8080'
    """
    start = _start(robot, trajectory, ghost, q)
    if html is None:
        return Viewer(robot, trajectory, ghost, start, folders, host, port)
    check_writable(html)
    write(html, page(robot, trajectory, ghost, start, folders))
    return None


def _start(
    robot: Robot, trajectory: Trajectory | None, ghost: Robot | None, q: ArrayLike | None
) -> NDArray[np.float64]:
    """Check that the arguments fit together; return the initial posture."""
    if not isinstance(robot, Robot):
        raise ModelError(f"view was given {quote(robot)}: expected a robot, from armlet.load")
    if ghost is not None and ghost._joint_letters != robot._joint_letters:
        raise DataError(
            f"the ghost {quote(ghost.name)} has joints {ghost._joint_letters}: expected those of "
            f"{quote(robot.name)}, {robot._joint_letters}"
        )
    if trajectory is not None:
        if not len(trajectory):
            raise DataError("the run has no rows: expected at least one")
        if trajectory.position_names != [*robot.position_names]:
            raise DataError(
                f"the run moves joints {listing(trajectory.position_names)}: expected those of "
                f"robot {quote(robot.name)}, {listing(robot.position_names)}"
            )
    if q is not None:
        return positions(robot, q, "q")
    return start_posture(robot)


def start_posture(robot: Robot) -> NDArray[np.float64]:
    """Return the default posture: each joint at zero, or mid-range if its limits exclude zero."""
    ranges = slider_ranges(robot)
    middle = [0.0 if low <= 0 <= high else (low + high) / 2 for low, high in ranges]
    return robot.integrate(robot.neutral, middle)
