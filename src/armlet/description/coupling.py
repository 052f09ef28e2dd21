"""Ties between joints as files have them, and the couplings of the robot that they make."""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from numpy.polynomial import Polynomial

from armlet.description.checks import check_finite
from armlet.errors import ModelError, listed, quoted
from armlet.robot.components import Coupling

if TYPE_CHECKING:
    from armlet.description.description import Connection
    from armlet.robot.robot import RobotModel


class Line(NamedTuple):
    """factor x + offset."""

    factor: float = 1
    offset: float = 0

    def after(self, other: "Line") -> "Line":
        """This line of another one's values."""
        return Line(self.factor * other.factor, self.factor * other.offset + self.offset)

    def inverse(self) -> "Line":
        """The line that undoes this one."""
        return Line(1 / self.factor, -self.offset / self.factor)


class Tie(NamedTuple):
    """A joint that a leader moves: its q is a polynomial of the leader's, both from the start."""

    joint: str
    leader: str
    coefficients: tuple[float, ...]
    said: str
    """What the file says, for messages."""
    where: str
    mutual: bool = False
    """Whether the joint holds the leader too."""

    def value(self, leader: float, at_start: Mapping[str, float]) -> float:
        """The joint's q while its leader is at a value."""
        moved = leader - at_start.get(self.leader, 0.0)
        return at_start[self.joint] + float(Polynomial(self.coefficients)(moved))

    def line(self, at_start: Mapping[str, float]) -> Line:
        """The joint's q as a line of its leader's, where the polynomial is one."""
        constant, factor, *_ = *self.coefficients, 0.0, 0.0
        factor = factor if self.leader else 0.0
        moved = factor * at_start.get(self.leader, 0.0)
        return Line(factor, at_start[self.joint] + constant - moved)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints to lock so that the tie has no effect."""
        return (self.joint, self.leader) if self.mutual and self.leader else (self.joint,)


class Followed(NamedTuple):
    """A joint's leader by its name, and its position as a line of the leader's."""

    leader: str
    line: Line


def followed(
    ties: Sequence[Tie], joints: Sequence["Connection"], lock: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, Followed]]:
    """The values of all joints that are locked, and the leader of each joint that follows one.

    Ties that hold each other are one group, which moves with its first joint that follows none. A
    joint of a group that is locked holds all of it. A joint tied to none, or to one that is fixed,
    is locked.
    """
    fixed = {joint.name: joint.kind == "fixed" for joint in joints}
    at_start = {joint.name: joint.at_start for joint in joints}
    neighbours: dict[str, list[tuple[str, Line]]] = defaultdict(list)
    group: dict[str, str] = {}
    values, taken = dict(lock), set()
    for tie in ties:
        _check_names(tie, fixed)
        if not tie.leader or fixed[tie.leader] or tie.leader in lock:
            values.setdefault(tie.joint, tie.value(lock.get(tie.leader, 0.0), at_start))
            continue
        _check_linear(tie)
        line = tie.line(at_start)
        if line.factor == 0:
            values.setdefault(tie.joint, line.offset)
        else:
            _join(tie, group)
            taken.add(tie.joint)
            neighbours[tie.joint].append((tie.leader, line.inverse()))
            neighbours[tie.leader].append((tie.joint, line))
    for name, value in [*values.items()]:
        for other, (_, line) in _reached(name, neighbours, values).items():
            values[other] = line.factor * value + line.offset
    found: dict[str, Followed] = {}
    taken |= values.keys()
    for name in neighbours:
        if name not in taken:
            part = _reached(name, neighbours, values)
            found |= part
            taken |= part.keys()
    for name, (_, line) in found.items():
        check_finite(line, f"joint {quoted(name)}: how it follows its leader")
    return values, found


def _check_names(tie: Tie, fixed: Mapping[str, bool]) -> None:
    """Refuse ties of joints that do not exist, and numbers that are not finite."""
    check_finite(tie.coefficients, f"{tie.where}: {tie.said}: how")
    for name in filter(None, (tie.joint, tie.leader)):
        if name not in fixed:
            raise ModelError(
                f"{tie.where}: {tie.said}, and no joint is called {quoted(name)}: expected one of "
                f"{listed(list(fixed))}"
            )


def _check_linear(tie: Tie) -> None:
    """Refuse ties that are not linear."""
    if any(tie.coefficients[2:]):
        polynomial = " ".join(f"{x:g}" for x in tie.coefficients[:5])
        raise ModelError(
            f"{tie.where}: {tie.said} by the polynomial {polynomial}, and armlet couples joints "
            'by linear ones only: load it with mimic="lock" or mimic="free" (on the command line '
            "--mimic lock or --mimic free)"
        )


def _join(tie: Tie, group: dict[str, str]) -> None:
    """Join the groups of two joints; refuse a tie within one, which would hold or close a loop."""

    def first(name: str) -> str:
        while name in group:
            group[name] = group.get(group[name], group[name])  # half the way for the next time
            name = group[name]
        return name

    joint, leader = first(tie.joint), first(tie.leader)
    if joint == leader:
        raise ModelError(
            f"{tie.where}: {tie.said}, which closes a loop of couplings: expected one joint that "
            "leads, and no two ways from it to another; remove one of them"
        )
    group[joint] = leader


def _reached(
    start: str, neighbours: Mapping[str, Sequence[tuple[str, Line]]], known: Container[str]
) -> dict[str, Followed]:
    """The joints that move with a joint, as lines of its position; known ones are left out."""
    lines = {start: Line()}
    front = [start]
    while front:
        name = front.pop()
        for other, line in neighbours.get(name, ()):
            if other not in lines and other not in known:
                lines[other] = line.after(lines[name])
                front.append(other)
    del lines[start]
    return {name: Followed(start, line) for name, line in lines.items()}


def couplings(names: Sequence[str], found: Mapping[str, Followed]) -> tuple[Coupling, ...]:
    """The coupling of each joint, none if no joint follows another."""
    index = {name: i for i, name in enumerate(names)}
    if not found:
        return ()
    return tuple(
        Coupling(index[found[name].leader], *map(exact, found[name].line))
        if name in found
        else Coupling(i)
        for i, name in enumerate(names)
    )


def exact(x: float) -> float:
    """The number, as an integer if it is whole: folding removes products with one."""
    return int(x) if x == int(x) else x


def ties(robot: "RobotModel", kept: Sequence[int]) -> tuple[Tie, ...]:
    """How some joints of a robot follow one another, also where the joint that leads them is not
    among them: then the first of them does."""
    found, first = [], dict.fromkeys(kept)
    groups: dict[int, list[int]] = defaultdict(list)
    for i in kept if robot.couplings else ():
        groups[robot.couplings[i].leader].append(i)
    for leader, moved in groups.items():
        root = leader if leader in first else moved[0]
        back = Line(*robot.couplings[root][1:]).inverse()
        for i in moved:
            if i != root:
                factor, offset = Line(*robot.couplings[i][1:]).after(back)
                names = robot.joints[i].name, robot.joints[root].name
                said = f"joint {quoted(names[0])} mimics joint {quoted(names[1])}"
                found.append(Tie(*names, (float(offset), float(factor)), said, robot.name))
    return tuple(found)
