"""The limits of joints in a URDF file, and their drives in its transmissions."""

from math import copysign, inf

from armlet.errors import ModelError, listed, quoted, shown
from armlet.models.xml import NUMBER, Element, numbers
from armlet.robot import Drive, Limits
from armlet.robot.problems import Problems

UNLIMITED = 1e308
"""Stands for no limit where the format requires a number."""
INFINITE = {"inf": inf, "+inf": inf, "-inf": -inf, "infinity": inf, "-infinity": -inf}


def joint_limits(joint: Element, limit: Element | None, problems: Problems) -> Limits:
    """The limits of a joint.

    Dynamics do not depend on them: those that cannot be right are changed or left out, with a
    doubt.
    """
    name, kind = joint.get("name"), joint.get("type")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            problems.doubt(
                f"{joint.where}: joint {quoted(name)} is {kind} and has no <limit>: taken as "
                "without limits",
                "revolute or prismatic joints have no <limit>, and are taken as without limits",
                name,
            )
        return Limits()
    read = {key: _limit(limit, key) for key in Limits._fields}
    for key in [key for key, value in read.items() if value is None]:
        problems.doubt(
            f"{limit.where}: joint {quoted(name)} has the limit {limit.said(key)}: taken as none",
            "limits are not numbers or below zero, and are taken as none",
            f"{key} of {name}",
        )
        read[key] = -inf if key == "lower" else inf
    lower, upper, velocity, effort = (value or 0.0 for value in read.values())
    if kind == "continuous":
        return Limits(velocity=velocity, effort=effort)
    if lower > upper:
        problems.doubt(
            f"{limit.where}: joint {quoted(name)} has the limits lower {lower:g}, upper "
            f"{upper:g}: taken the other way round",
            "joints have a lower limit above the upper one, and are taken the other way round",
            name,
        )
    return Limits(min(lower, upper), max(lower, upper), velocity, effort)


def _limit(limit: Element, key: str) -> float | None:
    """A limit, the default if it is not given, or None if it cannot be right."""
    text = limit.get(key).strip().lower()
    if key not in limit.attributes:
        return inf if key in ("velocity", "effort") else 0.0
    if text not in INFINITE and not NUMBER.fullmatch(text):
        return None
    value = INFINITE[text] if text in INFINITE else float(text)
    if value < 0 and key in ("velocity", "effort"):
        return None
    return value if abs(value) < UNLIMITED else copysign(inf, value)


def rotor_drives(root: Element, problems: Problems) -> dict[str, Drive]:
    """The rotor inertia of each joint's transmission, times the gear ratio squared."""
    names = {joint.get("name"): None for joint in root.all("joint")}
    expected, drives = listed(list(names)), {}
    for transmission in root.all("transmission"):
        joints = transmission.all("joint")
        actuators = transmission.all("actuator")
        if len(joints) == len(actuators) == 1:
            with problems.collected():
                drive = _drive(joints[0], actuators[0])
                if drive == Drive():
                    continue
                name = joints[0].word("name")
                if name not in names:
                    raise ModelError(
                        f"{joints[0].where}: the <transmission> has a rotor inertia or friction "
                        f"for joint {quoted(name)}, which does not exist: expected one of "
                        f"{expected}"
                    )
                drives[name] = drive
    return drives


def _drive(joint: Element, actuator: Element) -> Drive:
    """The drive of a joint; the ratio of its gear is read only where there is a rotor inertia."""
    inertia = _value(actuator, "rotor_inertia", "drake:rotor_inertia", "motorInertia") or 0.0
    ratio = None
    if inertia:
        ratio = _value(actuator, "mechanicalReduction", "drake:gear_ratio")
        ratio = _value(joint, "mechanicalReduction") if ratio is None else ratio
    ratio = 1.0 if ratio is None else ratio
    return Drive(
        rotor_inertia=inertia * ratio * ratio, offset=_value(actuator, "friction_offset") or 0.0
    )


def _value(element: Element, *tags: str) -> float | None:
    """The number in the first of these children, as its value or as its text."""
    for tag in tags:
        child = element.first(tag)
        if child is not None:
            if "value" in child.attributes:
                return child.number("value")
            subject = f"{child.where}: <{tag}>{shown(child.text)}</{tag}>"
            return float(numbers(child.text, 1, subject)[0])
    return None
