"""Coupled joints: convert the ties of a description to couplings of a robot, and back."""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

from armlet._support.validation import one_of
from armlet.description.checks import check_finite
from armlet.description.description import Connection, Description, Tie
from armlet.description.problems import Problems
from armlet.errors import ModelError, listing, quote
from armlet.robot import RobotModel
from armlet.robot.components import Coupling, common_limits

Mimic = Literal["couple", "free", "lock"]
MIMIC: tuple[Mimic, ...] = get_args(Mimic)


class Line(NamedTuple):
    """The linear function x -> factor * x + offset."""

    factor: float = 1
    offset: float = 0

    def after(self, other: "Line") -> "Line":
        return Line(self.factor * other.factor, self.factor * other.offset + self.offset)

    def inverse(self) -> "Line":
        return Line(1 / self.factor, -self.offset / self.factor)


class Follower(NamedTuple):
    """A joint's leader, and the joint's position as a linear function of the leader's position."""

    leader: str
    line: Line


def apply_mimic(
    description: Description, lock: Mapping[str, float], mimic: str
) -> tuple[Description, dict[str, float]]:
    """Apply the option `mimic`; return the description, and joint name -> locked position.

    "couple" changes nothing, and "free" removes the ties. "lock" removes the ties and locks each
    follower at the position that its leader's position implies. If two joints follow each other (a
    `mutual` tie), "lock" locks both.
    """
    values = dict(lock)
    if one_of(mimic, "mimic", MIMIC, ModelError) == "couple":
        return description, values
    if mimic == "lock":
        for tie in description.ties:
            for name in {tie.joint, tie.leader if tie.mutual else ""} - {"", *lock}:
                values[name] = _value(name, description, lock)
    return replace(description, ties=()), values


def _value(name: str, description: Description, lock: Mapping[str, float]) -> float:
    """Return a joint's position, computed along its chain of leaders from one in `lock` or at 0."""
    tie_of = {tie.joint: tie for tie in description.ties}
    at_start = {joint.name: joint.at_start for joint in description.joints}
    path: dict[str, Tie] = {}
    while name in tie_of and name not in lock and name not in path:
        path[name] = tie_of[name]
        name = tie_of[name].leader
    value = lock.get(name, 0.0)
    for tie in reversed(path.values()):
        value = tie.value(value, at_start)
    return value


def drop_lost_leaders(description: Description, problems: Problems) -> Description:
    """Remove ties whose leader does not exist, with a note; keep all if `problems` is strict."""
    names = {joint.name for joint in description.joints}
    lost = [tie for tie in description.ties if not tie.mutual and tie.leader not in names]
    if problems.strict or not lost:
        return description
    problems.note(
        f"{lost[0].where}: {listing([tie.statement for tie in lost], '; ')}: no joint is called "
        "like this, so that what mimics it is free"
    )
    return replace(description, ties=tuple(tie for tie in description.ties if tie not in lost))


def resolve_ties(
    ties: Sequence[Tie], joints: Sequence[Connection], lock: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, Follower]]:
    """Return two dicts by joint name: positions of locked joints, `Follower`s of coupled joints.

    Locking a joint locks all joints coupled to it. A joint that follows a fixed joint is locked.
    """
    fixed = {joint.name: joint.kind == "fixed" for joint in joints}
    at_start = {joint.name: joint.at_start for joint in joints}
    neighbours: dict[str, list[tuple[str, Line]]] = defaultdict(list)
    groups = {joint.name: {joint.name} for joint in joints}
    values, done = dict(lock), set()
    for tie in ties:
        check_finite(tie.coefficients, f"{tie.where}: {tie.statement}: how")
        if lost := [name for name in (tie.joint, tie.leader) if name and name not in fixed]:
            raise ModelError(
                f"{tie.where}: {tie.statement}, and no joint is called {quote(lost[0])}: expected "
                f"one of {listing(list(fixed))}"
            )
        if not tie.leader or fixed[tie.leader] or tie.leader in lock:
            values.setdefault(tie.joint, tie.value(lock.get(tie.leader, 0.0), at_start))
            continue
        line = _line(tie, at_start)
        if line.factor == 0:
            values.setdefault(tie.joint, line.offset)
        else:
            small, large = sorted((groups[tie.joint], groups[tie.leader]), key=len)
            if small is large:
                raise ModelError(
                    f"{tie.where}: {tie.statement}, which closes a loop of couplings: expected one "
                    "joint that leads, and no two ways from it to another; remove one of them"
                )
            large |= small
            groups |= dict.fromkeys(small, large)
            done.add(tie.joint)
            neighbours[tie.joint].append((tie.leader, line.inverse()))
            neighbours[tie.leader].append((tie.joint, line))
    for name, value in [*values.items()]:
        for other, (_, line) in _reached(name, neighbours, values).items():
            values[other] = line.factor * value + line.offset
    followers: dict[str, Follower] = {}
    done |= values.keys()
    for name in neighbours:
        if name not in done:
            moved = _reached(name, neighbours, values)
            followers |= moved
            done |= moved.keys()
    for name, (_, line) in followers.items():
        check_finite(line, f"joint {quote(name)}: how it follows its leader")
    return values, followers


def _line(tie: Tie, at_start: Mapping[str, float]) -> Line:
    """Return a joint's q as a linear function of its leader's q; refuse nonlinear polynomials."""
    if any(tie.coefficients[2:]):
        polynomial = " ".join(f"{x:g}" for x in tie.coefficients[:5])
        raise ModelError(
            f"{tie.where}: {tie.statement} by the polynomial {polynomial}, and armlet couples "
            'joints by linear ones only: load it with mimic="lock" or mimic="free" (on the command '
            "line --mimic lock or --mimic free)"
        )
    constant, factor, *_ = *tie.coefficients, 0.0, 0.0
    moved = factor * at_start[tie.leader]
    return Line(factor, at_start[tie.joint] + constant - moved)


def _reached(
    start: str, neighbours: Mapping[str, Sequence[tuple[str, Line]]], locked: Container[str]
) -> dict[str, Follower]:
    """Return the joints coupled to `start`: name -> `Follower`, with `start` as the leader.

    Joints in `locked` are left out, and so are joints coupled to `start` only through those.
    """
    lines = {start: Line()}
    front = [start]
    while front:
        name = front.pop()
        for other, line in neighbours.get(name, ()):
            if other not in lines and other not in locked:
                lines[other] = line.after(lines[name])
                front.append(other)
    del lines[start]
    return {name: Follower(start, line) for name, line in lines.items()}


def couplings(names: Sequence[str], followers: Mapping[str, Follower]) -> tuple[Coupling, ...]:
    """Return the coupling of each joint, or an empty tuple if no joint follows another."""
    if not followers:
        return ()
    index = {name: i for i, name in enumerate(names)}
    lines = [followers.get(name, Follower(name, Line())) for name in names]
    return tuple(  # constant folding removes products with an integer 1
        Coupling(index[leader], *(int(x) if x == int(x) else x for x in line))
        for leader, line in lines
    )


def ties_between(robot: RobotModel, joints: Sequence[int]) -> tuple[Tie, ...]:
    """Return the couplings among `joints` as ties; joints without their leader get another one."""
    ties, chosen = [], set(joints)
    groups: dict[int, list[int]] = defaultdict(list)
    for i in joints if robot.couplings else ():
        groups[robot.couplings[i].leader].append(i)
    for leader, moved in groups.items():
        root = leader if leader in chosen else moved[0]
        back = Line(*robot.couplings[root][1:]).inverse()
        for i in moved:
            if i != root:
                factor, offset = Line(*robot.couplings[i][1:]).after(back)
                names = robot.joints[i].name, robot.joints[root].name
                ties.append(mimic_tie(*names, float(factor), float(offset), robot.name))
    return tuple(ties)


def mimic_tie(joint: str, leader: str, factor: float, offset: float, where: str) -> Tie:
    """Return the tie: position of `joint` = factor * (position of `leader`) + offset."""
    statement = f"joint {quote(joint)} mimics joint {quote(leader)}"
    return Tie(joint, leader, (offset, factor), statement, where)


def note_contrary_limits(robot: RobotModel, problems: Problems) -> None:
    """Add a note on followers whose limits are ignored, since they leave the leader no range."""
    for i in robot._leaders if robot.couplings else ():
        _, contrary = common_limits(robot.joints[i].limits, robot._followers(i))
        if contrary:
            names = listing([quote(joint.name) for joint in contrary])
            problems.note(
                f"{problems.where}: the limits of {names} leave joint "
                f"{quote(robot.joints[i].name)}, which moves them, no range to move in: they are "
                "not used"
            )
