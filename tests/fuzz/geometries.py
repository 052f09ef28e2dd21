"""Random robots of every kind of geometry, as URDF text."""

import re
from typing import NamedTuple

import numpy as np
from support.robots import QUARTERS, numbers, random_body

import armlet
from armlet.formats.urdf import urdf_text

ARMS = ("ur5e", "puma560", "panda", "scara")
"""Arms of the catalogue whose angles are disturbed, as by a calibration."""
KINDS = ("plain", "special", "nearly parallel", "nearly scara", "calibrated", "calibrated arm")
NEARLY = ("nearly parallel", "nearly scara")
"""Kinds whose angles are near quarter turns; in a SCARA, all axes point up or down."""


class Geometry(NamedTuple):
    """The URDF text of a robot, its kind, and the scale of its lengths."""

    text: str
    kind: str
    scale: float
    far: float
    """The distance of the robot from the origin of the file, in m."""


def random_geometry(rng, kinds=KINDS) -> Geometry:
    """A robot of one of `kinds`, often of unusual size or far from the origin."""
    kind = str(rng.choice(kinds))
    if kind == "calibrated arm":
        robot = armlet.load(str(rng.choice(ARMS))).without_drives()
        return Geometry(calibrated(rng, urdf_text(robot)), kind, 1.0, 0.0)
    scale = 1.0 if rng.random() < 0.6 else 10 ** rng.uniform(-6, 3)
    far = 0.0 if rng.random() < 0.7 else 10 ** rng.uniform(0, 7)
    text = tree(rng, kind, scale, far)
    return Geometry(calibrated(rng, text) if kind == "calibrated" else text, kind, scale, far)


def calibrated(rng, text: str) -> str:
    """Disturb all angles of a URDF text, as if they were measured in a calibration."""
    sigma = 10 ** rng.uniform(-9, -2)

    def disturbed(found: re.Match[str]) -> str:
        return f'rpy="{numbers(np.array(found[1].split(), float) + rng.normal(0, sigma, 3))}"'

    return re.sub(r'rpy="([^"]*)"', disturbed, text)


def tree(rng, kind: str, scale: float, far: float) -> str:
    """A chain or a tree with some fixed links, and a frame called tool."""
    branching, sliding = rng.choice([0, 0, 0.3]), rng.choice([0, 0, 0.3, 1], p=[0.3, 0.3, 0.3, 0.1])
    if kind == "nearly scara":
        sliding = 0.5
    movers = ["base"]
    lines = ['<robot name="random">', '<link name="base"/>', '<link name="ground"/>']
    lines += fixed("ground", "base", numbers(far * direction(rng)), "0 0 0")
    for i in range(rng.integers(1, 8)):
        parent = str(rng.choice(movers)) if rng.random() < branching else movers[-1]
        parent = "ground" if parent == "base" else parent
        if rng.random() < 0.2:
            lines += [link(rng, f"plate{i}", scale)]
            lines += fixed(f"plate{i}", parent, *place(rng, kind, scale))
            parent = f"plate{i}"
        joint = "prismatic" if rng.random() < sliding else rng.choice(["revolute", "continuous"])
        xyz, rpy = place(rng, kind, scale)
        lines += [
            link(rng, f"link{i}", scale),
            f'<joint name="joint{i}" type="{joint}"><parent link="{parent}"/>'
            f'<child link="link{i}"/><origin xyz="{xyz}" rpy="{rpy}"/>'
            f'<axis xyz="{axis(rng, kind)}"/>'
            '<limit lower="-3" upper="3" velocity="2" effort="50"/></joint>',
        ]
        movers.append(f"link{i}")
    lines += ['<link name="tool"/>', *fixed("tool", movers[-1], *place(rng, kind, scale))]
    return "\n".join([*lines, "</robot>"])


def direction(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def place(rng, kind: str, scale: float) -> tuple[str, str]:
    """The texts xyz and rpy of a joint's origin."""
    xyz = scale * rng.uniform(-0.5, 0.5, 3)
    if kind == "plain":
        return numbers(xyz), numbers(rng.uniform(-3, 3, 3))
    rpy = rng.choice(QUARTERS, 3) * rng.integers(0, 2)
    if kind == "nearly scara":
        rpy = np.pi * rng.integers(0, 2, 3)
    if kind in NEARLY and rng.random() < 0.8:
        rpy = rpy + rng.integers(0, 2, 3) * tilt(rng)
    return numbers(xyz * rng.integers(0, 2, 3)), numbers(rpy)


def axis(rng, kind: str) -> str:
    if kind == "plain":
        return numbers(rng.normal(size=3))
    along = np.eye(3)[2 if kind == "nearly scara" else rng.choice([0, 2, 2, 2])]
    along = along * rng.choice([-1, 1])
    if kind in NEARLY and rng.random() < 0.3:
        along = along + tilt(rng)
    return numbers(along)


def tilt(rng):
    """A small angle about each axis."""
    return rng.normal(size=3) * 10 ** rng.uniform(-12, -1)


def fixed(name: str, parent: str, xyz: str, rpy: str) -> list[str]:
    return [
        f'<joint name="{name}_mount" type="fixed"><parent link="{parent}"/>'
        f'<child link="{name}"/><origin xyz="{xyz}" rpy="{rpy}"/></joint>'
    ]


def link(rng, name: str, scale: float) -> str:
    """A link with the inertia of random point masses."""
    mass, com, I = random_body(rng)
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = zip(keys, scale**2 * I[np.triu_indices(3)], strict=True)
    tensor = " ".join(f'{key}="{float(value)!r}"' for key, value in entries)
    return (
        f'<link name="{name}"><inertial><origin xyz="{numbers(scale * com)}" '
        f'rpy="{numbers(rng.uniform(-3, 3, 3))}"/><mass value="{float(mass)!r}"/>'
        f"<inertia {tensor}/></inertial></link>"
    )
