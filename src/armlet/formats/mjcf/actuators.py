"""Actuators of an MJCF file: what they do to joints, and what is left out of them."""

from collections import Counter
from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from armlet.description.problems import Problems
from armlet.errors import ModelError, listed, quoted
from armlet.formats.mjcf.passive import FRICTION, Passive
from armlet.formats.mjcf.refusals import refuse_nonzero
from armlet.formats.mjcf.scope import Scope
from armlet.formats.mjcf.settings import called, first_number, section, span
from armlet.formats.xml import Element

TARGETS = ("tendon", "site", "body", "cranksite", "slidersite")
"""What an actuator may be on but a joint."""


class Motor(NamedTuple):
    """The effect of a joint's actuators on it."""

    rotor_inertia: float = 0.0
    viscous: float = 0.0
    effort: float = inf


def all_motors(
    outside: Iterable[tuple[Element, Scope]], joints: set[str], passive: Passive
) -> dict[str, Motor]:
    """The effect of all actuators on each joint."""
    motors: dict[str, Motor] = {}
    for root, scope in outside:
        for name, more in _motors(root, scope, passive, joints).items():
            rotor, viscous, effort = motors.get(name, Motor(effort=0.0))
            motors[name] = Motor(
                rotor + more.rotor_inertia, viscous + more.viscous, effort + more.effort
            )
    return motors


def _motors(root: Element, scope: Scope, passive: Passive, joints: set[str]) -> dict[str, Motor]:
    """The effect of actuators on each joint, through their gears."""
    motors: dict[str, Motor] = {}
    for element in section(root, "actuator").children:
        actuator = scope.defaults.fill(element, "actuator")
        name = actuator.get("joint") or actuator.get("jointinparent")
        meaning = "friction that is not linear" if name else "friction on no joint"
        passive.note(actuator, "damping", FRICTION, meaning, first=1 if name else 0)
        if not name:
            refuse_nonzero(actuator, "armature", "an inertia on no joint")
            continue
        if name not in joints:
            raise ModelError(
                f"{called(actuator)} moves joint {quoted(name)}, which does not exist: expected "
                f"one of {listed(sorted(joints))}"
            )
        gear = abs(first_number(actuator, "gear", 1.0))
        force = max(map(abs, span(actuator, "forcelimited", "forcerange", scope.compiler)))
        if actuator.tag == "motor":
            control = max(map(abs, span(actuator, "ctrllimited", "ctrlrange", scope.compiler)))
            force = min(force, control)
        others = motors.get(name, Motor(effort=0.0))
        motors[name] = Motor(
            others.rotor_inertia + gear * gear * actuator.number("armature", 0.0),
            others.viscous + gear * gear * passive.number(actuator, "damping"),
            others.effort + (gear * force if gear else 0.0),
        )
    return motors


def servos(outside: Iterable[tuple[Element, Scope]], problems: Problems) -> tuple[str, ...]:
    """A note on the actuators on joints that are more than torques; one on others is a warning."""
    on_joints: Counter[str] = Counter()
    on_others: Counter[str] = Counter()
    for root, scope in outside:
        for element in section(root, "actuator").children:
            actuator = scope.defaults.fill(element, "actuator")
            if actuator.get("joint") or actuator.get("jointinparent"):
                on_joints[actuator.tag] += 1
            else:
                target = next((x for x in TARGETS if actuator.get(x)), "nothing")
                on_others[f"{actuator.tag} on a {target}"] += 1
    del on_joints["motor"]
    if on_others:
        problems.note(
            f"{problems.where}: left out, since they are on no joint and armlet has torques of "
            f"joints: actuators, {_listed_counts(on_others)}"
        )
    if not on_joints:
        return ()
    return (
        f"of {_listed_counts(on_joints)} actuators on joints, torque limits, armature and damping "
        "are read, control laws are not",
    )


def _listed_counts(counts: Counter[str]) -> str:
    return listed([f"{count} {kind}" for kind, count in counts.items()])
