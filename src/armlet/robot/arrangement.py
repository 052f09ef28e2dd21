"""Express a robot in other frames and another unit of length; joint torques stay the same.

Canonical frames leave two choices open: the position of each body's origin along its joint axis,
and the unit of length. Both affect the number of operations.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from armlet.algebra import Z_AXIS
from armlet.robot.components import Compensation, Frame
from armlet.robot.displacement import Screw
from armlet.robot.robot import RobotModel
from armlet.scalar import Scalar, identical, is_zero

AnyRobot = TypeVar("AnyRobot", bound=RobotModel)


class Arrangement(NamedTuple):
    """A choice of body origins and of the unit of length."""

    back: tuple[int, ...] = ()
    """The indices of the bodies whose origins `with_origins_back` moves."""
    unit: float | None = None
    """The unit of length in metres; None stands for the metre."""

    def of(self, robot: AnyRobot) -> AnyRobot:
        """Return the robot with these origins and this unit."""
        robot = with_origins_back(robot, self.back)
        return robot if self.unit is None else in_lengths_of(robot, self.unit)


def with_origins_back(robot: AnyRobot, bodies: Iterable[int]) -> AnyRobot:
    """Return the robot with the origins of `bodies` moved back along z by the DH offset d.

    The offset d of each such body is added to the DH parameter b of its children, and set to 0.
    """
    rows = list(robot.dh)
    m, c, J, frames = list(robot.m), list(robot.c), list(robot.J), dict(robot.frames)
    compensation = list(robot.compensation)
    for i in bodies:
        d = rows[i].d
        rows[i] = rows[i]._replace(d=0)
        for j, p in robot.base_to_tips():
            if p == i:
                rows[j] = rows[j]._replace(b=rows[j].b + d)
        m[i], c[i], J[i] = Screw(2, 1, 0, d).body(m[i], c[i], J[i])
        mass, moment = compensation[i]
        compensation[i] = Compensation(mass, moment + mass * d * Z_AXIS)
        for name, (body, pose) in frames.items():
            if body == i:
                r = np.array([*pose.r[:2], pose.r[2] + d], dtype=object)
                frames[name] = Frame(i, pose._replace(r=r))
    return replace(
        robot,
        dh=tuple(rows),
        m=tuple(m),
        c=tuple(c),
        J=tuple(J),
        frames=frames,
        compensation=tuple(compensation),
    )


def in_lengths_of(robot: AnyRobot, unit: Scalar) -> AnyRobot:
    """Convert a robot with revolute joints to another unit of length; torques do not change.

    DH lengths and gravity are divided by the unit; first moments are multiplied by it, and masses
    by its square. A length equal to the unit becomes the integer 1, which saves multiplications.
    """

    def in_unit(length: Scalar) -> Scalar:
        if is_zero(length):
            return 0
        if identical(length, unit):
            return 1
        return -1 if identical(length, -unit) else length / unit

    return replace(
        robot,
        dh=tuple(
            row._replace(b=in_unit(row.b), a=in_unit(row.a), d=in_unit(row.d)) for row in robot.dh
        ),
        m=tuple(m * unit * unit for m in robot.m),
        c=tuple(c * unit for c in robot.c),
        compensation=tuple(
            Compensation(mass * unit * unit, moment * unit) for mass, moment in robot.compensation
        ),
        g=np.array([in_unit(x) for x in robot.g], dtype=object),
    )
