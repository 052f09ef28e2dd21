"""Torque bars and energies as a part of a page."""

import html
from typing import Any, NamedTuple

from numpy.typing import NDArray

from armlet.plotting import COLOURS
from armlet.robot import RobotModel
from armlet.view.live import Numbers
from armlet.view.scene import ALARM

UNITS = {"R": "Nm", "P": "N"}
ROW = """<div style="display:flex;align-items:center;margin:3px 0" title="{title}">
<span style="flex:0 0 {wide}%;overflow:hidden;text-overflow:ellipsis;
white-space:nowrap">{name}</span>
<span style="position:relative;flex:1;height:11px;background:#eceff3;border-radius:2px">
<span class="armlet-bar" style="position:absolute;top:0;bottom:0;border-radius:2px;{bar}"></span>
<span style="position:absolute;left:50%;top:-2px;bottom:-2px;border-left:1px solid #98a2b0"></span>
{mark}</span>
<span class="armlet-text" style="flex:0 0 36%;text-align:right;
white-space:nowrap">{text}</span></div>
"""
MARK = """<span class="armlet-mark" style="position:absolute;top:-3px;bottom:-3px;
border-left:2px solid #222;left:{:.2f}%"></span>"""


class Bar(NamedTuple):
    """A torque beside its limit: where the bar is in percent, its colour, and the number."""

    left: float
    width: float
    colour: str
    text: str
    mark: float | None = None
    """Where the torque of the other robot is, in percent."""

    @property
    def style(self) -> str:
        return f"left:{self.left:.2f}%;width:{self.width:.2f}%;background:{self.colour}"


def bars(
    robot: RobotModel,
    tau: NDArray[Any],
    scale: NDArray[Any],
    other: NDArray[Any] | None = None,
) -> list[Bar]:
    """One bar per joint, from the middle to the left or the right; full is `scale`."""
    found = []
    for i, joint in enumerate(robot.coordinates):
        part = float(tau[i] / scale[i])
        inside = max(-1.0, min(1.0, part))
        limited = joint.limits.effort == scale[i]
        colour = ALARM if limited and abs(part) > 1 else COLOURS[i % len(COLOURS)]
        text = f"{round(float(tau[i]), 2) + 0.0:.2f}" + (f" / {scale[i]:.4g}" if limited else "")
        mark = None if other is None else 50 + 50 * max(-1.0, min(1.0, float(other[i] / scale[i])))
        left = 50 + 50 * min(inside, 0)
        found.append(Bar(left, 50 * abs(inside), colour, f"{text} {UNITS[joint.letter]}", mark))
    return found


def energies(numbers: Numbers) -> str:
    """The energies in words."""
    kinetic, potential = float(numbers.kinetic), float(numbers.potential)
    both = {"kinetic": kinetic, "potential": potential, "sum": kinetic + potential}
    return ", ".join(f"{name} {value:.2f} J" for name, value in both.items())


def panel(robot: RobotModel, title: str, drawn: list[Bar], below: str) -> str:
    """The bars and a line below them as HTML."""
    wide = min(38, max(18, 2.2 * max(len(joint.name) for joint in robot.coordinates)))
    rows = [
        ROW.format(
            wide=wide, name=html.escape(joint.name), bar=bar.style, text=bar.text,
            title=html.escape(f"{joint.name}: torque, and the limit of its drive", quote=True),
            mark="" if bar.mark is None else MARK.format(bar.mark),
        )
        for joint, bar in zip(robot.coordinates, drawn, strict=True)
    ]  # fmt: skip
    return (
        f'<div style="font-size:12px;padding:2px 12px 8px"><div class="armlet-title" '
        f'style="color:#5b6675;margin-bottom:4px">{html.escape(title)}</div>{"".join(rows)}'
        f'<div class="armlet-below" style="color:#5b6675;margin-top:6px">{html.escape(below)}</div>'
        "</div>"
    )
