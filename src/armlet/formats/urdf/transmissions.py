"""The drives of joints in the transmissions of a URDF file."""

from armlet.description.problems import Problems
from armlet.errors import ModelError, listed, quoted, shown
from armlet.formats.xml import Element, numbers
from armlet.robot import Drive


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
    """The drive of a joint; the ratio of its gear is read only where there is a rotor inertia.

    Drake's files have its own ratio beside a mechanicalReduction of 1.
    """
    inertia = _value(actuator, "rotor_inertia", "drake:rotor_inertia", "motorInertia") or 0.0
    ratio = None
    if inertia:
        ratio = _value(actuator, "drake:gear_ratio", "mechanicalReduction")
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
