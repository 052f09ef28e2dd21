"""The limits of joints as files have them."""

from collections.abc import Mapping
from math import copysign, inf

from armlet.description.problems import Problems
from armlet.errors import clip
from armlet.formats.xml import NUMBER
from armlet.robot import Limits

UNLIMITED = 1e308
"""Stands for no limit where the format requires a number."""
INFINITE = {"inf": inf, "+inf": inf, "-inf": -inf, "infinity": inf, "-infinity": -inf}


def read_limits(texts: Mapping[str, str], subject: str, joint: str, problems: Problems) -> Limits:
    """The limits of a joint, from the texts in a file by the names of the limits.

    Dynamics do not depend on them: those that cannot be right are changed or left out, with a
    warning. `subject` is the joint with its file and line.
    """
    read = Limits()
    for key, text in texts.items():
        value = _number(text)
        if value is None or (value < 0 and key in ("velocity", "effort")):
            problems.warn(
                f'{subject} has the limit {key}="{clip(text)}": taken as none',
                "limits are not numbers or below zero, and are taken as none",
                f"{key} of {joint}",
            )
        else:
            read = read._replace(**{key: value})
    if read.lower > read.upper:
        problems.warn(
            f"{subject} has the limits lower {read.lower:g}, upper {read.upper:g}: taken the other "
            "way round",
            "joints have a lower limit above the upper one, and are taken the other way round",
            joint,
        )
        read = read._replace(lower=read.upper, upper=read.lower)
    return read


def warn_of_no_limit(subject: str, joint: str, kind: str, problems: Problems) -> None:
    """Warn of a revolute or prismatic joint without limits, in a format that requires them."""
    if kind in ("revolute", "prismatic"):
        problems.warn(
            f"{subject} is {kind} and has no <limit>: taken as without limits",
            "revolute or prismatic joints have no <limit>, and are taken as without limits",
            joint,
        )


def _number(text: str) -> float | None:
    """The number in a text, which may be infinite, or None."""
    word = text.strip().lower()
    if word in INFINITE:
        return INFINITE[word]
    if not NUMBER.fullmatch(word):
        return None
    value = float(word)
    return value if abs(value) < UNLIMITED else copysign(inf, value)
