"""The general manipulator, on which the literature counts operations."""

from armlet.algebra import vector
from armlet.errors import ModelError, quoted
from armlet.robot import BASE, PHI, DHRow, Drive, Frame, Joint, RobotModel
from armlet.robot.components import bodies_of
from armlet.robot.pose import HERE
from armlet.scalar import Symbol


def general_arm(joints: str) -> RobotModel:
    """The general serial manipulator of the papers: every constant a symbol."""
    if not isinstance(joints, str) or not joints or set(joints) - {"R", "P"}:
        raise ModelError(f"joints is {quoted(joints)}: expected letters R and P, such as 'RRPRRR'")
    n = len(joints)

    def row(i: int, letter: str) -> DHRow:
        alpha, a, d, theta = (Symbol(f"{key}{i}") for key in ("alpha", "a", "d", "theta"))
        return DHRow(0, 0, alpha, a, *((0, theta) if letter == "P" else (d, 0)))

    numbered = [(i + 1, letter) for i, letter in enumerate(joints)]
    return RobotModel(
        name=f"general {joints}",
        joints=tuple(
            Joint(f"joint{i}", "prismatic" if letter == "P" else "revolute")
            for i, letter in numbered
        ),
        parent=tuple(range(-1, n - 1)),
        dh=tuple(row(i, letter) for i, letter in numbered),
        drives=(Drive(),) * n,
        g=vector(0, 0, Symbol("gz")),
        links=tuple(f"link{i}" for i, _ in numbered),
        frames={
            "base": Frame(BASE, HERE),
            **{f"link{i}": Frame(i - 1, HERE) for i, _ in numbered},
        },
        tool=f"link{n}",
        source="Lin and Fang 1999; Balafoutis and Patel 1991",
        **bodies_of([[Symbol(f"{key}{i}") for key in PHI] for i, _ in numbered]),
    )
