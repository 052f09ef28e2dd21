"""Other frames and units for the same robot: torques stay the same, operations need not.

What the geometry leaves free after the canonical frames are chosen is where on its axis the origin
of a body sits, and what lengths are measured in.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from armlet.robot.displacement import Screw
from armlet.robot.parts import Frame
from armlet.robot.robot import RobotModel
from armlet.scalar import Scalar, is_zero

AnyRobot = TypeVar("AnyRobot", bound=RobotModel)


class Arrangement(NamedTuple):
    """A choice of frames and units."""

    back: tuple[int, ...] = ()
    """The bodies whose origins are moved back along their axes."""
    unit: float | None = None
    """What lengths are measured in, if not in metres."""

    def of(self, robot: AnyRobot) -> AnyRobot:
        """The robot so arranged."""
        robot = with_origins_back(robot, self.back)
        return robot if self.unit is None else in_lengths_of(robot, self.unit)


def with_origins_back(robot: AnyRobot, bodies: Iterable[int]) -> AnyRobot:
    """The robot with the origins of some bodies moved back along their axes by their offset d.

    The offset goes over to the bodies that they carry, as their b.
    """
    rows = list(robot.dh)
    m, c, J, frames = list(robot.m), list(robot.c), list(robot.J), dict(robot.frames)
    for i in bodies:
        d = rows[i].d
        rows[i] = rows[i]._replace(d=0)
        for j, p in robot.base_to_tips():
            if p == i:
                rows[j] = rows[j]._replace(b=rows[j].b + d)
        m[i], c[i], J[i] = Screw(2, 1, 0, d).body(m[i], c[i], J[i])
        for name, (body, pose) in frames.items():
            if body == i:
                r = np.array([*pose.r[:2], pose.r[2] + d], dtype=object)
                frames[name] = Frame(i, pose._replace(r=r))
    return replace(robot, dh=tuple(rows), m=tuple(m), c=tuple(c), J=tuple(J), frames=frames)


def in_lengths_of(robot: AnyRobot, unit: Scalar) -> AnyRobot:
    """A robot of turning joints with the same torques, its lengths measured in another unit.

    Masses are measured in such a unit that moments stay the same: lengths l become l / unit,
    first moments c unit, masses m unit², while inertias J stay. A length that is the unit becomes
    1, and is not multiplied by any more.
    """

    def measured(length: Scalar) -> Scalar:
        return _ratio(length, unit)

    return replace(
        robot,
        dh=tuple(
            row._replace(b=measured(row.b), a=measured(row.a), d=measured(row.d))
            for row in robot.dh
        ),
        m=tuple(m * unit * unit for m in robot.m),
        c=tuple(c * unit for c in robot.c),
        g=np.array([measured(x) for x in robot.g], dtype=object),
    )


def _ratio(length: Scalar, unit: Scalar) -> Scalar:
    if is_zero(length):
        return 0
    if length is unit or length == unit:
        return 1
    return -1 if length == -unit else length / unit
